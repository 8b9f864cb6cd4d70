#include "gateway/link_client.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gateway/desk.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

// Keeps what is sent.
class KeepingLink final : public Link {
 public:
  void send(const Message& message, std::span<const Edit> edits) override {
    lines.push_back(spliced(message.raw, edits));
  }
  void send(std::string_view line) override { lines.emplace_back(line); }
  bool full() const override { return is_full; }
  std::uint64_t position() const override { return lines.size(); }
  bool reached(std::uint64_t) const override { return true; }
  void pause() override { paused = true; }
  void resume() override { paused = false; }
  void finish() override {}
  void close() override {}

  std::vector<std::string> lines;
  bool is_full = false;
  bool paused = false;
};

std::string id_of(const std::string& line) {
  return std::string(find_member(line, "id"));
}

// A client's session at a visitor's desk; it replaces the visitor.
class SessionOf {
 public:
  explicit SessionOf(const char* fleet = "alpha=process,active beta=process") : visitor(fleet) {
    visitor.clients().remove(visitor.desk().client());
    session.emplace(link, visitor.clients(), visitor.desk(),
                    [this](std::string_view why) { ends.emplace_back(why); });
    visitor.desk().start();
    visitor.pass(50ms);
  }

  // A line from the client.
  void say(std::string_view line) {
    if (is_batch(line)) return handler().on_batch(line);
    const auto message = read_message(line);
    if (message)
      handler().on_message(*message);
    else
      handler().on_unreadable(line, message.error());
  }
  void hello(std::string_view version) {
    say(request_line(R"("hello")", "initialize",
                     fmt::format(R"({{"protocolVersion":"{}","capabilities":{{}}}})", version)));
    visitor.pass(50ms);
    heard();
  }
  void ready() {
    say(request_line({}, "notifications/initialized", {}));
    visitor.pass(50ms);
  }
  // What the client was sent since the last call; only questions; only notifications.
  std::vector<std::string> heard() { return std::exchange(link.lines, {}); }
  std::vector<std::string> asked() {
    auto lines = heard();
    std::erase_if(lines, [](const std::string& line) { return id_of(line).empty(); });
    return lines;
  }
  std::vector<std::string> told(std::string_view method) {
    auto lines = heard();
    std::erase_if(lines,
                  [&](const std::string& line) { return find_member(line, "method") != quote(method); });
    return lines;
  }
  // The server sends it, and it arrives.
  void blurt(std::string_view what) {
    visitor.world().each_life("alpha", [&](simulation::SimBackend& life) { life.blurt(what); });
    visitor.pass(50ms);
  }
  void kill() {
    visitor.world().each_life("alpha", [](simulation::SimBackend& life) { life.kill("was killed"); });
    visitor.pass(200ms);
  }
  Link::Handler& handler() { return *session; }

  simulation::Visitor visitor;
  KeepingLink link;
  std::vector<std::string> ends;
  std::optional<LinkClient> session;
};

std::string call(std::string_view id, std::string_view arguments = "{}") {
  return request_line(id, "tools/call", fmt::format(R"({{"name":"alpha__work","arguments":{}}})", arguments));
}

// --- batches

TEST(Batch, is_rejected_unless_the_negotiated_version_has_batches) {
  SessionOf client;
  client.say("[" + call("1") + "]");
  client.hello("2025-06-18");
  client.say("[" + call("1") + "]");
  client.visitor.pass(1s);
  EXPECT_THAT(client.heard(), ElementsAre(HasSubstr("only protocol version 2025-03-26 has batches")));
  EXPECT_THAT(client.visitor.lines_to("alpha", "tools/call"), IsEmpty());
}

TEST(Batch, is_answered_on_one_line_once_the_last_response_is_there) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[" + call("1", R"({"after":400})") + "," + request_line("2", "ping", {}) + "," +
             request_line({}, "notifications/x", {}) + "]");
  client.visitor.pass(300ms);
  EXPECT_THAT(client.heard(), IsEmpty());
  client.visitor.pass(300ms);
  const auto lines = client.heard();
  ASSERT_THAT(lines, SizeIs(1));
  const auto answers = read_batch(lines[0]);
  ASSERT_TRUE(answers);
  EXPECT_THAT(*answers, testing::UnorderedElementsAre(AllOf(HasSubstr(R"("id":1,)"), HasSubstr("@alpha")),
                                                      HasSubstr(R"("id":2,)")));
}

TEST(Batch, of_notifications_is_not_answered) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[" + request_line({}, "notifications/x", {}) + "]");
  client.visitor.pass(1s);
  EXPECT_THAT(client.heard(), IsEmpty());
}

TEST(Batch, has_an_error_for_each_element_that_is_not_a_message) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[7," + request_line("1", "ping", {}) + R"(,{"id":2}])");
  const auto lines = client.heard();
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(*read_batch(lines[0]),
              testing::UnorderedElementsAre(HasSubstr("-32600"), HasSubstr(R"("result":{})"),
                                            AllOf(HasSubstr(R"("id":2)"), HasSubstr("-32600"))));
}

TEST(Batch, that_is_empty_or_invalid_json_gets_one_error) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[]");
  client.say("[" + call("1") + ",");
  EXPECT_THAT(client.heard(), ElementsAre(AllOf(StartsWith("{"), HasSubstr("the batch is empty")),
                                          AllOf(StartsWith("{"), HasSubstr("-32700"))));
}

TEST(Batch, does_not_wait_for_a_cancelled_request) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[" + call("1", R"({"do":"hang"})") + "," + request_line("2", "ping", {}) + "]");
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(), IsEmpty());
  client.say(cancellation("1", "enough"));
  EXPECT_THAT(client.heard(),
              ElementsAre(AllOf(StartsWith(R"([{)"), HasSubstr(R"("id":2,)"), Not(HasSubstr(R"("id":1,)")))));
}

TEST(Batch, two_at_once_are_not_mixed_up) {
  SessionOf client;
  client.hello("2025-03-26");
  client.say("[" + call("1", R"({"after":300})") + "," + call("2", R"({"after":100})") + "]");
  client.say("[" + call("3", R"({"after":200})") + "]");
  client.visitor.pass(250ms);
  EXPECT_THAT(client.heard(), ElementsAre(AllOf(HasSubstr(R"("id":3,)"), Not(HasSubstr(R"("id":2,)")))));
  client.visitor.pass(250ms);
  EXPECT_THAT(client.heard(), ElementsAre(AllOf(HasSubstr(R"("id":1,)"), HasSubstr(R"("id":2,)"))));
}

// --- what servers ask before the client is initialized

TEST(HeldQuestion, is_sent_once_the_client_is_initialized) {
  SessionOf client;
  client.hello("2025-06-18");
  client.blurt("ask");
  EXPECT_THAT(client.heard(), IsEmpty());
  client.ready();
  const auto asked = client.asked();
  ASSERT_THAT(asked, ElementsAre(HasSubstr("roots/list")));
  EXPECT_THAT(asked[0], Not(HasSubstr("q1"))) << "under an id of ours";
  client.say(result_answer(id_of(asked[0]), R"({"roots":[]})"));
  client.blurt("ask");
  EXPECT_THAT(client.asked(), SizeIs(1)) << "from now on at once";
}

TEST(HeldQuestion, of_a_dead_server_is_not_sent) {
  SessionOf client;
  client.hello("2025-06-18");
  client.blurt("ask");
  client.kill();
  client.ready();
  EXPECT_THAT(client.asked(), IsEmpty());
}

TEST(HeldQuestion, that_was_cancelled_is_not_sent) {
  SessionOf client;
  client.hello("2025-06-18");
  // It asks for sampling, and then withdraws that.
  client.say(call("1", R"({"do":"ask","n":6})"));
  client.visitor.pass(50ms);
  client.say(cancellation("1", "enough"));
  client.visitor.pass(50ms);
  client.heard();
  client.ready();
  EXPECT_THAT(client.asked(), IsEmpty());
}

TEST(HeldQuestion, does_not_include_pings) {
  SessionOf client;
  client.hello("2025-06-18");
  client.say(call("1", R"({"do":"ask","n":3})"));
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(), ElementsAre(HasSubstr(R"("method":"ping")")));
}

TEST(HeldQuestion, at_most_64_are_held) {
  SessionOf client;
  client.hello("2025-06-18");
  for (int i = 0; i < 70; ++i) client.blurt("ask");
  client.ready();
  EXPECT_THAT(client.asked(), SizeIs(64));
}

// --- what a client is asked

TEST(Questions, that_a_client_never_answers_are_limited_to_1024) {
  SessionOf client;
  client.hello("2025-06-18");
  client.ready();
  client.heard();
  for (int i = 0; i < 1'030; ++i) client.blurt("ask");
  const auto lines = client.asked();
  EXPECT_THAT(lines, SizeIs(1'024));
  client.say(result_answer(id_of(lines.front()), R"({"action":"cancel"})"));
  client.blurt("ask");
  EXPECT_THAT(client.asked(), SizeIs(1)) << "there is room again";
}

class Asked : public testing::Test {
 protected:
  Asked() {
    client.hello("2025-06-18");
    client.ready();
    client.heard();
    client.say(call("1", R"({"do":"ask","n":1})"));
    client.visitor.pass(50ms);
    const auto lines = client.heard();
    EXPECT_THAT(lines, ElementsAre(HasSubstr("elicitation/create")));
    id = id_of(lines.at(0));
  }

  SessionOf client;
  std::string id;  // ours
};

TEST_F(Asked, the_answer_reaches_the_server_under_its_own_id) {
  client.say(result_answer(id, "{}"));
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(), ElementsAre(AllOf(HasSubstr(R"("id":1,)"), HasSubstr("@alpha"))));
}

TEST_F(Asked, only_the_first_answer_counts) {
  client.say(result_answer(id, "{}"));
  client.visitor.pass(50ms);
  client.heard();
  client.say(result_answer(id, "{}"));
  client.say(result_answer("987654", "{}"));
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(), IsEmpty());
}

TEST_F(Asked, progress_reaches_the_server_under_its_own_token) {
  client.say(
      request_line({}, "notifications/progress", fmt::format(R"({{"progressToken":{},"progress":1}})", id)));
  client.say(request_line({}, "notifications/progress", R"({"progressToken":987654,"progress":1})"));
  client.visitor.pass(50ms);
  EXPECT_THAT(client.visitor.lines_to("alpha", "notifications/progress"),
              ElementsAre(HasSubstr(R"("progressToken":"t1")")));
}

TEST_F(Asked, a_question_of_a_server_that_dies_is_cancelled) {
  client.kill();
  EXPECT_THAT(client.heard(), testing::Contains(AllOf(HasSubstr("notifications/cancelled"),
                                                      HasSubstr(R"("requestId":)" + id))));
  client.say(result_answer(id, "{}"));  // too late, but harmless
}

TEST_F(Asked, a_question_that_the_server_cancels_is_cancelled_by_our_id) {
  client.say(cancellation("1", "enough"));
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(),
              ElementsAre(AllOf(HasSubstr("notifications/cancelled"), HasSubstr(R"("requestId":)" + id))));
}

TEST_F(Asked, a_too_large_answer_is_an_error_for_the_server) {
  Skim skim;
  skim.feed(result_answer(id, quote(std::string(100, 'x'))));
  client.handler().on_oversize(skim, 50);
  client.visitor.pass(50ms);
  EXPECT_THAT(client.heard(), ElementsAre(HasSubstr("@alpha"))) << "it has its answer, and goes on";
}

// --- announcements, and what cannot be read

TEST(Announcement, waits_until_the_client_is_initialized_and_is_sent_once) {
  constexpr auto changed = "notifications/tools/list_changed";
  SessionOf client;
  client.hello("2025-06-18");
  for (int i = 0; i < 3; ++i) {
    client.blurt("tools");
    client.visitor.pass(1s);
  }
  EXPECT_THAT(client.told(changed), IsEmpty());
  client.ready();
  EXPECT_THAT(client.told(changed), SizeIs(1));
  client.visitor.pass(1s);
  client.blurt("tools");
  EXPECT_THAT(client.told(changed), SizeIs(1));
}

TEST(Session, answers_a_line_that_is_not_a_message) {
  SessionOf client;
  client.say("nonsense");
  client.say(R"({"jsonrpc":"2.0","id":7})");
  EXPECT_THAT(client.heard(),
              ElementsAre(AllOf(HasSubstr("-32700"), HasSubstr("Parse error")),
                          AllOf(HasSubstr(R"("id":7,)"), HasSubstr("-32600"), HasSubstr("Invalid request"))));
}

TEST(Session, answers_a_too_large_request_with_its_size_and_the_limit) {
  SessionOf client;
  const std::string line = call("7", R"({"text":")" + std::string(100, 'x') + R"("})");
  Skim skim;
  skim.feed(line);
  client.handler().on_oversize(skim, 50);
  EXPECT_THAT(client.heard(),
              ElementsAre(AllOf(HasSubstr(R"("id":7,)"), HasSubstr(std::to_string(line.size()) + " bytes"),
                                HasSubstr("limit of 50"))));
}

TEST(Session, does_not_answer_a_too_large_notification) {
  SessionOf client;
  Skim skim;
  skim.feed(request_line({}, "notifications/x", quote(std::string(100, 'x'))));
  client.handler().on_oversize(skim, 50);
  EXPECT_THAT(client.heard(), IsEmpty());
}

TEST(Session, stops_reading_while_its_client_does_not_read) {
  SessionOf client;
  client.hello("2025-06-18");
  client.link.is_full = true;
  client.say(request_line("1", "ping", {}));
  EXPECT_TRUE(client.link.paused);
  client.link.is_full = false;
  client.handler().on_writable();
  EXPECT_FALSE(client.link.paused);
}

// Its only server reads nothing any more, so the client has to wait.
void stuff(SessionOf& client) {
  const auto say = [&](int id, const std::string& arguments) {
    client.say(request_line(std::to_string(id), "tools/call",
                            fmt::format(R"({{"name":"work","arguments":{}}})", arguments)));
  };
  say(1, R"({"n":1,"do":"deaf","after":100000})");
  client.visitor.pass(50ms);
  for (int id = 2; !client.link.paused && id < 1'000; ++id)
    say(id, fmt::format(R"({{"n":{},"pad":"{}"}})", id, std::string(1'000, 'x')));
  ASSERT_TRUE(client.link.paused);
}

TEST(Session, reads_again_when_the_server_that_does_not_read_is_no_longer_the_only_one) {
  for (const char* fleet : {"alpha=process,active beta=process,lazy", "beta=process,lazy", ""}) {
    SessionOf client("alpha=process");
    client.hello("2025-06-18");
    stuff(client);
    client.visitor.configure(fleet);
    EXPECT_FALSE(client.link.paused) << fleet;
  }
}

TEST(Session, reads_again_when_the_daemon_that_does_not_read_is_stopped) {
  SessionOf client("alpha=daemon,stop");
  client.hello("2025-06-18");
  stuff(client);
  client.visitor.desk().fleet().members().front()->instance().stop([](const auto&) {});
  EXPECT_FALSE(client.link.paused);
}

TEST(Session, reads_again_when_a_server_that_does_not_read_ends_before_the_handshake) {
  SessionOf client("alpha=process");
  stuff(client);
  client.kill();
  EXPECT_FALSE(client.link.paused);
}

// With several servers, the client doesn't wait for one of them.
TEST(Session, notifications_for_a_server_that_does_not_read_are_bounded) {
  SessionOf client("alpha=process,active beta=process");
  client.hello("2025-06-18");
  client.say(call("1", R"({"n":1,"do":"deaf","after":100000})"));
  client.visitor.pass(50ms);
  constexpr std::string_view changed = "notifications/roots/list_changed";
  const std::string line =
      request_line({}, changed, fmt::format(R"({{"pad":"{}"}})", std::string(1'000, 'x')));
  for (int i = 0; i < 2'000; ++i) {
    client.say(line);
    if (i % 10 == 0) client.visitor.pass(20ms);
  }
  EXPECT_LE(client.visitor.lines_to("alpha", changed).size() * line.size(),
            simulation::Wire::overflow + line.size());
  EXPECT_EQ(client.visitor.lines_to("beta", changed).size(), 2'000U);
}

TEST(Session, reports_that_its_client_has_gone) {
  SessionOf client;
  client.handler().on_end("closed");
  EXPECT_THAT(client.ends, ElementsAre("closed"));
}

TEST(Session, is_not_found_when_it_is_gone) {
  SessionOf client;
  client.hello("2025-06-18");
  client.say(call("1", R"({"after":100})"));
  client.visitor.pass(50ms);
  client.session.reset();
  client.visitor.pass(1s);
  EXPECT_THAT(client.heard(), IsEmpty());
  EXPECT_FALSE(client.visitor.clients().has(client.visitor.desk().client()));
}

}  // namespace
}  // namespace mcpivot
