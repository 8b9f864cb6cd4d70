#include "control/control_socket.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <boost/json.hpp>
#include <csignal>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "control/running_mcpivots.h"
#include "control/temporary_runtime_folder.h"
#include "host/few_descriptors.h"
#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string request(int id, std::string_view method, std::string_view params = "{}") {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method, params) + "\n";
}

// A client with two servers in virtual time, and its control socket in a real event loop.
class TheControlSocket : public testing::Test {
 protected:
  // A terminal's end of the socket. The loop runs while it waits.
  class Terminal {
   public:
    explicit Terminal(TheControlSocket& test, const std::string& path)
        : test_(test), fd_(connect_to(path, SOCK_NONBLOCK)) {}
    ~Terminal() { hang_up(); }
    Terminal(const Terminal&) = delete;
    Terminal& operator=(const Terminal&) = delete;

    bool connected() const { return fd_ >= 0; }
    void hang_up() {
      if (fd_ >= 0) ::close(std::exchange(fd_, -1));
    }
    void say_no_more() const { ::shutdown(fd_, SHUT_WR); }
    // Returns how many bytes the socket accepted.
    std::size_t try_to_say(std::string_view text) const {
      const ssize_t said = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      return said < 0 ? 0 : static_cast<std::size_t>(said);
    }
    void say(std::string_view text) {
      test_.wait_until([&] {
        text.remove_prefix(try_to_say(text));
        return text.empty();
      });
    }
    // The next line; empty: there is none.
    std::string line() {
      test_.wait_until([&] { return has_line() || (!read() && has_ended_); });
      const auto newline = heard_.find('\n');
      if (newline == std::string::npos) return {};
      std::string next = heard_.substr(0, newline);
      heard_.erase(0, newline + 1);
      return next;
    }
    json::value ask(std::string_view method, std::string_view params = "{}") {
      say(request(++last_id_, method, params));
      return json::parse(line());
    }
    std::string text_of_call(const std::string& tool, const std::string& arguments = "{}") {
      return json::serialize(
          ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments)));
    }
    // Whether mcpivot closes it without having sent anything.
    bool is_turned_away() { return line().empty() && has_ended_; }

   private:
    bool has_line() const { return heard_.find('\n') != std::string::npos; }
    bool read() {
      std::array<char, 65536> piece;
      const ssize_t count = ::read(fd_, piece.data(), piece.size());
      if (count > 0) heard_.append(piece.data(), static_cast<std::size_t>(count));
      has_ended_ = count == 0 || (count < 0 && errno != EAGAIN);
      return count > 0;
    }

    TheControlSocket& test_;
    int fd_;
    int last_id_ = 0;
    bool has_ended_ = false;
    std::string heard_;
  };

  TheControlSocket() {
    ::signal(SIGPIPE, SIG_IGN);  // as mcpivot itself does
    visitor.arrive();
    control.emplace(context, visitor.world(), visitor.clients(), visitor.desk(), "mine");
    control->open();
  }

  // False: not within a generous time limit.
  template <class Condition>
  bool wait_until(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 20s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) {
        ADD_FAILURE() << "it did not come";
        return false;
      }
      loop.restart();
      if (loop.poll() == 0) loop.run_one_for(5ms);
      visitor.pass(20ms);
    }
    return true;
  }
  void settle() {
    loop.restart();
    while (loop.poll() > 0) continue;
  }
  std::string path() const { return folder.socket(std::to_string(::getpid())); }
  std::unique_ptr<Terminal> terminal() { return std::make_unique<Terminal>(*this, path()); }
  std::size_t cancelled(const std::string& server) {
    return visitor.lines_to(server, "notifications/cancelled").size();
  }

  TemporaryRuntimeFolder folder;
  simulation::Visitor visitor{"alpha=process,active beta=process"};
  boost::asio::io_context loop;
  LinkContext context{.loop = loop};
  std::optional<ControlSocket> control;
};

// --- what can be asked

TEST_F(TheControlSocket, reports_what_servers_do_and_whose_they_are) {
  const json::value status = terminal()->ask("status").at("result");
  EXPECT_EQ(status.at("pid"), ::getpid());
  EXPECT_EQ(status.at("name"), "mine");
  EXPECT_EQ(status.at("client"), "visitor");
  ASSERT_THAT(status.at("servers").as_array(), SizeIs(2));
  EXPECT_EQ(status.at_pointer("/servers/0/name"), "alpha");
  EXPECT_EQ(status.at_pointer("/servers/0/state"), "ready");
  EXPECT_EQ(status.at_pointer("/servers/0/active"), true);
  EXPECT_EQ(status.at_pointer("/servers/1/active"), false);
}

TEST_F(TheControlSocket, lists_tools_of_active_and_inactive_servers) {
  const json::value answer = terminal()->ask("tools/list");
  std::map<std::string, std::pair<std::string, bool>> tools;
  for (const json::value& tool : answer.at_pointer("/result/tools").as_array())
    tools[std::string(tool.at("name").as_string())] = {std::string(tool.at("server").as_string()),
                                                       tool.at("active").as_bool()};
  EXPECT_THAT(tools.at("alpha__work"), testing::Pair("alpha", true));
  EXPECT_THAT(tools.at("beta__work"), testing::Pair("beta", false));
}

TEST_F(TheControlSocket, calls_tools_of_active_and_inactive_servers) {
  const auto one = terminal();
  EXPECT_THAT(one->text_of_call("alpha__work"), HasSubstr("@alpha"));
  EXPECT_THAT(one->text_of_call("beta__work"), HasSubstr("@beta"));
}

TEST_F(TheControlSocket, controls_servers_and_the_client_is_told) {
  EXPECT_THAT(terminal()->text_of_call("pivot_activate", R"({"server":"beta"})"), HasSubstr("is now active"));
  EXPECT_THAT(visitor.heard(), testing::Contains(HasSubstr("notifications/tools/list_changed")));
  EXPECT_THAT(visitor.call("beta__work"), HasSubstr("@beta"));
}

TEST_F(TheControlSocket, sends_each_line_that_servers_print_once) {
  for (const char* server : {"alpha", "beta", "alpha"}) {
    visitor.world().each_life(server, [](simulation::SimBackend& life) { life.blurt("garbage"); });
    visitor.pass(50ms);
  }
  const auto one = terminal();
  const json::value all = one->ask("logs").at("result");
  ASSERT_THAT(all.at("lines").as_array(), SizeIs(3));
  EXPECT_EQ(all.at_pointer("/lines/1/server"), "beta") << "in the order in which they came";
  EXPECT_THAT(std::string(all.at_pointer("/lines/1/text").as_string()), HasSubstr("}{ not a message"));
  const auto last = all.at("last").to_number<std::uint64_t>();
  EXPECT_EQ(all.at_pointer("/lines/2/number").to_number<std::uint64_t>(), last);

  const json::value later = one->ask("logs", fmt::format(R"({{"after":{}}})", last - 1)).at("result");
  EXPECT_THAT(later.at("lines").as_array(), SizeIs(1));
  const json::value none = one->ask("logs", fmt::format(R"({{"after":{}}})", last)).at("result");
  EXPECT_THAT(none.at("lines").as_array(), IsEmpty());
  EXPECT_EQ(none.at("last").to_number<std::uint64_t>(), last) << "who asks again goes on from there";
  const json::value betas = one->ask("logs", R"({"server":"beta"})").at("result");
  EXPECT_THAT(betas.at("lines").as_array(), SizeIs(1));
}

// --- what is wrong with a request

TEST_F(TheControlSocket, answers_every_bad_request_and_keeps_working) {
  const auto one = terminal();
  const auto refusal = [&](std::string_view text) {
    one->say(text);
    const json::value answer = json::parse(one->line());
    const json::value* const id = answer.as_object().if_contains("id");
    return fmt::format("{} {}", id == nullptr ? "-" : json::serialize(*id),
                       json::serialize(answer.at_pointer("/error/code")));
  };
  EXPECT_EQ(refusal("nonsense\n"), "- -32700");
  EXPECT_EQ(refusal("{\"jsonrpc\":\"2.0\",\"id\":1}\n"), "1 -32600");
  EXPECT_EQ(refusal(request(2, "what")), "2 -32601");
  EXPECT_EQ(refusal(request(3, "tools/call")), "3 -32602");
  EXPECT_EQ(refusal(request(4, "tools/call", R"({"name":["pivot_status"]})")), "4 -32602");
  EXPECT_EQ(refusal(request(5, "tools/call", R"({"name":"nothing"})")), "5 -32602");
  EXPECT_EQ(refusal("[" + request(6, "status").substr(0, request(6, "status").size() - 1) + "]\n"),
            "- -32600");
  EXPECT_THAT(one->ask("logs", "[7]").at_pointer("/result/lines").as_array(), IsEmpty());
  EXPECT_TRUE(one->ask("status").as_object().contains("result"));
}

TEST_F(TheControlSocket, explains_why_a_tool_does_not_exist) {
  EXPECT_THAT(terminal()->text_of_call("nothing"), HasSubstr("no tool is called nothing"));
  EXPECT_THAT(terminal()->text_of_call("pivot_rebuild"), HasSubstr("no server here has a build command"));
}

TEST_F(TheControlSocket, answers_only_requests) {
  const auto one = terminal();
  one->say("{\"jsonrpc\":\"2.0\",\"method\":\"status\"}\n{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n");
  EXPECT_EQ(one->ask("status").at("id"), 1);
}

TEST_F(TheControlSocket, rejects_a_too_long_message_and_reads_the_next) {
  const auto one = terminal();
  one->say(request(7, "tools/call",
                   fmt::format(R"({{"name":"alpha__work","text":"{}"}})", std::string(10'000'000, 'x'))));
  EXPECT_THAT(one->line(), AllOf(HasSubstr(R"("id":7)"), HasSubstr("too long")));
  EXPECT_TRUE(one->ask("status").as_object().contains("result"));
}

// --- terminals that misbehave

TEST_F(TheControlSocket, stops_reading_from_a_terminal_that_does_not_read) {
  const auto greedy = terminal();
  const std::string list = request(1, "tools/list");
  int asked = 0;
  for (settle(); asked < 50'000 && greedy->try_to_say(list) == list.size(); settle()) ++asked;
  EXPECT_LT(asked, 50'000) << "that would be 100 MB of answers";
  EXPECT_THAT(terminal()->text_of_call("alpha__work"), HasSubstr("@alpha")) << "others are served";
  int answered = 0;
  while (answered < asked && !greedy->line().empty()) ++answered;
  EXPECT_EQ(answered, asked) << "when it reads again, nothing is lost";
}

TEST_F(TheControlSocket, disconnects_a_terminal_whose_unread_answers_exceed_the_limit) {
  const auto greedy = terminal();
  const int calls = 12'000;  // of 6 kB each
  for (int id = 1; id <= calls; ++id) {
    greedy->say(
        request(id, "tools/call", R"({"name":"alpha__work","arguments":{"do":"large","after":2000}})"));
    if (id % 100 != 0) continue;
    settle();
    visitor.pass(10ms);  // the server accepts them
  }
  ASSERT_GT(visitor.lines_to("alpha", "tools/call").size(), 11'500U) << "too few to be more than 64 MiB";
  visitor.pass(3s);
  settle();
  int answered = 0;
  while (!greedy->line().empty()) ++answered;
  EXPECT_LT(answered, calls);
  EXPECT_THAT(terminal()->text_of_call("alpha__work"), HasSubstr("@alpha"));
}

TEST_F(TheControlSocket, cancels_the_calls_of_a_terminal_that_disconnects) {
  auto gone = terminal();
  gone->say(request(1, "tools/call", R"({"name":"alpha__work","arguments":{"after":2000}})"));
  ASSERT_TRUE(wait_until([&] { return visitor.lines_to("alpha", "tools/call").size() == 1; }));
  const auto stays = terminal();
  stays->say(request(1, "tools/call", R"({"name":"alpha__work","arguments":{"after":2000}})"));
  ASSERT_TRUE(wait_until([&] { return visitor.lines_to("alpha", "tools/call").size() == 2; }));
  gone->hang_up();
  ASSERT_TRUE(wait_until([&] { return cancelled("alpha") == 1; }));
  EXPECT_THAT(stays->line(), HasSubstr("@alpha"));
  EXPECT_EQ(cancelled("alpha"), 1U);
}

TEST_F(TheControlSocket, survives_a_terminal_that_disconnects_mid_message) {
  for (const std::string& half : {std::string(), request(1, "status").substr(0, 20), std::string("nonsense"),
                                  request(1, "status") + request(2, "tools/list")}) {
    const auto gone = terminal();
    gone->say(half);
    gone->hang_up();
    settle();
  }
  EXPECT_TRUE(terminal()->ask("status").as_object().contains("result"));
}

TEST_F(TheControlSocket, answers_a_terminal_that_has_closed_its_sending_side) {
  const auto brief = terminal();
  brief->say(request(1, "status"));
  brief->say_no_more();
  EXPECT_THAT(brief->line(), HasSubstr("servers"));
  EXPECT_TRUE(brief->is_turned_away());
}

TEST_F(TheControlSocket, limits_the_number_of_terminals_connected_at_once) {
  std::vector<std::unique_ptr<Terminal>> crowd;
  for (int i = 0; i < 32; ++i) {
    crowd.push_back(terminal());
    ASSERT_TRUE(crowd.back()->ask("status").as_object().contains("result"));
  }
  EXPECT_TRUE(terminal()->is_turned_away());
  EXPECT_TRUE(crowd.front()->ask("status").as_object().contains("result"));
  crowd.pop_back();
  settle();
  EXPECT_TRUE(terminal()->ask("status").as_object().contains("result"));
}

// --- who is accepted

TEST_F(TheControlSocket, is_only_for_its_own_user) {
  EXPECT_EQ(fs::status(path()).permissions(), fs::perms(0600));
  EXPECT_EQ(fs::status(fs::path(path()).parent_path()).permissions(), fs::perms(0700));
}

// The file permissions admit everybody here: only the kernel's information about the peer keeps it out.
TEST_F(TheControlSocket, turns_away_a_process_of_another_user) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, which can become another user";
  fs::permissions(folder.path(), fs::perms::all);
  fs::permissions(fs::path(path()).parent_path(), fs::perms::all);
  fs::permissions(path(), fs::perms::all);
  const std::string ours = path();
  const pid_t other = ::fork();
  if (other == 0) {
    constexpr uid_t somebody = 65534;
    if (::setuid(somebody) != 0) ::_exit(2);
    const int fd = connect_to(ours, 0);
    if (fd < 0) ::_exit(3);
    char byte = 0;
    ::_exit(::read(fd, &byte, 1) == 0 ? 0 : 4);
  }
  int status = 0;
  ASSERT_TRUE(wait_until([&] { return ::waitpid(other, &status, WNOHANG) == other; }));
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(terminal()->ask("status").as_object().contains("result"));
}

// Runs what is ready, with this many descriptors that can still be opened.
void poll_with_descriptors(boost::asio::io_context& loop, int more) {
  loop.restart();
  const host::FewDescriptors few(more);
  loop.poll();
}

TEST_F(TheControlSocket, makes_a_terminal_wait_while_no_descriptor_is_free) {
  const auto early = terminal();
  ASSERT_TRUE(early->connected());
  ASSERT_EQ(early->try_to_say(request(1, "status")), request(1, "status").size());
  poll_with_descriptors(loop, 0);
  EXPECT_THAT(early->line(), HasSubstr("servers"));
}

TEST_F(TheControlSocket, rejects_a_terminal_that_would_take_the_last_descriptor) {
  const auto early = terminal();
  poll_with_descriptors(loop, 1);  // for the accepted end; writing needs another
  EXPECT_TRUE(early->is_turned_away());
  EXPECT_TRUE(terminal()->ask("status").as_object().contains("result"));
}

// --- the file

TEST_F(TheControlSocket, removes_its_file_and_disconnects_terminals_when_it_ends) {
  const auto one = terminal();
  ASSERT_TRUE(one->ask("status").as_object().contains("result"));
  one->say(request(9, "tools/call", R"({"name":"alpha__work","arguments":{"after":2000}})"));
  settle();
  control.reset();
  EXPECT_FALSE(fs::exists(path()));
  EXPECT_TRUE(one->is_turned_away());
  visitor.pass(3s);  // no terminal is left to get the answer
}

TEST_F(TheControlSocket, replaces_the_socket_file_of_a_dead_mcpivot) {
  control.reset();
  folder.dead_socket(std::to_string(::getpid()));
  ASSERT_TRUE(fs::exists(path()));
  EXPECT_FALSE(terminal()->connected());
  control.emplace(context, visitor.world(), visitor.clients(), visitor.desk(), "mine");
  control->open();
  EXPECT_TRUE(terminal()->ask("status").as_object().contains("result"));
}

// Processes in two containers may have the same pid, and share the folder.
TEST_F(TheControlSocket, leaves_the_socket_of_a_running_mcpivot_of_the_same_name_alone) {
  {
    ControlSocket namesake(context, visitor.world(), visitor.clients(), visitor.desk(), "theirs");
    namesake.open();
    EXPECT_EQ(terminal()->ask("status").at_pointer("/result/name"), "mine");
    const std::vector<RunningMcpivot> both = running_mcpivots();
    ASSERT_THAT(both, SizeIs(2));
    const auto other = both[0].socket == path() ? both[1] : both[0];
    EXPECT_EQ(Terminal(*this, other.socket).ask("status").at_pointer("/result/name"), "theirs");
  }
  EXPECT_EQ(terminal()->ask("status").at_pointer("/result/name"), "mine");
  EXPECT_THAT(running_mcpivots(), SizeIs(1));
}

TEST_F(TheControlSocket, mcpivot_runs_without_a_socket_if_it_cannot_create_one) {
  control.reset();
  for (const std::string& impossible :
       {folder.path() + "/" + std::string(120, 'x'), std::string("/dev/null"), std::string("/proc/1/none")}) {
    const TemporaryRuntimeFolder::Elsewhere elsewhere(impossible);
    ControlSocket without(context, visitor.world(), visitor.clients(), visitor.desk(), "mine");
    without.open();
    settle();
  }
  EXPECT_THAT(visitor.call("alpha__work"), HasSubstr("@alpha"));
}

}  // namespace
}  // namespace mcpivot
