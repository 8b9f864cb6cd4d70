// What a modern client sees of a legacy server, except for the rounds of its calls (modern_calls_test.cpp).
#include "bridge/modern_facade.h"

#include <gtest/gtest.h>

#include "bridge/modern_facade_ends.h"
#include "mcp/era.h"
#include "rpc/answers.h"

namespace mcpivot {
namespace {

std::string answer(std::string_view id, std::string_view result) {
  return result_answer(id, result);
}

TEST(ModernFacade, discover_initializes_the_server_and_returns_what_it_said) {
  Stage stage("");
  stage.from_client(modern_request(
      "1", "server/discover", "",
      modern_meta(R"({"roots":{}})", R"(,"io.modelcontextprotocol/clientInfo":{"name":"c","version":"2"})")));
  EXPECT_EQ(
      stage.down(),
      Lines{
          R"({"jsonrpc":"2.0","id":"mcpivot-initialize-1","method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"roots":{}},"clientInfo":{"name":"c","version":"2"}}})"});
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(stage.facade.initialize_result(), "");
  stage.from_server(answer(R"("mcpivot-initialize-1")", able_server));
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","method":"notifications/initialized"})"});
  EXPECT_EQ(stage.up(), Lines{answer("1", discover_result_of(able_server))});
  EXPECT_EQ(stage.facade.initialize_result(), able_server);
}

TEST(ModernFacade, a_second_discover_is_answered_without_asking_the_server) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_client(modern_request("2", "server/discover"));
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_server(answer(R"("mcpivot-initialize-1")", able_server));
  EXPECT_EQ(stage.up(), (Lines{answer("1", discover_result_of(able_server)),
                               answer("2", discover_result_of(able_server))}));
  stage.down();
  stage.from_client(modern_request("3", "server/discover"));
  EXPECT_EQ(stage.up(), Lines{answer("3", discover_result_of(able_server))});
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernFacade, a_server_that_rejects_initialize_is_quoted_and_may_be_asked_again) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_server(error_answer(R"("mcpivot-initialize-1")", -32602, "only on \"Mondays\""));
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "1");
  EXPECT_EQ(error_of(up[0], "message"),
            R"x("the server rejected `initialize`: only on \"Mondays\" (code -32602)")x");
  stage.down();
  stage.from_client(modern_request("2", "server/discover"));
  ASSERT_EQ(stage.ends.down.size(), 1U);
  EXPECT_EQ(id_of(stage.ends.down[0]), R"("mcpivot-initialize-2")");
  stage.from_server(answer(R"("mcpivot-initialize-2")", "null"));
  EXPECT_EQ(error_of(stage.up()[0], "code"), "-32603");
}

TEST(ModernFacade, a_request_before_any_discover_waits_until_the_server_is_initialized) {
  Stage stage("");
  const std::string list = modern_request("4", "tools/list");
  stage.from_client(list);
  stage.from_client(modern_request("5", "tools/list"));
  stage.from_client(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5}})");
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_server(answer(R"("mcpivot-initialize-1")", able_server));
  EXPECT_EQ(stage.down(), (Lines{R"({"jsonrpc":"2.0","method":"notifications/initialized"})", list}));
}

TEST(ModernFacade, a_lost_initialize_is_reported_and_leaves_no_request_waiting) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_client(modern_request("2", "tools/list"));
  EXPECT_EQ(stage.facade.lost(R"("mcpivot-initialize-1")"), "1");
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "2");
  EXPECT_EQ(error_of(up[0], "code"), "-32603");
}

TEST(ModernFacade, a_handshake_by_the_core_also_answers_discover) {
  Stage stage("");
  const std::string hello = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
  stage.from_client(hello);
  EXPECT_EQ(stage.down(), Lines{hello});
  stage.from_server(answer("1", able_server));
  EXPECT_EQ(stage.up(), Lines{answer("1", able_server)});
  stage.from_client(modern_request("2", "server/discover"));
  EXPECT_EQ(stage.up(), Lines{answer("2", discover_result_of(able_server))});
}

TEST(ModernFacade, modern_requests_reach_the_server_unchanged) {
  Stage stage;
  for (const std::string_view method : {"tools/list", "tools/call", "completion/complete", "x/unknown"}) {
    const std::string line = modern_request("1", method, R"("name" : "t", "arguments":{"requestState":1})",
                                            modern_meta("{}", R"(, "x/y":1e2)"));
    stage.from_client(line);
    EXPECT_EQ(stage.down(), Lines{line});
    stage.from_server(answer("1", "{}"));
    stage.up();
  }
}

TEST(ModernFacade, members_about_rounds_never_reach_the_server) {
  Stage stage;
  int id = 0;
  const auto sent = [&](std::string_view params) {
    ++id;
    stage.from_client(
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{{}}}}})", id, params));
    const Lines down = stage.down();
    EXPECT_EQ(down.size(), 1U);
    const Message message = *read_message(down.at(0));
    return std::string(message.text(message.params));
  };
  const std::string meta = R"("_meta":)" + modern_meta();
  EXPECT_EQ(sent(R"("inputResponses":{},)" + meta), "{" + meta + "}");
  EXPECT_EQ(sent(R"( "inputResponses":{} , "task":{} , )" + meta), "{ " + meta + "}");
  EXPECT_EQ(sent(meta + R"( , "inputResponses":{} )"), "{" + meta + " }");
  EXPECT_EQ(sent(meta + R"(,"inputResponses":{},"input\u0052esponses":[],"name":"t","task":{"ttl":1})"),
            "{" + meta + R"(,"name":"t"})");
  EXPECT_EQ(sent(R"("name":"t","inputResponses":{},)" + meta), R"({"name":"t",)" + meta + "}");
}

TEST(ModernFacade, the_generations_edits_are_combined_with_the_facades) {
  Stage stage;
  const std::string line =
      R"({"jsonrpc":"2.0","id":"c","method":"tools/call","params":{"inputResponses":{},"name":"s__t","_meta":)" +
      modern_meta("{}", R"(,"progressToken":"p")") + "}}";
  const Message message = *read_message(line);
  Edits edits;
  edits.replace(message.id, "7").replace(message.name, R"("t")").replace(message.progress_token, "7");
  stage.facade.from_client(message, edits.list());
  EXPECT_EQ(stage.down(),
            Lines{R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","_meta":)" +
                  modern_meta("{}", R"(,"progressToken":7)") + "}}"});
  stage.from_server(answer("7", R"({"content":[]})"));
  EXPECT_EQ(stage.up(), Lines{answer("7", R"({"resultType":"complete","content":[]})")});
}

TEST(ModernFacade, legacy_requests_and_their_responses_pass_untouched) {
  Stage stage;
  const std::string request =
      R"({"jsonrpc":"2.0","id":3,"method":"resources/read","params":{"uri":"a","requestState":1}})";
  stage.from_client(request);
  EXPECT_EQ(stage.down(), Lines{request});
  for (
      const std::string& line :
      {answer("3", R"({"contents":[]})"), error_answer("3", -32002, "no"), error_answer("", -32700, "what?"),
       std::string(
           R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":99,"progress":1}})"),
       std::string(R"({"jsonrpc":"2.0","method":"notifications/x"})")}) {
    stage.from_server(line);
    EXPECT_EQ(stage.up(), Lines{line});
  }
  for (const std::string& line :
       {answer(R"("q")", "{}"), std::string(R"({"jsonrpc":"2.0","method":"notifications/x"})"),
        cancellation("98", "no")}) {
    stage.from_client(line);
    EXPECT_EQ(stage.down(), Lines{line});
  }
}

TEST(ModernFacade, responses_get_a_result_type_and_otherwise_keep_their_bytes) {
  Stage stage;
  const auto becomes = [&](std::string_view method, std::string_view result) {
    stage.from_client(modern_request("1", method));
    stage.from_server(answer("1", result));
    const Lines up = stage.up();
    EXPECT_EQ(up.size(), 1U);
    const Message message = *read_message(up.at(0));
    return std::string(message.text(message.result));
  };
  EXPECT_EQ(becomes("tools/call", R"({ "content" : [1.0e1] })"),
            R"({"resultType":"complete", "content" : [1.0e1] })");
  EXPECT_EQ(becomes("x/y", "{}"), R"({"resultType":"complete"})");
  EXPECT_EQ(becomes("x/y", "{ }"), R"({"resultType":"complete" })");
  EXPECT_EQ(becomes("completion/complete", R"({"completion":{"resultType":"x"}})"),
            R"({"resultType":"complete","completion":{"resultType":"x"}})");
}

TEST(ModernFacade, the_servers_own_result_type_is_replaced) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/call"));
  stage.from_server(
      answer("1", R"({"a":1,"resultType" : "input_required","inputRequests":{},"result\u0054ype":3})"));
  EXPECT_EQ(
      stage.up(),
      Lines{answer("1",
                   R"({"a":1,"resultType" : "complete","inputRequests":{},"result\u0054ype":"complete"})")});
}

TEST(ModernFacade, lists_and_read_resources_say_how_long_they_may_be_cached) {
  Stage stage;
  for (const std::string_view method :
       {"tools/list", "prompts/list", "resources/list", "resources/templates/list", "resources/read"}) {
    stage.from_client(modern_request("1", method));
    stage.from_server(answer("1", R"({"x":[]})"));
    EXPECT_EQ(stage.up(),
              Lines{answer("1", R"({"resultType":"complete","ttlMs":0,"cacheScope":"private","x":[]})")});
  }
  stage.from_client(modern_request("1", "resources/read"));
  stage.from_server(answer("1", R"({"contents":[],"ttlMs":5,"cacheScope":"public"})"));
  EXPECT_EQ(stage.up(),
            Lines{answer("1", R"({"resultType":"complete","contents":[],"ttlMs":5,"cacheScope":"public"})")});
  stage.from_client(modern_request("1", "resources/read"));
  stage.from_server(answer("1", R"({"contents":[],"ttlMs":5})"));
  EXPECT_EQ(
      stage.up(),
      Lines{answer("1", R"({"resultType":"complete","cacheScope":"private","contents":[],"ttlMs":5})")});
}

TEST(ModernFacade, a_result_that_is_not_an_object_becomes_an_error) {
  Stage stage;
  for (const std::string_view result : {"null", "[]", "3", R"("x")"}) {
    stage.from_client(modern_request("1", "tools/list"));
    stage.from_server(answer("1", result));
    const Lines up = stage.up();
    ASSERT_EQ(up.size(), 1U);
    EXPECT_EQ(error_of(up[0], "code"), "-32603");
  }
}

TEST(ModernFacade, only_resource_not_found_gets_another_error_code) {
  Stage stage;
  stage.from_client(modern_request("1", "resources/read", R"("uri":"a")"));
  stage.from_server(
      R"({"jsonrpc":"2.0","id":1,"error":{"message":"no -32002","code" : -32002, "data":{"uri":"a"}}})");
  EXPECT_EQ(
      stage.up(),
      Lines{
          R"({"jsonrpc":"2.0","id":1,"error":{"message":"no -32002","code" : -32602, "data":{"uri":"a"}}})"});
  for (const int code : {-32601, -32000, -1, 5}) {
    stage.from_client(modern_request("1", "resources/read", R"("uri":"a")"));
    stage.from_server(error_answer("1", code, "no"));
    EXPECT_EQ(stage.up(), Lines{error_answer("1", code, "no")});
  }
}

TEST(ModernFacade, a_second_response_is_dropped) {
  Stage stage;
  stage.call(1);
  stage.from_server(answer("1", "{}"));
  EXPECT_EQ(stage.up().size(), 1U);
  stage.from_server(answer("1", "{}"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_response_to_an_unknown_request_is_dropped) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_server(answer("1", "{}"));
  EXPECT_TRUE(stage.up().empty());
  stage.from_server(answer(R"("mcpivot-initialize-1")", able_server));
  stage.from_client(modern_request("2", "ping"));
  stage.from_client(modern_request("3", "subscriptions/listen", R"("notifications":{})"));
  stage.up();
  for (const std::string_view id : {"1", "2", "3"}) stage.from_server(answer(id, "{}"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_waiting_request_may_be_cancelled_while_others_are_being_answered) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_client(modern_request("2", "tools/list"));
  stage.down();
  stage.ends.on_up = [&](const std::string&) { stage.from_client(cancellation("2", "")); };
  stage.from_server(answer(R"("mcpivot-initialize-1")", able_server));
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","method":"notifications/initialized"})"});
}

TEST(ModernFacade, the_generation_may_send_a_request_while_it_receives_a_response) {
  Stage stage;
  stage.call(1);
  stage.ends.on_up = [&](const std::string&) {
    stage.ends.on_up = nullptr;
    stage.call(2);
    stage.ask("1");
  };
  stage.from_server(answer("1", "{}"));
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 2U);
  EXPECT_EQ(id_of(up[1]), "2");
  EXPECT_EQ(result_of(up[1], "resultType"), R"("input_required")");
}

TEST(ModernFacade, methods_that_the_modern_era_lacks_are_unknown) {
  Stage stage;
  for (const std::string_view method : {"ping", "initialize", "logging/setLevel", "resources/subscribe",
                                        "resources/unsubscribe", "tasks/get", "tasks/list"}) {
    stage.from_client(modern_request("1", method));
    const Lines up = stage.up();
    ASSERT_EQ(up.size(), 1U) << method;
    EXPECT_EQ(error_of(up[0], "code"), "-32601") << method;
  }
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernFacade, a_ping_from_the_server_is_answered_and_unknown_requests_are_rejected) {
  Stage stage;
  stage.from_server(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":"p","result":{}})"});
  stage.call(1);
  stage.from_server(R"({"jsonrpc":"2.0","id":9,"method":"x/y","params":[1]})");
  EXPECT_EQ(stage.down(), Lines{error_answer("9", -32601, R"(clients have no method "x/y")")});
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_cancellation_reaches_the_server_and_the_late_response_is_dropped) {
  Stage stage;
  stage.call(1);
  stage.from_client(cancellation("1", "enough"));
  EXPECT_EQ(stage.down(), Lines{cancellation("1", "enough")});
  stage.from_server(answer("1", "{}"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_lost_request_is_reported_by_its_id_and_the_facades_own_are_not) {
  Stage stage;
  stage.call(1);
  EXPECT_EQ(stage.facade.lost("1"), "1");
  EXPECT_EQ(stage.facade.lost("1"), "");
  EXPECT_EQ(stage.facade.lost("77"), "77");
  EXPECT_EQ(stage.facade.lost(R"("mcpivot-level-1")"), "");
}

// Log messages.

std::string log_message(std::string_view level, std::string_view data = R"("text")") {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/message","params":{{"level":"{}","logger":"db","data":{}}}}})",
      level, data);
}
std::string meta_with_level(std::string_view level) {
  return modern_meta(everything, fmt::format(R"(,"io.modelcontextprotocol/logLevel":"{}")", level));
}

TEST(ModernFacadeLogs, a_request_that_wants_logs_sets_the_level_first_if_it_is_more_verbose) {
  Stage stage;
  const std::string line = modern_request("1", "tools/call", "", meta_with_level("warning"));
  stage.from_client(line);
  EXPECT_EQ(
      stage.down(),
      (Lines{
          R"({"jsonrpc":"2.0","id":"mcpivot-level-1","method":"logging/setLevel","params":{"level":"warning"}})",
          line}));
  stage.from_server(answer(R"("mcpivot-level-1")", "{}"));
  EXPECT_TRUE(stage.up().empty());
  stage.from_client(modern_request("2", "tools/list", "", meta_with_level("error")));
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_client(modern_request("6", "tools/list", "", meta_with_level("warning")));
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_client(modern_request("3", "tools/list", "", meta_with_level("debug")));
  EXPECT_EQ(stage.down().size(), 2U);
  stage.from_client(R"({"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"alert"}})");
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_client(modern_request("5", "tools/list", "", meta_with_level("error")));
  EXPECT_EQ(stage.down().size(), 2U);
}

TEST(ModernFacadeLogs, a_server_without_logging_is_not_sent_a_level) {
  Stage stage(R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  stage.from_client(modern_request("1", "tools/call", "", meta_with_level("debug")));
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernFacadeLogs, an_unknown_level_is_rejected) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/call", "", meta_with_level("loud")));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernFacadeLogs, a_message_is_forwarded_only_if_exactly_one_open_request_asked_for_its_level) {
  Stage stage;
  stage.from_server(log_message("error"));
  stage.call(1);
  stage.from_server(log_message("error"));
  stage.call(2, meta_with_level("warning"));
  stage.from_server(log_message("info"));
  stage.from_server(log_message("loud"));
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(std::exchange(stage.ends.logs, {}),
            (Lines{"[error] db: text", "[error] db: text", "[info] db: text", "[loud] db: text"}));
  stage.from_server(log_message("warning"));
  EXPECT_EQ(stage.up(), Lines{log_message("warning")});
  stage.call(3, meta_with_level("debug"));
  stage.from_server(log_message("warning", R"({"a":1})"));
  EXPECT_TRUE(stage.up().empty());
  stage.from_server(answer("2", "{}"));
  stage.up();
  stage.from_server(log_message("debug"));
  EXPECT_EQ(stage.up(), Lines{log_message("debug")});
  EXPECT_EQ(stage.ends.logs, Lines{R"([warning] db: {"a":1})"});
}

TEST(ModernFacadeLogs, a_parked_request_gets_no_log_messages) {
  Stage stage;
  stage.call(1, meta_with_level("debug"));
  stage.ask("1");
  stage.up();
  stage.from_server(log_message("error", R"("two\nlines")"));
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(stage.ends.logs, Lines{"[error] db: two lines"});
}

// Legacy clients at the same server.

TEST(ModernFacadeNeighbours, a_question_during_a_legacy_clients_call_goes_to_that_client) {
  Stage stage;
  stage.from_client(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}})");
  stage.down();
  const std::string question = R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})";
  stage.from_server(question);
  EXPECT_EQ(stage.up(), Lines{question});
  stage.from_server(cancellation(R"("q")", ""));
  EXPECT_EQ(stage.up(), Lines{cancellation(R"("q")", "")});
  stage.from_server(answer("1", "{}"));
  EXPECT_EQ(stage.up(), Lines{answer("1", "{}")});
  stage.from_server(question);
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32601");
}

TEST(ModernFacadeNeighbours, a_question_from_before_the_bridge_can_be_withdrawn) {
  Stage stage;
  stage.from_server(cancellation(R"("q")", ""));
  EXPECT_EQ(stage.up(), Lines{cancellation(R"("q")", "")});
  stage.from_server(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
  EXPECT_TRUE(stage.up().empty());
}

}  // namespace
}  // namespace mcpivot
