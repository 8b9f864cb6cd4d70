// The rounds of a modern client's call at a legacy server that asks questions, and who may continue it.
#include "bridge/modern_calls.h"

#include <gtest/gtest.h>

#include "bridge/modern_facade_ends.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

TEST(ModernCalls, a_question_parks_the_call_and_the_retry_resumes_it) {
  Stage stage;
  stage.call(1);
  stage.ask(R"("q")", R"({ "message":"Who?", "requestedSchema":{"x":1.0} })");
  EXPECT_EQ(
      stage.up(),
      Lines{
          R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"elicitation-1":{"method":"elicitation/create","params":{ "message":"Who?", "requestedSchema":{"x":1.0} }}},"requestState":"secret1"}})"});
  EXPECT_TRUE(stage.down().empty());
  EXPECT_FALSE(stage.facade.idle());
  EXPECT_TRUE(stage.facade.has_parked(R"("secret1")"));
  EXPECT_TRUE(stage.facade.has_parked(R"("\u0073ecret1")"));
  EXPECT_FALSE(stage.facade.has_parked(R"("secret2")"));

  stage.retry(2, "secret1", R"({"elicitation-1":{ "action":"accept" ,"content":{"n":1e0}}})");
  EXPECT_EQ(stage.down(),
            Lines{R"({"jsonrpc":"2.0","id":"q","result":{ "action":"accept" ,"content":{"n":1e0}}})"});
  EXPECT_TRUE(stage.up().empty());
  EXPECT_TRUE(stage.facade.idle());
  EXPECT_FALSE(stage.facade.has_parked(R"("secret1")"));

  stage.from_server(result_answer("1", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("2", done_now)});
}

TEST(ModernCalls, two_questions_one_after_the_other_take_two_rounds) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  stage.up();
  stage.down();
  stage.from_server(
      R"({"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{"messages":[],"tools":[]}})");
  EXPECT_EQ(
      stage.up(),
      Lines{
          R"({"jsonrpc":"2.0","id":2,"result":{"resultType":"input_required","inputRequests":{"sampling-2":{"method":"sampling/createMessage","params":{"messages":[],"tools":[]}}},"requestState":"secret2"}})"});
  stage.retry(3, "secret2", R"({"sampling-2":{"role":"assistant","content":{},"model":"m"}})");
  EXPECT_EQ(stage.down(),
            Lines{R"({"jsonrpc":"2.0","id":2,"result":{"role":"assistant","content":{},"model":"m"}})"});
  stage.from_server(result_answer("1", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("3", done_now)});
}

TEST(ModernCalls, prompts_and_resources_carry_questions_and_roots_requests_have_no_params) {
  for (const std::string_view method : {"prompts/get", "resources/read"}) {
    Stage stage;
    stage.from_client(modern_request("1", method, R"("name":"n","uri":"u")"));
    stage.from_server(R"({"jsonrpc":"2.0","id":0,"method":"roots/list"})");
    EXPECT_EQ(result_of(stage.up().at(0), "inputRequests"), R"({"roots-1":{"method":"roots/list"}})");
    stage.down();
    stage.from_client(modern_request(
        "2", method,
        R"("name":"n","uri":"u","requestState":"secret1","inputResponses":{"roots-1":{"roots":[]}})"));
    EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":0,"result":{"roots":[]}})"});
    stage.from_server(result_answer("1", "{}"));
    EXPECT_EQ(id_of(stage.up().at(0)), "2");
  }
}

TEST(ModernCalls, a_question_goes_to_the_oldest_call_that_is_not_parked) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/list"));
  stage.call(2);
  stage.call(3);
  stage.ask("1");
  EXPECT_EQ(id_of(stage.up().at(0)), "2");
  stage.ask("2");
  EXPECT_EQ(id_of(stage.up().at(0)), "3");
}

TEST(ModernCalls, questions_that_arrive_while_the_call_is_parked_wait_for_the_next_round) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  stage.ask("2", R"({"message":"two"})");
  stage.ask("3", R"({"message":"three"})");
  EXPECT_TRUE(stage.up().empty());
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"decline"}})");
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":1,"result":{"action":"decline"}})"});
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "2");
  EXPECT_EQ(
      result_of(up[0], "inputRequests"),
      R"({"elicitation-2":{"method":"elicitation/create","params":{"message":"two"}},"elicitation-3":{"method":"elicitation/create","params":{"message":"three"}}})");
  stage.retry(3, "secret2", R"({"elicitation-3":{"action":"accept"},"elicitation-2":{"action":"cancel"}})");
  EXPECT_EQ(stage.down(), (Lines{R"({"jsonrpc":"2.0","id":3,"result":{"action":"accept"}})",
                                 R"({"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}})"}));
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCalls, unknown_response_keys_are_ignored_and_missing_ones_asked_again) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.ask("2");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  stage.up();
  stage.down();
  stage.ask("3");
  stage.retry(3, "secret2", R"({"elicitation-3":{"action":"accept"},"nonsense":4,"elicitation-1":null})");
  EXPECT_TRUE(stage.down().empty());
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "3");
  EXPECT_EQ(result_of(up[0], "requestState"), R"("secret3")");
  EXPECT_NE(result_of(up[0], "inputRequests").find(R"("elicitation-2":)"), std::string::npos);
  EXPECT_NE(result_of(up[0], "inputRequests").find(R"("elicitation-3":)"), std::string::npos);
  stage.retry(4, "secret3");
  EXPECT_EQ(result_of(stage.up().at(0), "requestState"), R"("secret4")");
}

TEST(ModernCalls, a_question_that_the_client_has_not_seen_cannot_be_answered) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.ask("2");
  stage.up();
  stage.retry(2, "secret1", R"({"":{"action":"accept"},"elicitation-2":{"action":"accept"}})");
  EXPECT_TRUE(stage.down().empty());
  EXPECT_EQ(result_of(stage.up().at(0), "resultType"), R"("input_required")");
}

TEST(ModernCalls, a_call_that_finishes_while_parked_keeps_its_result_for_the_retry) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  stage.from_server(result_answer("1", done));
  stage.from_server(result_answer("1", R"({"second":1})"));
  EXPECT_TRUE(stage.up().empty());
  EXPECT_FALSE(stage.facade.idle());
  stage.retry(2, "secret1");
  EXPECT_EQ(stage.up(), Lines{result_answer("2", done_now)});
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCalls, an_answer_reaches_the_server_even_if_the_call_that_carried_it_has_finished) {
  Stage stage;
  stage.call(1);
  stage.call(2);
  stage.ask("1");  // of call 2, but the server doesn't say so
  stage.from_server(result_answer("1", done));
  stage.up();
  stage.retry(3, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":1,"result":{"action":"accept"}})"});
  EXPECT_EQ(stage.up(), Lines{result_answer("3", done_now)});
}

TEST(ModernCalls, an_unasked_question_of_a_finished_call_moves_to_another_call) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.ask("2");
  stage.call(2);
  stage.up();
  stage.from_server(result_answer("1", done));  // so question 2 needs another carrier
  EXPECT_EQ(id_of(stage.up().at(0)), "2");
  stage.call(3);
  stage.retry(4, "secret1");  // without an answer to question 1
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 2U);
  EXPECT_EQ(up[0], result_answer("4", done_now));
  EXPECT_EQ(id_of(up[1]), "3");
}

TEST(ModernCalls, a_question_after_the_response_to_a_parked_call_is_rejected) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.from_server(result_answer("1", done));
  stage.up();
  stage.ask("2");
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32601");
}

TEST(ModernCalls, a_question_outside_any_call_is_rejected) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/list"));
  stage.down();
  stage.ask("7");
  const Lines down = stage.down();
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(id_of(down[0]), "7");
  EXPECT_EQ(error_of(down[0], "code"), "-32601");
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernCalls, a_question_whose_params_are_not_an_object_is_rejected) {
  Stage stage;
  stage.call(1);
  stage.ask("7", "[1]");
  stage.from_server(R"({"jsonrpc":"2.0","id":8,"method":"elicitation/create"})");
  EXPECT_TRUE(stage.up().empty());
  const Lines down = stage.down();
  ASSERT_EQ(down.size(), 2U);
  EXPECT_EQ(error_of(down[0], "code"), "-32602");
  EXPECT_EQ(error_of(down[1], "code"), "-32602");
}

TEST(ModernCalls, a_message_under_the_retrys_id_is_dropped) {
  Stage stage;
  stage.call(1, meta_with_token(1));
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})", meta_with_token(2));
  stage.up();
  stage.from_server(result_answer("2", done));
  stage.from_server(progress("2", "1"));
  EXPECT_TRUE(stage.up().empty());
  stage.from_server(result_answer("1", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("2", done_now)});
  stage.from_server(result_answer("2", done));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernCalls, a_question_that_the_calls_capabilities_do_not_allow_is_rejected) {
  struct Case {
    std::string_view capabilities, method, params;
    bool allowed;
  };
  for (const Case& test : {
           Case{"{}", "elicitation/create", "{}", false},
           Case{R"({"elicitation":{}})", "elicitation/create", "{}", true},
           Case{R"({"elicitation":{}})", "elicitation/create", R"({"mode":"form"})", true},
           Case{R"({"elicitation":{}})", "elicitation/create", R"({"mode":"url"})", false},
           Case{R"({"elicitation":{"url":{}}})", "elicitation/create", R"({"mode":"url"})", true},
           Case{R"({"elicitation":{"url":{}}})", "elicitation/create", "{}", false},
           Case{R"({"elicitation":{"url":{},"form":{}}})", "elicitation/create", "{}", true},
           Case{R"({"elicitation":{"url":{},"form":{}}})", "elicitation/create", R"({"mode":"voice"})",
                false},
           Case{R"({"elicitation":null})", "elicitation/create", "{}", false},
           Case{"{}", "sampling/createMessage", "{}", false},
           Case{R"({"sampling":{}})", "sampling/createMessage", "{}", true},
           Case{R"({"sampling":{}})", "sampling/createMessage", R"({"tools":[]})", false},
           Case{R"({"sampling":{}})", "sampling/createMessage", R"({"toolChoice":{}})", false},
           Case{R"({"sampling":{"tools":{}}})", "sampling/createMessage", R"({"tools":[]})", true},
           Case{"{}", "roots/list", "{}", false},
           Case{R"({"roots":{}})", "roots/list", "{}", true},
       }) {
    Stage stage;
    stage.call(1, modern_meta(test.capabilities));
    stage.from_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":7,"method":"{}","params":{}}})", test.method, test.params));
    EXPECT_EQ(stage.up().size(), test.allowed ? 1U : 0U) << test.capabilities << test.method << test.params;
    const Lines down = stage.down();
    ASSERT_EQ(down.size(), test.allowed ? 0U : 1U);
    if (!test.allowed) {
      EXPECT_EQ(error_of(down[0], "code"), "-32601");
    }
  }
}

TEST(ModernCalls, a_call_that_fails_for_lack_of_a_capability_names_it) {
  struct Case {
    std::string_view capabilities, method, params, required;
  };
  for (const Case& test : {
           Case{"{}", "sampling/createMessage", "{}", R"({"sampling":{}})"},
           Case{R"({"sampling":{}})", "sampling/createMessage", R"({"tools":[]})",
                R"({"sampling":{"tools":{}}})"},
       }) {
    Stage stage;
    stage.call(1, modern_meta(test.capabilities));
    stage.from_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":7,"method":"{}","params":{}}})", test.method, test.params));
    stage.from_server(error_answer("1", -32601, "The client can't do it"));
    const Lines up = stage.up();
    ASSERT_EQ(up.size(), 1U);
    EXPECT_EQ(id_of(up[0]), "1");
    EXPECT_EQ(error_of(up[0], "code"), "-32021");
    EXPECT_EQ(error_of(up[0], "data"), fmt::format(R"({{"requiredCapabilities":{}}})", test.required));
  }
}

TEST(ModernCalls, a_call_that_succeeds_without_the_capability_returns_its_result) {
  Stage stage;
  stage.call(1, modern_meta("{}"));
  stage.ask("1");
  stage.from_server(result_answer("1", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("1", done_now)});
}

TEST(ModernCalls, an_error_passes_if_the_rejected_question_may_belong_to_another_call) {
  Stage stage;
  stage.call(1, modern_meta("{}"));
  stage.call(2, modern_meta("{}"));
  stage.ask("1");
  stage.from_server(error_answer("1", -32000, "Something else"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32000");
}

TEST(ModernCalls, the_retrys_capabilities_apply_from_then_on) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})", modern_meta("{}"));
  stage.up();
  stage.down();
  stage.ask("2");
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32601");
}

// requestState.

TEST(ModernCallsState, works_only_once) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  stage.up();
  stage.down();
  stage.retry(3, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  expect_refused(stage, "3");
}

TEST(ModernCallsState, a_wrong_state_is_rejected_with_advice_and_never_reaches_the_server) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  stage.retry(2, "secret7");
  EXPECT_NE(error_of(stage.ends.up.at(0), "message").find("Call again without requestState"),
            std::string::npos);
  expect_refused(stage, "2");
  int id = 2;
  for (const std::string& state :
       {std::string("null"), std::string("3"), std::string(R"({"a":1})"), std::string(R"([])"),
        std::string(R"("")"), '"' + std::string(1 << 20, 's') + '"'}) {
    ++id;
    stage.from_client(modern_request(std::to_string(id), "tools/call",
                                     R"("name":"t","arguments":{"a":1},"requestState":)" + state));
    expect_refused(stage, std::to_string(id));
    EXPECT_FALSE(stage.facade.has_parked(state));
  }
  stage.retry(99, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernCallsState, a_rejected_retry_does_not_set_the_log_level) {
  Stage stage;
  stage.retry(2, "secret1", "", modern_meta("{}", R"(,"io.modelcontextprotocol/logLevel":"debug")"));
  expect_refused(stage, "2");
}

TEST(ModernCallsState, expires) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  stage.clock.pass(ModernFacade::usual_patience);
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  expect_refused(stage, "2");
}

TEST(ModernCallsState, the_state_of_another_call_is_rejected_and_stays_valid_for_its_own) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  const std::string state = R"("requestState":"secret1")";
  stage.from_client(modern_request("2", "tools/call", R"("name":"t","arguments":{"a":2},)" + state));
  expect_refused(stage, "2");
  stage.from_client(modern_request("3", "tools/call", R"("name":"u","arguments":{"a":1},)" + state));
  expect_refused(stage, "3");
  stage.from_client(modern_request("4", "prompts/get", R"("name":"t","arguments":{"a":1},)" + state));
  expect_refused(stage, "4");
  stage.from_client(modern_request("5", "tools/list", R"("name":"t","arguments":{"a":1},)" + state));
  expect_refused(stage, "5");
  stage.retry(6, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernCallsState, the_state_of_another_client_is_rejected_and_stays_valid_for_its_own) {
  Stage stage;
  stage.call(1, modern_meta(), 4);
  stage.ask("1");
  stage.up();
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})", modern_meta(), 5);
  expect_refused(stage, "2");
  stage.retry(3, "secret1", R"({"elicitation-1":{"action":"accept"}})", modern_meta(), 4);
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernCallsState, a_malformed_response_is_rejected_and_the_state_stays_valid) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  int id = 1;
  for (const std::string_view responses :
       {"[]", "null", "3", R"({"elicitation-1":null})", R"({"elicitation-1":[]})", R"({"elicitation-1":{}})",
        R"({"elicitation-1":{"error":{"code":1,"message":"no"}}})", R"({"elicitation-1":{"action":"maybe"}})",
        R"({"elicitation-1":{"action":"accept"},"elicitation-1":{"action":"cancel"}})",
        R"({"elicitation-1":{"action":"accept"}},"inputResponses":{})"}) {
    stage.retry(++id, "secret1", responses);
    expect_refused(stage, std::to_string(id));
  }
  stage.retry(50, "secret1", R"({"elicitation\u002d1":{"action":"accept"}})");
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernCallsState, malformed_samples_and_roots_are_rejected) {
  Stage stage;
  stage.call(1);
  stage.from_server(R"({"jsonrpc":"2.0","id":1,"method":"roots/list"})");
  stage.from_server(R"({"jsonrpc":"2.0","id":2,"method":"sampling/createMessage","params":{}})");
  stage.up();
  stage.retry(2, "secret1", R"({"roots-1":{"roots":{}}})");
  expect_refused(stage, "2");
  stage.retry(3, "secret1", R"({"roots-1":{"roots":[]}})");
  stage.up();
  stage.down();
  stage.retry(4, "secret2", R"({"sampling-2":{"role":"assistant"}})");
  expect_refused(stage, "4");
  stage.retry(5, "secret2", R"({"sampling-2":{"content":[]}})");
  EXPECT_EQ(stage.down().size(), 1U);
}

}  // namespace
}  // namespace mcpivot
