#include "gateway/desk.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Birth;
using simulation::Visitor;
using testing::Contains;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr auto one = "alpha=process";
constexpr auto two = "alpha=process,active beta=process,active";

void blurt(Visitor& visitor, const std::string& server, std::string_view what) {
  visitor.world().each_life(server, [&](simulation::SimBackend& life) { life.blurt(what); });
  visitor.pass(50ms);
}

// --- one server, presented as it is

TEST(LoneServer, is_presented_with_its_own_handshake) {
  Visitor visitor(one);
  EXPECT_THAT(visitor.arrive(), HasSubstr(R"("serverInfo":{"name":"alpha","version":"1.0"})"));
}

TEST(LoneServer, a_client_waits_for_its_handshake) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::slow};
  EXPECT_THAT(visitor.arrive(), HasSubstr(R"("name":"alpha")"));
  EXPECT_GE(visitor.now(), 900ms);
}

TEST(LoneServer, serves_a_client_that_never_sends_initialize) {
  Visitor visitor(one);
  visitor.desk().start();
  visitor.pass(50ms);
  const std::string list = visitor.ask("tools/list", "{}");
  EXPECT_THAT(list, HasSubstr(R"("name":"work")"));
  EXPECT_THAT(list, Not(HasSubstr("pivot_")));
  EXPECT_THAT(visitor.lines_to("alpha", "initialize"), IsEmpty());
}

TEST(LoneServer, answers_what_mcpivot_does_not_know) {
  Visitor visitor(one);
  visitor.arrive();
  EXPECT_THAT(visitor.ask("x/y", R"({"z":1.50})"), EndsWith(R"("message":"Method not found"}})"));
  EXPECT_THAT(visitor.lines_to("alpha", "x/y"), ElementsAre(HasSubstr(R"("params":{"z":1.50})")));
  EXPECT_THAT(visitor.call("nonsense"), HasSubstr("@alpha has no nonsense"));
  EXPECT_THAT(visitor.ask("prompts/get", R"({"name":"nonsense"})"), HasSubstr(R"("messages":[])"));
  EXPECT_THAT(visitor.ask("resources/read", R"({"uri":"else://where"})"), HasSubstr(R"("contents":[])"));
  EXPECT_THAT(visitor.ask("logging/setLevel", R"({"level":"loud"})"), HasSubstr(R"("result":{})"));
}

TEST(LoneServer, without_logging_still_rejects_an_unknown_log_level) {
  Visitor visitor("alpha=cli");
  visitor.arrive();
  EXPECT_THAT(visitor.ask("logging/setLevel", R"({"level":"info"})"), HasSubstr(R"("result":{})"));
  EXPECT_THAT(visitor.ask("logging/setLevel", R"({"level":"loud"})"), HasSubstr("Unknown log level"));
  EXPECT_THAT(visitor.ask("completion/complete", "{}"), HasSubstr(R"("completion":{"values":[]})"));
  EXPECT_THAT(visitor.lines_to("alpha", "logging/setLevel"), IsEmpty());
  EXPECT_THAT(visitor.lines_to("alpha", "completion/complete"), IsEmpty());
}

// It answers only after it was asked in the other era as well.
TEST(LoneServer, may_answer_in_batches_though_it_was_silent_at_first) {
  Visitor visitor("alpha=process");
  visitor.world().scripts().of("alpha").births = {Birth::late};
  visitor.desk().start();
  visitor.ask("initialize",
              R"({"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"v"}})");
  visitor.pass(5s);
  EXPECT_THAT(visitor.call("work", R"({"n":1,"do":"batch"})"), HasSubstr("@alpha#1."));
}

TEST(LoneServer, keeps_its_own_tool_names) {
  Visitor visitor(one);
  visitor.arrive();
  EXPECT_THAT(visitor.ask("tools/list", "{}"), HasSubstr(R"("name":"work")"));
  EXPECT_THAT(visitor.call("work"), HasSubstr("@alpha"));
  blurt(visitor, "alpha", "log");
  EXPECT_THAT(visitor.heard(), Contains(HasSubstr(R"("logger":"a\"b")")));
}

// --- several servers behind a gateway

TEST(Gateway, answers_initialize_before_any_server_is_ready) {
  Visitor visitor(two);
  visitor.world().scripts().of("alpha").births = {Birth::slow};
  EXPECT_THAT(visitor.arrive(), HasSubstr("mcpivot connects several MCP servers"));
  EXPECT_LT(visitor.now(), 100ms);
}

TEST(Gateway, needs_no_handshake_and_no_server) {
  Visitor visitor("");
  EXPECT_THAT(visitor.ask("tools/list", "{}"), HasSubstr("pivot_status"));
  EXPECT_THAT(visitor.arrive(), HasSubstr("there is no server: the configuration names none"));
  EXPECT_THAT(visitor.call("work"), HasSubstr("Unknown tool: work"));
}

TEST(Gateway, answers_requests_that_belong_to_no_server) {
  Visitor visitor(two);
  visitor.arrive();
  EXPECT_THAT(visitor.ask("x/y", "{}"), HasSubstr("Method not found: x/y"));
  EXPECT_THAT(visitor.call("nonsense"),
              HasSubstr("Unknown tool: nonsense. pivot_search finds tools by what they do."));
  EXPECT_THAT(visitor.ask("prompts/get", R"({"name":"nonsense"})"), HasSubstr("Unknown prompt: nonsense"));
  EXPECT_THAT(visitor.ask("resources/read", R"({"uri":"else://where"})"),
              HasSubstr("No active server has the resource else://where"));
  for (const char* server : {"alpha", "beta"}) {
    EXPECT_THAT(visitor.lines_to(server, "x/y"), IsEmpty());
    EXPECT_THAT(visitor.lines_to(server, "tools/call"), IsEmpty());
  }
}

TEST(Gateway, sets_the_log_level_of_all_servers) {
  Visitor visitor(two);
  visitor.arrive();
  EXPECT_THAT(visitor.ask("logging/setLevel", R"({"level":"loud"})"), HasSubstr("Unknown log level"));
  EXPECT_THAT(visitor.ask("logging/setLevel", R"({"level":"info"})"), HasSubstr(R"("result":{})"));
  visitor.pass(50ms);
  for (const char* server : {"alpha", "beta"})
    EXPECT_THAT(visitor.lines_to(server, "logging/setLevel"), ElementsAre(HasSubstr(R"("level":"info")")));
}

TEST(Gateway, tells_a_server_the_log_level_that_was_set_while_it_started) {
  Visitor visitor("alpha=process,active beta=process,active");
  visitor.world().scripts().of("beta").births = {Birth::slow};
  visitor.arrive();
  visitor.ask("logging/setLevel", R"({"level":"debug"})");
  visitor.pass(2s);
  EXPECT_THAT(visitor.lines_to("beta", "logging/setLevel"), ElementsAre(HasSubstr("debug")));
}

TEST(Gateway, starts_a_server_that_is_added_after_a_handshake_without_params) {
  Visitor visitor("alpha=process,active beta=process,active");
  visitor.desk().start();
  visitor.ask("initialize", {});
  visitor.configure("alpha=process,active beta=process,active gamma=process,active");
  visitor.pass(2s);
  EXPECT_THAT(visitor.call("gamma__work", R"({"n":1})"), HasSubstr("@gamma#1."));
}

TEST(Gateway, prefixes_names_with_the_servers_name) {
  Visitor visitor(two);
  visitor.arrive();
  const std::string list = visitor.ask("tools/list", "{}");
  EXPECT_THAT(list, HasSubstr(R"("name":"alpha__work")"));
  EXPECT_THAT(list, HasSubstr(R"("name":"beta__work")"));
  EXPECT_THAT(visitor.call("beta__work"), HasSubstr("@beta"));
  blurt(visitor, "beta", "log");
  blurt(visitor, "beta", "log-empty");
  EXPECT_THAT(visitor.heard(), Contains(HasSubstr(R"("logger":"beta/a\"b")")));
  EXPECT_THAT(visitor.heard(), Contains(HasSubstr(R"("params":{"logger":"beta"})")));
}

TEST(Gateway, rebuilds_the_same_names_after_forgetting_them) {
  Visitor visitor(two);
  visitor.arrive();
  const auto result_of = [](const std::string& answer) { return answer.substr(answer.find("\"result\"")); };
  const std::string list = result_of(visitor.ask("tools/list", "{}"));
  const std::string found = result_of(visitor.call("pivot_search", R"({"query":"work"})"));
  ASSERT_THAT(found, HasSubstr("beta__work"));
  const auto changes = [&] {
    return std::ranges::count_if(visitor.heard(), [](const std::string& line) {
      return line.find("list_changed") != std::string::npos;
    });
  };
  const auto before = changes();
  EXPECT_TRUE(visitor.desk().forget_names());
  EXPECT_FALSE(visitor.desk().forget_names());
  EXPECT_THAT(visitor.call("beta__work"), HasSubstr("@beta"));
  EXPECT_TRUE(visitor.desk().forget_names());
  EXPECT_EQ(result_of(visitor.call("pivot_search", R"({"query":"work"})")), found);
  EXPECT_EQ(result_of(visitor.ask("tools/list", "{}")), list);
  EXPECT_EQ(changes(), before);
}

TEST(Gateway, a_single_server_is_prefixed_while_another_has_errors) {
  Visitor visitor("alpha=process,active left-out");
  EXPECT_THAT(visitor.arrive(), HasSubstr(R"("serverInfo":{"name":"mcpivot")"));
  EXPECT_THAT(visitor.ask("tools/list", "{}"), HasSubstr(R"("name":"alpha__work")"));
}

// --- a server that wants its user to sign in

// A modern client's user has agreed to open the URL.
std::string send_after_sign_in(Visitor& visitor) {
  return visitor.send("tools/call",
                      R"({"name":"work","arguments":{},"requestState":"mcpivot-sign-in-secret1",)"
                      R"("inputResponses":{"sign_in":{"action":"accept"}}})");
}

TEST(SignIn, that_fails_is_reported_the_same_while_the_server_serves_others) {
  Visitor visitor(one);
  visitor.arrive();
  visitor.world().want_sign_in("https://example.com/sign-in");
  const std::string waits = send_after_sign_in(visitor);
  visitor.pass(50ms);
  EXPECT_EQ(visitor.answer_to(waits), "");
  visitor.gateway().sign_in_over("alpha", "access denied");
  EXPECT_THAT(visitor.answer_to(waits),
              HasSubstr(R"([mcpivot] server \"alpha\" can't be used: the sign-in failed: access denied")"));
}

TEST(SignIn, is_not_waited_for_once_a_new_generation_serves) {
  Visitor visitor(one);
  visitor.arrive();
  visitor.world().want_sign_in("https://example.com/sign-in");
  const std::string waits = send_after_sign_in(visitor);
  visitor.pass(50ms);
  EXPECT_EQ(visitor.answer_to(waits), "");
  visitor.world().each_life("alpha",
                            [](simulation::SimBackend& life) { life.kill("was killed by SIGKILL"); });
  visitor.ask("tools/list", "{}");
  visitor.pass(5s);
  EXPECT_THAT(visitor.answer_to(waits), HasSubstr("@alpha"));
}

// --- from one to several and back

TEST(Presented, a_lone_server_that_becomes_one_of_several_keeps_its_names) {
  Visitor visitor(one);
  visitor.arrive();
  visitor.configure(two);
  visitor.pass(50ms);
  const std::string list = visitor.ask("tools/list", "{}");
  EXPECT_THAT(list, HasSubstr(R"("name":"work")"));
  EXPECT_THAT(list, HasSubstr(R"("name":"beta__work")"));
  EXPECT_THAT(list, HasSubstr("pivot_activate"));
  EXPECT_THAT(visitor.ask("x/y", "{}"), HasSubstr("Method not found: x/y"));
  EXPECT_THAT(visitor.lines_to("alpha", "x/y"), IsEmpty());
}

TEST(Presented, the_last_remaining_server_is_active_and_gets_unknown_methods) {
  Visitor visitor("alpha=process,inactive beta=process,active");
  visitor.arrive();
  EXPECT_THAT(visitor.ask("tools/list", "{}"), Not(HasSubstr("alpha__work")));
  visitor.configure("alpha=process,inactive");
  visitor.pass(50ms);
  const std::string list = visitor.ask("tools/list", "{}");
  EXPECT_THAT(list, HasSubstr(R"("name":"alpha__work")")) << "a model that has seen a name may use it";
  EXPECT_THAT(list, Not(HasSubstr("pivot_activate")));
  EXPECT_THAT(visitor.ask("x/y", "{}"), EndsWith(R"("message":"Method not found"}})"));
  EXPECT_THAT(visitor.lines_to("alpha", "x/y"), testing::SizeIs(1));
}

TEST(Presented, the_last_remaining_server_gets_no_calls_for_removed_ones) {
  Visitor visitor(two);
  visitor.arrive();
  visitor.configure("alpha=process,active");
  visitor.pass(50ms);
  EXPECT_THAT(visitor.call("beta__work", R"({"text":"SECRET"})"), HasSubstr("Unknown tool: beta__work"));
  EXPECT_THAT(visitor.lines_to("alpha", "tools/call"), IsEmpty());
  EXPECT_THAT(visitor.call("alpha__nonsense"), HasSubstr("@alpha has no nonsense"));
  const std::string prompt = visitor.send("prompts/get", R"({"name":"beta__greet"})");
  visitor.pass(50ms);
  EXPECT_THAT(visitor.answer_to(prompt), HasSubstr("Unknown prompt: beta__greet"));
  EXPECT_THAT(visitor.lines_to("alpha", "prompts/get"), IsEmpty());
}

TEST(Presented, a_waiting_handshake_is_answered_when_a_second_server_is_added) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.desk().start();
  const std::string hello =
      visitor.send("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  visitor.pass(50ms);
  EXPECT_EQ(visitor.answer_to(hello), "");
  visitor.configure(two);
  EXPECT_THAT(visitor.answer_to(hello), HasSubstr(R"("serverInfo":{"name":"mcpivot")"));
}

// --- what the desk knows about each of its instances

TEST(Watching, a_waiting_call_follows_the_rules_of_its_own_server) {
  Visitor visitor(two);
  visitor.arrive();
  for (const char* server : {"alpha", "beta"}) {
    visitor.world().scripts().of(server).births = {Birth::slow};
    visitor.world().each_life(server, [](simulation::SimBackend& life) { life.kill("was killed"); });
  }
  visitor.pass(50ms);
  const std::string refused = visitor.send("tools/call", R"({"name":"alpha__hidden","arguments":{}})");
  const std::string passed = visitor.send("tools/call", R"({"name":"beta__hidden","arguments":{}})");
  visitor.pass(50ms);
  visitor.configure("alpha=process,active,deny beta=process,active");
  visitor.pass(2s);
  EXPECT_THAT(visitor.lines_to("alpha", "tools/call"), IsEmpty());
  EXPECT_THAT(visitor.answer_to(refused), HasSubstr("Unknown tool: alpha__hidden"));
  EXPECT_THAT(visitor.answer_to(passed), HasSubstr("@beta"));
}

TEST(Watching, a_list_does_not_wait_for_the_retry_of_a_server_that_refused) {
  Visitor visitor("alpha=process,active beta=daemon,active,era:legacy");
  visitor.world().scripts().of("beta").births = {Birth::rejects, Birth::hangs};
  visitor.arrive();
  const Instance& beta = visitor.desk().fleet().members().at(1)->instance();
  ASSERT_TRUE(beta.life().is_refused());
  const std::string list = visitor.send("tools/list", "{}");
  EXPECT_TRUE(beta.works() && beta.life().is_refused()) << "it is tried again";
  visitor.pass(50ms);
  EXPECT_THAT(visitor.answer_to(list), HasSubstr("alpha__work"));
}

TEST(Watching, a_waiting_pivot_call_is_dropped_once_it_may_not_reach_its_server) {
  struct Case {
    const char* before;
    const char* after;
  };
  for (const auto& [before, after] :
       {Case{"alpha=process,active beta=process", "alpha=process,active beta=process through:off"},
        Case{"alpha=process,active beta=process", "alpha=process,active beta=process,no-through"},
        Case{"alpha=process,active beta=process,active through:active",
             "alpha=process,active beta=process,inactive through:active"}}) {
    Visitor visitor(before);
    visitor.arrive();
    visitor.world().scripts().of("beta").births = {Birth::slow};
    visitor.world().each_life("beta", [](simulation::SimBackend& life) { life.kill("was killed"); });
    visitor.pass(50ms);
    const std::string waited = visitor.send(
        "tools/call", R"({"name":"pivot_call","arguments":{"tool":"beta__work","arguments":{}}})");
    visitor.pass(50ms);
    visitor.configure(after);
    visitor.pass(2s);
    EXPECT_THAT(visitor.lines_to("beta", "tools/call"), IsEmpty()) << after;
    EXPECT_THAT(visitor.answer_to(waited), HasSubstr("beta__work was not called")) << after;
  }
}

TEST(Watching, a_removed_server_stays_reachable_until_its_call_ends) {
  Visitor visitor(two);
  visitor.arrive();
  const std::string call =
      visitor.send("tools/call", R"({"name":"beta__work","arguments":{"do":"ask","n":1}})");
  visitor.pass(50ms);
  ASSERT_EQ(visitor.asked().size(), 1U);
  const GenerationId asker = visitor.asked().front();
  visitor.configure(one);
  visitor.pass(50ms);
  Generation* const generation = visitor.desk().find(asker);
  ASSERT_NE(generation, nullptr);
  const std::string answer = R"({"jsonrpc":"2.0","id":1,"result":{}})";
  generation->answer(visitor.desk().client(), *read_message(answer), "1");
  visitor.pass(5s);
  EXPECT_THAT(visitor.answer_to(call), HasSubstr("@beta"));
  EXPECT_EQ(visitor.desk().find(asker), nullptr);
  EXPECT_EQ(visitor.world().alive(), 1);
}

TEST(Watching, the_model_is_only_told_about_active_servers) {
  Visitor visitor("alpha=process,active beta=process,active gamma=process,inactive");
  visitor.arrive();
  for (const char* server : {"beta", "gamma"})
    visitor.world().each_life(server, [](simulation::SimBackend& life) { life.kill("was killed"); });
  visitor.pass(500ms);
  const std::string answer = visitor.call("alpha__work");
  EXPECT_THAT(answer, HasSubstr(R"(\"beta\")"));
  EXPECT_THAT(answer, Not(HasSubstr("gamma")));
}

}  // namespace
}  // namespace mcpivot
