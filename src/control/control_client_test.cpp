#include "control/control_client.h"

#include <gmock/gmock.h>

#include <array>
#include <optional>
#include <thread>
#include <typeinfo>
#include <utility>
#include <vector>

#include "control/running_mcpivots.h"
#include "control/temporary_runtime_folder.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

// Listens as an mcpivot does, in a thread of its own: for each connection it sends its lines, one after each
// request, and then closes it. For an empty line, it sends nothing and waits until the client is gone.
class Speaker {
 public:
  Speaker(const TemporaryRuntimeFolder& folder, std::vector<std::string> lines)
      : listener_(folder.listen("7")), lines_(std::move(lines)), thread_([this] { run(); }) {}
  ~Speaker() {
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  Speaker(const Speaker&) = delete;
  Speaker& operator=(const Speaker&) = delete;

 private:
  void run() const {
    for (int visitor; (visitor = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC)) >= 0; ::close(visitor))
      serve(visitor);
  }
  void serve(int visitor) const {
    for (const std::string& line : lines_) {
      if (!read_question(visitor)) return;
      if (!line.empty() && ::send(visitor, line.data(), line.size(), MSG_NOSIGNAL) < 0) return;
      if (line.empty()) read_question(visitor);
    }
  }
  // Reads exactly one request: two may have arrived by then.
  static bool read_question(int visitor) {
    for (char next = 0; next != '\n';)
      if (::read(visitor, &next, 1) <= 0) return false;
    return true;
  }

  int listener_;
  std::vector<std::string> lines_;
  std::thread thread_;
};

class Asking : public testing::Test {
 protected:
  // The mcpivot that sends these lines.
  ControlClient& connect(std::vector<std::string> lines) {
    speaker.emplace(folder, std::move(lines));
    clients = ControlClient::connect_all();
    EXPECT_THAT(clients, SizeIs(1));
    return clients.front();
  }
  template <class Expected>
  std::string thrown(ControlClient& client) {
    try {
      client.ask("status", nullptr);
    } catch (const Expected& error) {
      EXPECT_EQ(typeid(error), typeid(Expected));
      return error.what();
    }
    return "nothing";
  }

  TemporaryRuntimeFolder folder;
  std::optional<Speaker> speaker;
  std::vector<ControlClient> clients;  // destroyed before the speaker, which waits for that
};

TEST_F(Asking, returns_the_result_of_each_question) {
  ControlClient& client = connect({"{\"id\":1,\"result\":[1]}\n", "{\"id\":2,\"result\":[2]}\n"});
  EXPECT_EQ(client.ask("status", nullptr).at(0), 1);
  EXPECT_EQ(client.ask("status", nullptr).at(0), 2);
}

TEST_F(Asking, passes_on_notifications_before_the_answer) {
  ControlClient& client = connect(
      {"{\"method\":\"one\"}\n{\"method\":\"two\"}\n{\"id\":1,\"result\":{}}\n{\"method\":\"late\"}\n"});
  std::vector<std::string> heard;
  client.ask("tools/call", nullptr, [&](const boost::json::object& notification) {
    heard.emplace_back(notification.at("method").as_string());
  });
  EXPECT_THAT(heard, ElementsAre("one", "two"));
}

TEST_F(Asking, an_error_is_thrown_with_its_own_message) {
  EXPECT_EQ(thrown<ControlError>(connect({"{\"id\":1,\"error\":{\"code\":-1,\"message\":\"no\"}}\n"})), "no");
}

TEST_F(Asking, an_error_without_a_message_is_thrown_as_json) {
  EXPECT_EQ(thrown<ControlError>(connect({"{\"id\":1,\"error\":[7]}\n"})), "[7]");
}

TEST_F(Asking, an_error_without_an_id_belongs_to_the_current_request) {
  EXPECT_EQ(thrown<ControlError>(connect({"{\"error\":{\"code\":-32700,\"message\":\"no\"}}\n"})), "no");
}

TEST_F(Asking, invalid_json_is_reported) {
  EXPECT_THAT(thrown<ControlError>(connect({"hello\n"})), HasSubstr("can't be read"));
}

TEST_F(Asking, json_that_is_not_a_message_is_reported) {
  EXPECT_THAT(thrown<ControlError>(connect({"[1]\n"})), HasSubstr("can't be read"));
}

TEST_F(Asking, accepts_answers_as_deeply_nested_as_mcpivot_forwards) {
  const std::string deep = std::string(1000, '[') + std::string(1000, ']');
  EXPECT_TRUE(connect({"{\"id\":1,\"result\":" + deep + "}\n"}).ask("status", nullptr).is_array());
}

TEST_F(Asking, an_mcpivot_that_ends_instead_of_answering_is_reported) {
  EXPECT_THAT(thrown<ControlEnded>(connect({"{\"id\":1,"})), HasSubstr("before it answered"));
}

TEST_F(Asking, an_mcpivot_that_ended_after_its_answer_is_reported) {
  ControlClient& client = connect({"{\"id\":1,\"result\":1}\n"});
  EXPECT_EQ(client.ask("status", nullptr), 1);
  speaker.reset();
  EXPECT_THAT(thrown<ControlEnded>(client), HasSubstr("ended"));
}

TEST_F(Asking, waits_no_longer_than_its_timeout) {
  ControlClient& client = connect({""});
  client.wait_at_most(10ms);
  EXPECT_EQ(thrown<ControlError>(client), "it doesn't answer");
}

TEST_F(Asking, ignores_the_late_answer_to_an_earlier_question) {
  ControlClient& client =
      connect({"{\"method\":\"wait\"}\n", "{\"id\":1,\"result\":1}\n{\"id\":2,\"result\":2}\n"});
  client.wait_at_most(10ms);
  EXPECT_EQ(thrown<ControlError>(client), "it doesn't answer");
  client.wait_at_most(10s);
  EXPECT_EQ(client.ask("status", nullptr), 2);
}

TEST_F(Asking, works_after_the_client_object_is_moved) {
  ControlClient moved = std::move(connect({"{\"id\":1,\"result\":1}\n", "{\"id\":2,\"result\":2}\n"}));
  EXPECT_EQ(moved.ask("status", nullptr), 1);
  clients.front() = std::move(moved);
  EXPECT_EQ(clients.front().ask("status", nullptr), 2);
}

// For example, it is suspended: connections wait in the kernel's queue, which is full.
TEST_F(Asking, an_mcpivot_that_accepts_no_connection_is_reported) {
  const int stuck = folder.listen("7", 0);
  const int waiting = connect_to(folder.socket("7"), SOCK_NONBLOCK);
  ASSERT_GE(waiting, 0);
  clients = ControlClient::connect_all();
  ASSERT_THAT(clients, SizeIs(1));
  EXPECT_EQ(thrown<ControlError>(clients.front()), "it doesn't answer");
  ::close(waiting);
  ::close(stuck);
}

TEST_F(Asking, skips_mcpivots_that_have_ended) {
  folder.dead_socket("6");
  EXPECT_EQ(connect({"{\"id\":1,\"result\":1}\n"}).ask("status", nullptr), 1);
}

}  // namespace
}  // namespace mcpivot
