// What a modern client sees of a legacy server, but for the rounds of its calls (modern_calls_test.cpp).
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

TEST(ModernFacade, discover_initializes_the_server_and_is_answered_with_what_it_said) {
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

TEST(ModernFacade, a_second_discover_is_answered_from_what_is_known) {
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

TEST(ModernFacade, a_server_that_refuses_initialize_is_quoted_and_may_be_asked_again) {
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

TEST(ModernFacade, a_lost_initialize_is_told_of_and_does_not_leave_the_others_waiting) {
  Stage stage("");
  stage.from_client(modern_request("1", "server/discover"));
  stage.from_client(modern_request("2", "tools/list"));
  EXPECT_EQ(stage.facade.lost(R"("mcpivot-initialize-1")"), "1");
  const Lines up = stage.up();
  ASSERT_EQ(up.size(), 1U);
  EXPECT_EQ(id_of(up[0]), "2");
  EXPECT_EQ(error_of(up[0], "code"), "-32603");
}

TEST(ModernFacade, it_learns_from_a_handshake_of_the_core) {
  Stage stage("");
  const std::string hello = R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})";
  stage.from_client(hello);
  EXPECT_EQ(stage.down(), Lines{hello});
  stage.from_server(answer("1", able_server));
  EXPECT_EQ(stage.up(), Lines{answer("1", able_server)});
  stage.from_client(modern_request("2", "server/discover"));
  EXPECT_EQ(stage.up(), Lines{answer("2", discover_result_of(able_server))});
}

TEST(ModernFacade, modern_requests_go_down_as_they_are) {
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

TEST(ModernFacade, what_concerns_rounds_never_reaches_the_server) {
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

TEST(ModernFacade, the_generations_edits_are_made_along_with_its_own) {
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

TEST(ModernFacade, legacy_requests_and_their_answers_pass_untouched) {
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

TEST(ModernFacade, answers_get_a_result_type_and_are_else_the_same_bytes) {
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

TEST(ModernFacade, a_result_type_of_the_servers_own_is_replaced) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/call"));
  stage.from_server(
      answer("1", R"({"a":1,"resultType" : "input_required","inputRequests":{},"result\u0054ype":3})"));
  EXPECT_EQ(
      stage.up(),
      Lines{answer("1",
                   R"({"a":1,"resultType" : "complete","inputRequests":{},"result\u0054ype":"complete"})")});
}

TEST(ModernFacade, lists_and_read_resources_say_how_long_they_may_be_kept) {
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

TEST(ModernFacade, a_result_that_is_no_object_becomes_an_error) {
  Stage stage;
  for (const std::string_view result : {"null", "[]", "3", R"("x")"}) {
    stage.from_client(modern_request("1", "tools/list"));
    stage.from_server(answer("1", result));
    const Lines up = stage.up();
    ASSERT_EQ(up.size(), 1U);
    EXPECT_EQ(error_of(up[0], "code"), "-32603");
  }
}

TEST(ModernFacade, resource_not_found_gets_the_modern_code_and_other_errors_pass) {
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

TEST(ModernFacade, a_second_answer_reaches_nobody) {
  Stage stage;
  stage.call(1);
  stage.from_server(answer("1", "{}"));
  EXPECT_EQ(stage.up().size(), 1U);
  stage.from_server(answer("1", "{}"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, the_generation_may_ask_the_next_thing_while_it_gets_an_answer) {
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

TEST(ModernFacade, what_the_modern_era_does_not_have_is_an_unknown_method) {
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

TEST(ModernFacade, a_ping_of_the_server_is_answered_here_and_unknown_requests_are_refused) {
  Stage stage;
  stage.from_server(R"({"jsonrpc":"2.0","id":"p","method":"ping"})");
  EXPECT_EQ(stage.down(), Lines{R"({"jsonrpc":"2.0","id":"p","result":{}})"});
  stage.call(1);
  stage.from_server(R"({"jsonrpc":"2.0","id":9,"method":"x/y","params":[1]})");
  EXPECT_EQ(stage.down(), Lines{error_answer("9", -32601, R"(clients know no method "x/y")")});
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_cancellation_reaches_the_server_and_the_late_answer_reaches_nobody) {
  Stage stage;
  stage.call(1);
  stage.from_client(cancellation("1", "enough"));
  EXPECT_EQ(stage.down(), Lines{cancellation("1", "enough")});
  stage.from_server(answer("1", "{}"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacade, a_lost_request_is_known_by_its_id_and_one_of_its_own_by_none) {
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
  stage.from_client(modern_request("3", "tools/list", "", meta_with_level("debug")));
  EXPECT_EQ(stage.down().size(), 2U);
  stage.from_client(R"({"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"alert"}})");
  EXPECT_EQ(stage.down().size(), 1U);
  stage.from_client(modern_request("5", "tools/list", "", meta_with_level("error")));
  EXPECT_EQ(stage.down().size(), 2U);
}

TEST(ModernFacadeLogs, a_server_without_logging_is_not_told_a_level) {
  Stage stage(R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  stage.from_client(modern_request("1", "tools/call", "", meta_with_level("debug")));
  EXPECT_EQ(stage.down().size(), 1U);
}

TEST(ModernFacadeLogs, an_unknown_level_is_refused) {
  Stage stage;
  stage.from_client(modern_request("1", "tools/call", "", meta_with_level("loud")));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernFacadeLogs, a_message_goes_up_only_if_exactly_one_open_request_asked_for_its_level) {
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

TEST(ModernFacadeLogs, a_parked_request_gets_none) {
  Stage stage;
  stage.call(1, meta_with_level("debug"));
  stage.ask("1");
  stage.up();
  stage.from_server(log_message("error", R"("two\nlines")"));
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(stage.ends.logs, Lines{"[error] db: two lines"});
}

// Listens.

std::string changed(std::string_view what) {
  return fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed"}})", what);
}
std::string tagged(std::string_view what, int id) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/{}/list_changed","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}}}}}})",
      what, id);
}
std::string updated(std::string_view uri) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"uri":"{}"}}}})", uri);
}
std::string updated_for(std::string_view uri, int id) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"uri":"{}"}}}})",
      id, uri);
}
std::string listen(std::string_view id, std::string_view filter) {
  return modern_request(id, "subscriptions/listen", fmt::format(R"("notifications":{})", filter));
}
std::string acknowledged(int id, std::string_view filter) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{}}},"notifications":{}}}}})",
      id, filter);
}
std::string subscription(int number, std::string_view verb, std::string_view uri) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":"mcpivot-subscription-{}","method":"resources/{}","params":{{"uri":"{}"}}}})",
      number, verb, uri);
}

TEST(ModernFacadeListens, a_listen_is_acknowledged_first_and_then_its_resources_are_subscribed_to) {
  Stage stage;
  Lines before;
  stage.ends.on_up = [&](const std::string&) { before = stage.ends.down; };
  stage.from_client(listen(
      "5",
      R"({"toolsListChanged":true,"promptsListChanged":false,"resourceSubscriptions":["a","b","a",3]})"));
  EXPECT_EQ(stage.up(),
            Lines{acknowledged(5, R"({"toolsListChanged":true,"resourceSubscriptions":["a","b"]})")});
  EXPECT_TRUE(before.empty());
  EXPECT_EQ(stage.down(), (Lines{subscription(1, "subscribe", "a"), subscription(2, "subscribe", "b")}));
  stage.from_server(answer(R"("mcpivot-subscription-1")", "{}"));
  stage.from_server(error_answer(R"("mcpivot-subscription-2")", -32602, "no"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacadeListens, what_the_server_cannot_do_is_not_acknowledged) {
  Stage stage(
      R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{},"prompts":{"listChanged":true},"resources":{"subscribe":false}}})");
  stage.from_client(listen(
      "5",
      R"({"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["a"]})"));
  EXPECT_EQ(stage.up(), Lines{acknowledged(5, R"({"promptsListChanged":true})")});
  EXPECT_TRUE(stage.down().empty());
}

TEST(ModernFacadeListens, a_change_goes_up_once_for_each_listen_that_wants_it_with_its_id) {
  Stage stage;
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.from_client(listen("6", R"({"toolsListChanged":true,"promptsListChanged":true})"));
  stage.up();
  stage.from_server(changed("tools"));
  EXPECT_EQ(stage.up(), (Lines{tagged("tools", 5), tagged("tools", 6)}));
  stage.from_server(changed("prompts"));
  EXPECT_EQ(stage.up(), Lines{tagged("prompts", 6)});
}

TEST(ModernFacadeListens, a_change_of_a_list_that_nobody_listens_for_passes_as_it_is) {
  Stage stage;
  stage.from_server(changed("tools"));
  EXPECT_EQ(stage.up(), Lines{changed("tools")});
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.up();
  stage.from_server(changed("resources"));
  EXPECT_EQ(stage.up(), Lines{changed("resources")});
}

TEST(ModernFacadeListens, the_id_is_added_to_a_meta_that_is_there) {
  Stage stage;
  stage.from_client(listen("5", R"({"toolsListChanged":true})"));
  stage.up();
  const auto becomes = [&](std::string_view params) {
    stage.from_server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{}}})", params));
    const Lines up = stage.up();
    EXPECT_EQ(up.size(), 1U);
    const Message message = *read_message(up.at(0));
    return std::string(message.text(message.params));
  };
  const std::string id = R"("io.modelcontextprotocol/subscriptionId":5)";
  EXPECT_EQ(becomes("{}"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({ "x":1})"), R"({"_meta":{)" + id + R"(}, "x":1})");
  EXPECT_EQ(becomes(R"({"_meta":{"a":1}})"), R"({"_meta":{)" + id + R"(,"a":1}})");
  EXPECT_EQ(becomes(R"({"_meta":{ }})"), R"({"_meta":{)" + id + " }}");
  EXPECT_EQ(becomes(R"({"_meta":null})"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({"_meta":{"io.modelcontextprotocol/subscriptionId":"x","b":2}})"),
            R"({"_meta":{)" + id + R"(,"b":2}})");
  EXPECT_EQ(becomes(R"([1])"), R"({"_meta":{)" + id + "}}");
  EXPECT_EQ(becomes(R"({"_META":{}})"), R"({"_meta":{)" + id + "}}");
}

TEST(ModernFacadeListens, an_update_goes_to_those_who_listen_for_that_resource_or_what_holds_it) {
  Stage stage;
  stage.from_server(updated("f:/a"));
  EXPECT_TRUE(stage.up().empty());
  stage.from_client(listen("5", R"({"resourceSubscriptions":["f:/a","f:/c"]})"));
  stage.from_client(listen("6", R"({"resourceSubscriptions":["f:\/a"]})"));
  stage.up();
  stage.from_server(updated("f:/a"));
  EXPECT_EQ(stage.up(), (Lines{updated_for("f:/a", 5), updated_for("f:/a", 6)}));
  stage.from_server(updated("f:/c/d"));
  EXPECT_EQ(stage.up(), Lines{updated_for("f:/c/d", 5)});
  stage.from_server(updated("f:/cd"));
  EXPECT_TRUE(stage.up().empty());
}

TEST(ModernFacadeListens, a_cancelled_listen_has_no_answer_and_the_last_one_for_a_resource_unsubscribes) {
  Stage stage;
  stage.from_client(listen("5", R"({"resourceSubscriptions":["a","b"]})"));
  stage.from_client(listen("6", R"({"resourceSubscriptions":["a"]})"));
  stage.up();
  EXPECT_EQ(stage.down().size(), 2U);
  stage.from_client(cancellation("5", ""));
  EXPECT_EQ(stage.down(), Lines{subscription(3, "unsubscribe", "b")});
  stage.from_client(cancellation("6", ""));
  EXPECT_EQ(stage.down(), Lines{subscription(4, "unsubscribe", "a")});
  EXPECT_TRUE(stage.up().empty());
  EXPECT_TRUE(stage.facade.idle());
}

TEST(ModernFacadeListens, a_listen_without_a_filter_is_refused) {
  Stage stage;
  stage.from_client(modern_request("5", "subscriptions/listen"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
  stage.from_client(listen("6", "[]"));
  EXPECT_EQ(error_of(stage.up().at(0), "code"), "-32602");
}

// Legacy clients at the same server.

TEST(ModernFacadeNeighbours, a_question_during_a_legacy_clients_call_is_its_own) {
  Stage stage;
  stage.from_client(R"({"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"t"}})");
  stage.down();
  const std::string question = R"({"jsonrpc":"2.0","id":"q","method":"roots/list"})";
  stage.from_server(question);
  EXPECT_EQ(stage.up(), Lines{question});
  stage.from_server(cancellation(R"("q")", ""));
  EXPECT_EQ(stage.up(), Lines{cancellation(R"("q")", "")});
  stage.from_server(cancellation(R"("q")", ""));
  EXPECT_TRUE(stage.up().empty());
  stage.from_server(answer("1", "{}"));
  EXPECT_EQ(stage.up(), Lines{answer("1", "{}")});
  stage.from_server(question);
  EXPECT_TRUE(stage.up().empty());
  EXPECT_EQ(error_of(stage.down().at(0), "code"), "-32601");
}

TEST(ModernFacadeNeighbours, a_legacy_clients_subscription_and_a_modern_ones_do_not_end_each_other) {
  Stage stage;
  const std::string on = R"({"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{"uri":"a"}})";
  const std::string off = R"({"jsonrpc":"2.0","id":2,"method":"resources/unsubscribe","params":{"uri":"a"}})";
  stage.from_client(on);
  EXPECT_EQ(stage.down(), Lines{on});
  stage.from_server(updated("a"));
  EXPECT_EQ(stage.up(), Lines{updated("a")});
  stage.from_client(listen("5", R"({"resourceSubscriptions":["a"]})"));
  stage.up();
  EXPECT_TRUE(stage.down().empty());
  stage.from_server(updated("a"));
  EXPECT_EQ(stage.up(), (Lines{updated_for("a", 5), updated("a")}));
  stage.from_client(off);
  EXPECT_EQ(stage.down(), (Lines{off, subscription(1, "subscribe", "a")}));
  stage.from_client(on);
  stage.down();
  stage.from_client(cancellation("5", ""));
  EXPECT_TRUE(stage.down().empty());
}

}  // namespace
}  // namespace mcpivot
