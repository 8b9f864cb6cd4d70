// How calls with rounds end, what they report in the meantime, and what bounds them.
#include <gtest/gtest.h>

#include "bridge/modern_facade_ends.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

// Progress.

TEST(ModernCallsProgress, of_a_call_in_its_first_round_passes_unchanged) {
  Stage stage;
  stage.call(1, meta_with_token(1));
  stage.from_server(progress("1", "1"));
  EXPECT_EQ(stage.up(), Lines{progress("1", "1")});
}

TEST(ModernCallsProgress, is_held_while_the_call_is_parked_and_continues_under_the_retrys_token) {
  Stage stage;
  stage.call(1, meta_with_token(1));
  stage.ask("1");
  stage.up();
  stage.from_server(progress("1", "1"));
  stage.from_server(progress("1", "2"));
  EXPECT_TRUE(stage.up().empty());
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})", meta_with_token(2));
  EXPECT_EQ(stage.up(), Lines{progress("2", "2")});
  stage.from_server(progress("1", "3"));
  EXPECT_EQ(stage.up(), Lines{progress("2", "3")});
  stage.from_server(result_answer("1", done));
  stage.up();
  stage.from_server(progress("1", "4"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernCallsProgress, is_dropped_if_the_retry_has_no_token) {
  Stage stage;
  stage.call(1, meta_with_token(1));
  stage.ask("1");
  stage.up();
  stage.from_server(progress("1", "1"));
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  stage.from_server(progress("1", "2"));
  EXPECT_TRUE(stage.up().empty());
}

// The end of calls and questions.

TEST(ModernCallsEnd, a_question_that_the_server_cancels_is_dropped_and_its_response_ignored) {
  Stage stage;
  stage.call(1);
  stage.ask(R"("a")");
  stage.ask(R"("b")");
  stage.up();
  stage.from_server(cancellation(R"("a")", ""));
  stage.from_server(cancellation(R"("b")", ""));
  EXPECT_TRUE(stage.up().empty());
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_TRUE(stage.down().empty());
  EXPECT_TRUE(stage.up().empty());
  stage.from_server(result_answer("1", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("2", done_now)});
}

TEST(ModernCallsEnd, cancelling_a_retry_cancels_the_call_by_the_servers_id) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  stage.up();
  stage.down();
  stage.from_client(cancellation("1", "that one is answered"));
  EXPECT_TRUE(stage.down().empty());
  stage.from_client(cancellation("2", "enough"));
  EXPECT_EQ(stage.down(), Lines{cancellation("1", "enough")});
  stage.from_server(result_answer("1", done));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernCallsEnd, a_parked_call_that_is_never_retried_is_cancelled_and_its_questions_answered) {
  Stage stage;
  stage.call(1);
  stage.ask(R"("a")");
  stage.from_server(R"({"jsonrpc":"2.0","id":"b","method":"roots/list"})");
  stage.up();
  stage.clock.pass(ModernFacade::usual_patience - 1ms);
  stage.facade.expire();
  EXPECT_TRUE(stage.down().empty());
  stage.clock.pass(1ms);
  stage.facade.expire();
  const Lines down = stage.down();
  ASSERT_EQ(down.size(), 3U);
  EXPECT_EQ(down[0], cancellation("1", "the client did not return with its answers"));
  EXPECT_EQ(down[1], R"({"jsonrpc":"2.0","id":"a","result":{"action":"cancel"}})");
  EXPECT_EQ(id_of(down[2]), R"("b")");
  EXPECT_EQ(error_of(down[2], "code"), "-32601");
  EXPECT_TRUE(stage.facade.idle());
  stage.from_server(result_answer("1", done));
  EXPECT_TRUE(stage.up().empty());
  stage.facade.expire();
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernCallsEnd, a_sampling_request_that_nobody_answered_fails_at_the_server) {
  Stage stage;
  stage.call(1);
  stage.from_server(R"({"jsonrpc":"2.0","id":"b","method":"sampling/createMessage","params":{}})");
  stage.up();
  stage.clock.pass(ModernFacade::usual_patience);
  stage.facade.expire();
  EXPECT_EQ(error_of(stage.down().at(1), "code"), "-32603");
}

TEST(ModernCallsEnd, a_finished_call_that_is_never_retried_is_not_cancelled) {
  Stage stage;
  stage.call(1);
  stage.ask(R"("a")");
  stage.from_server(result_answer("1", done));
  stage.clock.pass(ModernFacade::usual_patience);
  stage.facade.expire();
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":"a","result":{"action":"cancel"}})"});
}

TEST(ModernCallsEnd, each_round_has_its_own_time_limit) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.clock.pass(ModernFacade::usual_patience - 1ms);
  stage.retry(2, "secret1");
  stage.clock.pass(ModernFacade::usual_patience - 1ms);
  stage.facade.expire();
  EXPECT_TRUE(stage.down().empty());
  EXPECT_FALSE(stage.facade.idle());
}

TEST(ModernCallsEnd, the_retry_of_a_lost_parked_call_gets_an_error) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.up();
  EXPECT_EQ(stage.facade.lost("1"), "");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "2");
  EXPECT_EQ(error_of(up[0], "code"), "-32603");
}

TEST(ModernCallsEnd, the_loss_of_a_call_in_its_second_round_is_reported_by_the_retrys_id) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_EQ(stage.facade.lost("1"), "2");
}

// Bounds.

TEST(ModernCallsBounds, the_client_with_the_most_parked_calls_loses_one_first) {
  Stage stage;
  stage.call(1, modern_meta(), 2);
  stage.ask(R"("q1")");
  for (int id = 2; id <= 66; ++id) {
    stage.call(id);
    stage.ask(fmt::format(R"("q{}")", id));
  }
  EXPECT_TRUE(stage.facade.has_parked(R"("secret1")")) << "the only one of its client";
  EXPECT_FALSE(stage.facade.has_parked(R"("secret2")"));
  EXPECT_FALSE(stage.facade.has_parked(R"("secret3")"));
  EXPECT_TRUE(stage.facade.has_parked(R"("secret4")"));
}

TEST(ModernCallsBounds, at_most_64_calls_are_parked_and_the_oldest_is_dropped) {
  Stage stage;
  for (int id = 1; id <= 64; ++id) {
    stage.call(id);
    stage.ask(std::to_string(id));
  }
  EXPECT_TRUE(stage.down().empty());
  stage.retry(100, "secret1");  // asked again: now the second is the oldest
  stage.call(65);
  stage.ask("65");
  const Lines down = stage.down();
  ASSERT_EQ(down.size(), 2U);
  EXPECT_EQ(down[0], cancellation("2", "the client did not return with its answers"));
  EXPECT_EQ(down[1], R"({"jsonrpc":"2.0","id":2,"result":{"action":"cancel"}})");
}

TEST(ModernCallsBounds, at_most_32_questions_wait_for_one_call) {
  Stage stage;
  stage.call(1);
  for (int id = 1; id <= 32; ++id) stage.ask(std::to_string(id));
  EXPECT_TRUE(stage.down().empty());
  stage.ask("33");
  const Lines down = stage.down();
  ASSERT_EQ(down.size(), 1U);
  EXPECT_EQ(id_of(down[0]), "33");
  EXPECT_EQ(error_of(down[0], "code"), "-32603");
}

TEST(ModernCallsBounds, endless_questions_take_one_round_each_and_can_be_cancelled) {
  Stage stage;
  stage.call(1);
  int id = 1;
  for (int round = 1; round <= 200; ++round) {
    stage.ask(std::to_string(round));
    EXPECT_EQ(id_of(stage.up().at(0)), std::to_string(id));
    stage.retry(++id, fmt::format("secret{}", round),
                fmt::format(R"({{"elicitation-{}":{}}})", round, accepted));
    EXPECT_EQ(stage.down().size(), 1U);
  }
  stage.from_client(cancellation(std::to_string(id), "enough"));
  EXPECT_EQ(stage.down(), Lines{cancellation("1", "enough")});
}

TEST(ModernCallsBounds, a_question_repeated_under_the_same_id_is_asked_once) {
  Stage stage;
  stage.call(1);
  stage.ask("1");
  stage.ask("1");
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_EQ(stage.down().size(), 1U);
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCallsBounds, a_question_nested_too_deeply_for_a_result_is_rejected) {
  Stage stage;
  stage.call(1);
  const std::string deep = std::string(1021, '[') + std::string(1021, ']');
  stage.ask("1", R"({"x":)" + deep + "}");
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32602");
}

// -32042.

constexpr std::string_view urls =
    R"({"jsonrpc":"2.0","id":1,"error":{"code":-32042,"message":"first","data":{"elicitations":[{"mode":"url","elicitationId":"e","url":"https://a","message":"A"},{"url":"https://b","message":"B"}]}}})";

TEST(ModernCallsUrls, a_url_elicitation_error_becomes_questions_and_the_retry_a_new_call) {
  Stage stage;
  stage.call(1);
  stage.from_server(std::string(urls));
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(
      up[0],
      R"({"jsonrpc":"2.0","id":1,"result":{"resultType":"input_required","inputRequests":{"elicitation-1":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e","url":"https://a","message":"A"}},"elicitation-2":{"method":"elicitation/create","params":{"mode":"url","url":"https://b","message":"B"}}},"requestState":"secret1"}})");
  stage.from_server(result_answer("1", done));
  stage.ask("7");  // its call is gone
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32601");

  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"}})");
  EXPECT_TRUE(stage.down().empty());
  EXPECT_NE(result_of(stage.up().at(0), "inputRequests").find("https://b"), std::string::npos);
  stage.retry(3, "secret2", R"({"elicitation-2":{"action":"accept"}})");
  EXPECT_EQ(stage.down(), Lines{modern_request("3", "tools/call", R"("name":"t","arguments":{"a":1})")});
  stage.from_server(result_answer("3", done));
  EXPECT_EQ(stage.up(), Lines{result_answer("3", done_now)});
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCallsUrls, a_user_who_declines_ends_the_call) {
  Stage stage;
  stage.call(1);
  stage.from_server(std::string(urls));
  stage.up();
  stage.retry(2, "secret1", R"({"elicitation-1":{"action":"accept"},"elicitation-2":{"action":"decline"}})");
  EXPECT_TRUE(stage.down().empty());
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "2");
  EXPECT_EQ(result_of(up[0], "isError"), "true");
  EXPECT_EQ(result_of(up[0], "resultType"), R"("complete")");
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCallsUrls, a_user_who_declines_ends_a_read_with_an_error) {
  Stage stage;
  stage.from_client(modern_request("1", "resources/read", R"("uri":"a")"));
  stage.from_server(std::string(urls));
  stage.up();
  stage.down();
  stage.from_client(modern_request(
      "2", "resources/read",
      R"("uri":"a","requestState":"secret1","inputResponses":{"elicitation-1":{"action":"cancel"}})"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32603");
}

TEST(ModernCallsUrls, a_client_without_url_mode_is_told_which_capability_is_missing) {
  Stage stage;
  stage.call(1, modern_meta(R"({"elicitation":{"form":{}}})"));
  stage.from_server(std::string(urls));
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "1");
  EXPECT_EQ(error_of(up[0], "code"), "-32021");
  EXPECT_EQ(error_of(up[0], "data"), R"({"requiredCapabilities":{"elicitation":{"url":{}}}})");
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernCallsUrls, the_legacy_error_code_is_never_forwarded) {
  Stage stage;
  for (const std::string_view data :
       {"", R"(,"data":{})", R"(,"data":{"elicitations":[]})",
        R"(,"data":{"elicitations":[{"mode":"form","url":"a"}]})", R"(,"data":{"elicitations":[3]})"}) {
    stage.call(1);
    stage.from_server(
        fmt::format(R"({{"jsonrpc":"2.0","id":1,"error":{{"code":-32042,"message":"m"{}}}}})", data));
    EXPECT_EQ(
        stage.up(),
        Lines{fmt::format(R"({{"jsonrpc":"2.0","id":1,"error":{{"code":-32603,"message":"m"{}}}}})", data)});
  }
  stage.from_client(modern_request("1", "tools/list"));
  stage.from_server(std::string(urls));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32603");
}

TEST(ModernCallsUrls, nothing_is_cancelled_at_the_server_if_no_retry_comes) {
  Stage stage;
  stage.call(1);
  stage.from_server(std::string(urls));
  stage.clock.pass(ModernFacade::usual_patience);
  stage.facade.expire();
  EXPECT_TRUE(stage.down().empty());
  EXPECT_TRUE(stage.facade.idle());
}

}  // namespace
}  // namespace mcpivot
