#include "bridge/legacy_facade.h"

#include <gtest/gtest.h>

#include "bridge/legacy_facade_ends.h"
#include "mcp/era.h"

namespace mcpivot {
namespace {

constexpr std::string_view all_capabilities =
    R"({"protocolVersion":"2025-11-25","capabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"clientInfo":{"name":"c","version":"1"}})";
constexpr std::string_view stamp_of_all =
    R"("io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{},"url":{}},"sampling":{},"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"})";

class LegacyFacadeTest : public testing::Test {
 protected:
  explicit LegacyFacadeTest(std::string_view hello = all_capabilities) : facade(ends, std::string(hello)) {}
  ~LegacyFacadeTest() override { EXPECT_TRUE(ends.readable); }

  // What the generation says, with the edits that it makes: its id in the place of the client's.
  void client(std::string_view line) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line << ": " << message.error().reason;
    facade.from_client(*message, {});
  }
  void server(std::string_view line) {
    const auto message = read_message(line);
    ASSERT_TRUE(message) << line << ": " << message.error().reason;
    facade.from_server(*message);
  }
  void answer(std::string_view id, std::string_view result) {
    server(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result));
  }
  void client_answers(std::string_view id, std::string_view result) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result));
  }
  void client_refuses(std::string_view id, std::string_view words) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{{"code":-1,"message":"{}"}}}})", id, words));
  }
  // A tool is called under this id of the generation's.
  void call(int id = 7) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","id":{0},"method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":{0}}}}}}})",
        id));
  }
  void cancel(int id = 7) {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{}}}}})", id));
  }
  // The server asks for this before it answers what it knows by this id.
  void require(std::string_view id, std::string_view requests, std::string_view state = R"("s")") {
    answer(id, fmt::format(R"({{"resultType":"input_required","inputRequests":{},"requestState":{}}})",
                           requests, state));
  }
  std::string down() { return ends.next_down(); }
  std::string up() { return ends.next_up(); }
  std::string error_words() { return string_value(at(up(), {"error", "message"})); }

  static constexpr std::string_view elicit = R"({"method":"elicitation/create","params":{"message":"m"}})";
  static constexpr std::string_view sample =
      R"({"method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}})";
  static constexpr std::string_view roots = R"({"method":"roots/list"})";

  LegacyFacadeEnds ends;
  LegacyFacade facade;
};

// A connection that begins with initialize.
class LegacyHandshake : public LegacyFacadeTest {
 protected:
  LegacyHandshake() : LegacyFacadeTest("") {}
  void initialize(std::string_view version = "2025-11-25") {
    client(fmt::format(
        R"({{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"protocolVersion":"{}","capabilities":{{"roots":{{}}}},"clientInfo":{{"name":"c","version":"1"}}}}}})",
        version));
  }
  void discovered(std::string_view capabilities = R"({"tools":{"listChanged":true}})") {
    answer(
        R"("discover-1")",
        fmt::format(
            R"({{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"instructions":"i","_meta":{{"io.modelcontextprotocol/serverInfo":{{"name":"s","version":"2"}}}}}})",
            capabilities));
  }
  void initialized() { client(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"); }
};

TEST_F(LegacyHandshake, initialize_is_answered_from_discover) {
  initialize();
  const std::string asked = down();
  EXPECT_EQ(at(asked, {"method"}), R"("server/discover")");
  EXPECT_EQ(at(asked, {"id"}), R"("discover-1")");
  EXPECT_EQ(
      at(asked, {"params", "_meta"}),
      R"({"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/clientInfo":{"name":"c","version":"1"}})");
  EXPECT_TRUE(ends.up.empty());
  discovered();
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"s","version":"2"},"instructions":"i"}})");
}

TEST_F(LegacyHandshake, a_client_gets_the_legacy_version_that_it_asks_for) {
  for (const std::string_view version : {"2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"}) {
    initialize(version);
    discovered();
    EXPECT_EQ(string_value(at(up(), {"result", "protocolVersion"})), version);
  }
  for (const std::string_view version : {"2026-07-28", "2099-01-01", "x"}) {
    initialize(version);
    discovered();
    EXPECT_EQ(at(up(), {"result", "protocolVersion"}), R"("2025-11-25")");
  }
}

TEST_F(LegacyHandshake, a_failed_discover_is_an_error_that_says_what_the_server_said) {
  initialize();
  server(
      R"({"jsonrpc":"2.0","id":"discover-1","error":{"code":-32022,"message":"too \"old\"","data":{"supported":["2027-01-01"]}}})");
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the server rejected server/discover: too \"old\"","data":{"supported":["2027-01-01"]}}})");
}

TEST_F(LegacyHandshake, a_server_that_does_not_offer_the_modern_version_is_an_error) {
  initialize();
  answer(R"("discover-1")", R"({"supportedVersions":["2027-01-01"],"capabilities":{}})");
  EXPECT_NE(error_words().find(R"(["2027-01-01"])"), std::string::npos);
  initialize();
  answer(R"("discover-1")", "5");
  EXPECT_NE(error_words().find("supportedVersions"), std::string::npos);
}

TEST_F(LegacyHandshake, initialized_is_swallowed_and_opens_a_listen_for_the_announced_lists) {
  initialize();
  discovered(
      R"({"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"listChanged":false}})");
  down();
  EXPECT_TRUE(ends.down.empty());
  initialized();
  const std::string listen = down();
  EXPECT_EQ(at(listen, {"method"}), R"("subscriptions/listen")");
  EXPECT_EQ(at(listen, {"params", "notifications"}),
            R"({"toolsListChanged":true,"promptsListChanged":true})");
  EXPECT_EQ(at(listen, {"params", "_meta", meta_key::version}), R"("2026-07-28")");
  initialized();
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyHandshake, nothing_is_listened_to_if_nothing_is_announced) {
  initialize();
  discovered(R"({"tools":{}})");
  down();
  initialized();
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyHandshake, can_be_cancelled) {
  initialize();
  down();
  cancel(1);
  EXPECT_EQ(at(down(), {"params", "requestId"}), R"("discover-1")");
  discovered();
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyHandshake, a_lost_discover_is_the_generation_s_initialize) {
  initialize();
  EXPECT_EQ(facade.lost(R"("discover-1")"), "1");
  EXPECT_EQ(facade.lost(R"("discover-1")"), "");
}

TEST_F(LegacyHandshake, capabilities_that_are_nested_too_deeply_to_be_stamped_are_refused) {
  std::string deep;
  for (int i = 0; i < 1021; ++i) deep += '[';
  for (int i = 0; i < 1021; ++i) deep += ']';
  client(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"x":)" + deep + "}}}");
  EXPECT_NE(error_words().find("nested too deeply"), std::string::npos);
}

TEST_F(LegacyHandshake, requests_work_without_one) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  EXPECT_EQ(at(down(), {"params", "_meta", meta_key::client_capabilities}), "{}");
}

// Stamps

TEST_F(LegacyFacadeTest, a_request_without_params_gets_some) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  EXPECT_EQ(down(),
            fmt::format(R"({{"params":{{"_meta":{{{}}}}},"jsonrpc":"2.0","id":3,"method":"tools/list"}})",
                        stamp_of_all));
}

TEST_F(LegacyFacadeTest, params_without_meta_get_one) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":{ }})");
  EXPECT_EQ(down(),
            fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"tools/list","params":{{ "_meta":{{{}}}}}}})",
                        stamp_of_all));
  client(R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t", "arguments":{"n":1.0e0}} })");
  EXPECT_EQ(
      down(),
      fmt::format(
          R"({{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"name":"t", "arguments":{{"n":1.0e0}},"_meta":{{{}}}}} }})",
          stamp_of_all));
}

TEST_F(LegacyFacadeTest, a_meta_that_is_there_keeps_its_members) {
  client(
      R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":{"progressToken":4, "x/y":[1]},"name":"t"}})");
  EXPECT_EQ(
      down(),
      fmt::format(
          R"({{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{{"_meta":{{"progressToken":4, "x/y":[1],{}}},"name":"t"}}}})",
          stamp_of_all));
  client(R"({"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"_meta":{},"name":"t"}})");
  EXPECT_EQ(at(down(), {"params", "_meta"}), fmt::format("{{{}}}", stamp_of_all));
  client(R"({"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"_meta":null,"name":"t"}})");
  EXPECT_EQ(at(down(), {"params", "_meta"}), fmt::format("{{{}}}", stamp_of_all));
}

TEST_F(LegacyFacadeTest, no_key_of_the_stamp_appears_twice) {
  client(
      R"({"jsonrpc":"2.0","id":4,"method":"x","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{},"a":1,"IO.modelcontextprotocol/protocolVersion":"1","io.modelcontextprotocol\/clientCapabilities":5,"b":2,"io.modelcontextprotocol/logLevel":"info"}}})");
  EXPECT_EQ(at(down(), {"params", "_meta"}),
            fmt::format(R"({{"a":1,"b":2,"io.modelcontextprotocol/logLevel":"info",{}}})", stamp_of_all));
  client(
      R"({"jsonrpc":"2.0","id":5,"method":"x","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{}}}})");
  EXPECT_EQ(at(down(), {"params", "_meta"}), fmt::format("{{{}}}", stamp_of_all));
  client(R"({"jsonrpc":"2.0","id":6,"method":"x","params":{"_META":{},"a":1}})");
  EXPECT_EQ(at(down(), {"params"}), fmt::format(R"({{"a":1,"_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, the_stamp_goes_along_with_the_edits_of_others) {
  const auto message = read_message(
      R"({"id":"client's","jsonrpc":"2.0","method":"tools/call","params":{"name":"server__t","_meta":{"progressToken":"p"}}})");
  Edits edits;
  edits.replace(message->id, "7").replace(message->progress_token, "7").replace(message->name, R"("t")");
  facade.from_client(*message, edits.list());
  EXPECT_EQ(
      down(),
      fmt::format(
          R"({{"id":7,"jsonrpc":"2.0","method":"tools/call","params":{{"name":"t","_meta":{{"progressToken":7,{}}}}}}})",
          stamp_of_all));
  answer("7", R"({"resultType":"complete","content":[]})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}})");
}

TEST_F(LegacyFacadeTest, params_that_others_have_replaced_are_stamped_as_they_are_then) {
  const auto message =
      read_message(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}})");
  facade.from_client(*message, Edits().replace(message->params, R"({"name":"b"})").list());
  EXPECT_EQ(at(down(), {"params"}), fmt::format(R"({{"name":"b","_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, params_that_are_an_array_are_refused) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list","params":[1]})");
  EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, a_modern_request_and_its_answer_pass_untouched) {
  const std::string_view request =
      R"({"jsonrpc":"2.0","id":9,"method":"tools/call","params":{"name":"t","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})";
  client(request);
  EXPECT_EQ(down(), request);
  const std::string_view result =
      R"({"jsonrpc":"2.0","id":9,"result":{"resultType":"input_required","requestState":"s"}})";
  server(result);
  EXPECT_EQ(up(), result);
  EXPECT_EQ(facade.lost("9"), "9");
}

TEST_F(LegacyFacadeTest, what_it_does_not_know_passes_untouched) {
  const std::string_view answer_to_nothing = R"({"jsonrpc":"2.0","id":"x","result":{}})";
  server(answer_to_nothing);
  EXPECT_EQ(up(), answer_to_nothing);
  const std::string_view log =
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":1}})";
  server(log);
  EXPECT_EQ(up(), log);
  const std::string_view error = R"({"jsonrpc":"2.0","error":{"code":-32700,"message":"what?"}})";
  server(error);
  EXPECT_EQ(up(), error);
  cancel(99);
  EXPECT_EQ(at(down(), {"params", "requestId"}), "99");
}

TEST_F(LegacyFacadeTest, a_task_of_the_legacy_era_runs_as_a_call) {
  client(
      R"({"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"t","task":{"ttl":1},"arguments":{}}})");
  EXPECT_EQ(at(down(), {"params"}),
            fmt::format(R"({{"name":"t","arguments":{{}},"_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, notifications_that_the_modern_era_lacks_are_dropped) {
  client(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
  client(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}})");
  EXPECT_TRUE(ends.down.empty());
}

// What is answered here

TEST_F(LegacyFacadeTest, ping_is_answered_here) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, the_log_level_is_kept_and_goes_into_each_later_request) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{"level":"warning"}})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
  EXPECT_TRUE(ends.down.empty());
  for (const int id : {4, 5}) {
    call(id);
    EXPECT_EQ(at(down(), {"params", "_meta", meta_key::log_level}), R"("warning")");
  }
  client(
      R"({"jsonrpc":"2.0","id":6,"method":"x","params":{"_meta":{"io.modelcontextprotocol/logLevel":"debug"}}})");
  EXPECT_EQ(at(down(), {"params", "_meta"}),
            fmt::format(R"({{{},"io.modelcontextprotocol/logLevel":"warning"}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, an_unknown_log_level_is_refused) {
  for (const std::string_view params : {R"({"level":"loud"})", R"({"level":1})", "{}"}) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{}}})", params));
    EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
  }
  call();
  EXPECT_EQ(at(down(), {"params", "_meta", meta_key::log_level}), "");
}

TEST_F(LegacyFacadeTest, a_request_of_the_server_is_refused_to_it_and_never_passed_up) {
  server(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m"}})");
  const std::string refusal = down();
  EXPECT_EQ(at(refusal, {"id"}), R"("q")");
  EXPECT_EQ(at(refusal, {"error", "code"}), "-32601");
  EXPECT_NE(at(refusal, {"error", "message"}).find("input_required"), std::string::npos);
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyFacadeTest, the_server_cancels_nothing_of_the_client_s) {
  call();
  require("7", fmt::format(R"({{"a":{}}})", elicit));
  up();
  server(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"ask-7-0-0"}})");
  server(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  server(R"({"jsonrpc":"2.0","method":"notifications/cancelled"})");
  EXPECT_TRUE(ends.up.empty());
}

// Results

TEST_F(LegacyFacadeTest, structured_content_that_is_not_an_object_is_dropped) {
  const auto passes = [&](std::string_view result) {
    call();
    answer("7", result);
    return at(up(), {"result"});
  };
  EXPECT_EQ(passes(R"({"structuredContent":[1],"content":[ ], "x":1e0})"), R"({"content":[ ], "x":1e0})");
  EXPECT_EQ(passes(R"({"content":[], "structuredContent":null })"), R"({"content":[] })");
  EXPECT_EQ(passes(R"({ "structuredContent":"s" })"), "{  }");
  EXPECT_EQ(passes(R"({"structuredContent":{"a":1},"content":[]})"),
            R"({"structuredContent":{"a":1},"content":[]})");
  EXPECT_EQ(passes(R"({"a":1,"structuredContent":1,"b":2,"structured\u0043ontent":2,"c":3})"),
            R"({"a":1,"b":2,"c":3})");
}

TEST_F(LegacyFacadeTest, an_output_schema_that_is_not_of_an_object_is_dropped) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  answer(
      "3",
      R"({"tools":[{"name":"a","outputSchema":{"type":"array"},"x":1},{"name":"b","outputSchema":{"type":"object","y":1.0}},{"outputSchema":{"oneOf":[]}}, 5,{"name":"c","outputSchema":true}],"nextCursor":"n"})");
  EXPECT_EQ(
      at(up(), {"result"}),
      R"({"tools":[{"name":"a","x":1},{"name":"b","outputSchema":{"type":"object","y":1.0}},{}, 5,{"name":"c"}],"nextCursor":"n"})");
}

TEST_F(LegacyFacadeTest, a_missing_resource_has_the_legacy_code_only_if_its_uri_is_named) {
  const auto passes = [&](std::string_view method, std::string_view error) {
    client(
        fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"{}","params":{{"uri":"u","name":"n"}}}})", method));
    server(fmt::format(R"({{"jsonrpc":"2.0","id":3,"error":{}}})", error));
    return at(up(), {"error"});
  };
  EXPECT_EQ(passes("resources/read", R"({"code":-32602,"message":"no","data":{"uri":"u"}})"),
            R"({"code":-32002,"message":"no","data":{"uri":"u"}})");
  for (const std::string_view error :
       {R"({"code":-32602,"message":"no"})", R"({"code":-32603,"message":"no","data":{"uri":"u"}})"})
    EXPECT_EQ(passes("resources/read", error), error);
  const std::string_view error = R"({"code":-32602,"message":"no","data":{"uri":"u"}})";
  EXPECT_EQ(passes("tools/call", error), error);
}

TEST_F(LegacyFacadeTest, a_result_type_that_the_client_does_not_know_is_an_error) {
  for (const std::string_view type : {R"("task")", "5", "null"}) {
    call();
    answer("7", fmt::format(R"({{"resultType":{},"taskId":"t"}})", type));
    const std::string words = error_words();
    EXPECT_NE(words.find("result type " + std::string(type)), std::string::npos) << words;
  }
}

TEST_F(LegacyFacadeTest, members_of_the_modern_era_stay_in_results) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"prompts/list"})");
  const std::string_view result = R"({"resultType":"complete","ttlMs":5,"cacheScope":"public","prompts":[]})";
  answer("3", result);
  EXPECT_EQ(at(up(), {"result"}), result);
}

TEST_F(LegacyFacadeTest, a_request_is_answered_once) {
  call();
  answer("7", R"({"content":[]})");
  EXPECT_FALSE(up().empty());
  EXPECT_EQ(facade.lost("7"), "7");  // the generation knows that it is answered
}

TEST_F(LegacyFacadeTest, a_lost_request_is_the_generation_s) {
  call();
  EXPECT_EQ(facade.lost("7"), "7");
  call(8);
  require("8", "{}");
  EXPECT_EQ(facade.lost("8"), "");  // it had its answer
  EXPECT_EQ(facade.lost(R"("retry-8-2")"), "");
  EXPECT_EQ(facade.lost(R"("retry-8-1")"), "8");
  EXPECT_EQ(facade.lost(R"("retry-8-1")"), "");
  call(9);
  require("9", fmt::format(R"({{"a":{}}})", roots));
  EXPECT_EQ(facade.lost("9"), "");  // it waits for its client
}

// Rounds

TEST_F(LegacyFacadeTest, required_input_becomes_real_requests_in_the_order_of_their_keys) {
  call();
  down();
  require("7", fmt::format(R"({{"z":{},"a\"b":{},"m":{}}})", elicit, sample, roots));
  EXPECT_EQ(up(),
            R"({"jsonrpc":"2.0","id":"ask-7-0-0","method":"elicitation/create","params":{"message":"m"}})");
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","id":"ask-7-0-1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":"ask-7-0-2","method":"roots/list"})");
  client_answers(R"("ask-7-0-2")", R"({"roots":[]})");
  client_answers(R"("ask-7-0-0")", R"({"action":"accept", "content":{"n":1.0}})");
  EXPECT_TRUE(ends.down.empty());
  client_answers(R"("ask-7-0-1")", R"({"role":"assistant"})");
  EXPECT_EQ(
      down(),
      fmt::format(
          R"({{"jsonrpc":"2.0","id":"retry-7-1","method":"tools/call","params":{{"inputResponses":{{"z":{{"action":"accept", "content":{{"n":1.0}}}},"a\"b":{{"role":"assistant"}},"m":{{"roots":[]}}}},"requestState":"s","name":"t","_meta":{{"progressToken":7,{}}}}}}})",
          stamp_of_all));
  answer(R"("retry-7-1")", R"({"resultType":"complete","content":[],"structuredContent":3})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}})");
}

TEST_F(LegacyFacadeTest, input_may_be_required_for_prompts_and_resources_too) {
  for (const std::string_view method : {"prompts/get", "resources/read"}) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"{}","params":{{"uri":"u"}}}})", method));
    down();
    require("3", fmt::format(R"({{"a":{}}})", roots));
    EXPECT_EQ(at(up(), {"method"}), R"("roots/list")");
    client_answers(R"("ask-3-0-0")", "{}");
    EXPECT_EQ(string_value(at(down(), {"method"})), method);
    answer(R"("retry-3-1")", "{}");
    EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
  }
}

TEST_F(LegacyFacadeTest, input_required_for_anything_else_is_an_error) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  down();
  require("3", "{}");
  EXPECT_NE(error_words().find("input_required"), std::string::npos);
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, the_request_state_is_echoed_byte_for_byte_or_not_at_all) {
  call();
  down();
  const std::string state = "\"\\u0041" + std::string(1 << 20, 'x') + "\\/\"";
  require("7", fmt::format(R"({{"a":{}}})", roots), state);
  client_answers(R"("ask-7-0-0")", "{}");
  EXPECT_EQ(at(down(), {"params", "requestState"}), state);
  answer(R"("retry-7-1")",
         fmt::format(R"({{"resultType":"input_required","inputRequests":{{"b":{}}}}})", roots));
  client_answers(R"("ask-7-1-0")", "{}");
  const std::string again = down();
  EXPECT_EQ(at(again, {"params", "requestState"}), "");
  EXPECT_EQ(at(again, {"params", "inputResponses"}), R"({"b":{}})");
}

TEST_F(LegacyFacadeTest, a_call_with_members_of_those_names_has_each_once_in_the_next_round) {
  client(
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":{"x":1},"name":"t","requestState":"old","InputResponses":1}})");
  down();
  require("7", "{}");
  EXPECT_EQ(
      at(down(), {"params"}),
      fmt::format(R"({{"inputResponses":{{}},"requestState":"s","name":"t","_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, a_round_with_a_request_state_only_is_retried_at_once) {
  call();
  down();
  answer("7", R"({"resultType":"input_required","requestState":"more"})");
  const std::string again = down();
  EXPECT_EQ(at(again, {"id"}), R"("retry-7-1")");
  EXPECT_EQ(at(again, {"params", "requestState"}), R"("more")");
  EXPECT_EQ(at(again, {"params", "inputResponses"}), "");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyFacadeTest, a_round_with_neither_is_an_error) {
  for (const std::string_view result :
       {R"({"resultType":"input_required"})",
        R"({"resultType":"input_required","inputRequests":null,"requestState":null})"}) {
    call();
    down();
    answer("7", result);
    EXPECT_NE(error_words().find("neither"), std::string::npos);
    EXPECT_TRUE(ends.down.empty());
  }
}

TEST_F(LegacyFacadeTest, a_server_that_asks_for_ever_is_given_up) {
  call();
  down();
  std::string id = "7";
  for (int round = 1; round <= 16; ++round) {
    require(id, "{}");
    id = at(down(), {"id"});
    EXPECT_EQ(id, fmt::format(R"("retry-7-{}")", round));
    EXPECT_TRUE(ends.up.empty());
  }
  require(id, "{}");
  EXPECT_TRUE(ends.down.empty());
  EXPECT_NE(error_words().find("16 rounds"), std::string::npos);
}

TEST_F(LegacyFacadeTest, a_round_has_at_most_32_questions) {
  const auto ask = [&](int count) {
    std::string requests;
    for (int i = 0; i < count; ++i) requests += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", i, roots);
    call();
    require("7", "{" + requests + "}");
  };
  ask(33);
  EXPECT_NE(error_words().find("more than 32"), std::string::npos);
  EXPECT_TRUE(ends.up.empty());
  ask(32);
  EXPECT_EQ(ends.up.size(), 32U);
}

TEST_F(LegacyFacadeTest, what_is_wrong_with_questions_is_named) {
  const auto words = [&](std::string_view requests) {
    call();
    require("7", requests);
    EXPECT_EQ(ends.up.size(), 1U);
    return error_words();
  };
  EXPECT_NE(words("[]").find("aren't an object"), std::string::npos);
  EXPECT_NE(words("5").find("aren't an object"), std::string::npos);
  EXPECT_NE(words(R"({"a":5})").find(R"("a")"), std::string::npos);
  EXPECT_NE(words(R"({"a":{}})").find("without a method"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"tools/call"}})").find("tools/call"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"roots/list","params":[]}})").find("roots/list"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"elicitation/create"}})").find("without params"), std::string::npos);
  EXPECT_NE(words(fmt::format(R"({{"a":{0},"\u0061":{0}}})", roots)).find("two questions"),
            std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"roots/list","params":{"uri":1,"uri":2}}})").find("two ways"),
            std::string::npos);
}

TEST_F(LegacyFacadeTest, a_url_elicitation_gets_an_id_unless_it_has_one) {
  call();
  require(
      "7",
      R"({"a":{"method":"elicitation/create","params":{"mode":"url","url":"u"}},"b":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e"}}})");
  EXPECT_EQ(at(up(), {"params"}), R"({"elicitationId":"secret1","mode":"url","url":"u"})");
  EXPECT_EQ(at(up(), {"params"}), R"({"mode":"url","elicitationId":"e"})");
  EXPECT_EQ(ends.secrets, 1);
}

TEST_F(LegacyFacadeTest, a_client_s_error_to_an_elicitation_means_cancel) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", elicit));
  client_refuses(R"("ask-7-0-0")", "no");
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":{"action":"cancel"}})");
}

TEST_F(LegacyFacadeTest, a_client_s_error_to_sampling_or_roots_ends_the_call_with_it) {
  for (const auto& [question, method] :
       {std::pair(sample, "sampling/createMessage"), std::pair(roots, "roots/list")}) {
    call();
    down();
    require("7", fmt::format(R"({{"a":{},"b":{}}})", elicit, question));
    up(), up();
    client_refuses(R"("ask-7-0-1")", "rejected");
    EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");  // needn't be answered any more
    const std::string words = error_words();
    EXPECT_NE(words.find(method), std::string::npos) << words;
    EXPECT_NE(words.find("rejected"), std::string::npos) << words;
    client_answers(R"("ask-7-0-0")", "{}");
    EXPECT_TRUE(ends.down.empty());
    EXPECT_TRUE(ends.up.empty());
  }
}

TEST_F(LegacyFacadeTest, an_answer_to_what_was_not_asked_changes_nothing) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  up(), up();
  for (const std::string_view id : {R"("ask-7-0-2")", R"("ask-7-1-0")", R"("ask-8-0-0")", R"("ask-7-0")",
                                    R"("x")", "7", R"("retry-7-1")", R"("ask-7-0-99999999999999999999")"}) {
    client_answers(id, "{}");
    client_refuses(id, "no");
  }
  client_answers(R"("ask-7-0-0")", "1");
  client_answers(R"("ask-7-0-0")", "2");
  client_refuses(R"("ask-7-0-0")", "no");
  EXPECT_TRUE(ends.down.empty());
  EXPECT_TRUE(ends.up.empty());
  client_answers(R"("ask-7-0-1")", "3");
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":1,"b":3})");
  client_answers(R"("ask-7-0-1")", "4");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, a_second_answer_of_the_server_is_dropped) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  answer("7", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
  client_answers(R"("ask-7-0-0")", "{}");
  answer("7", R"({"content":[]})");
  answer(R"("retry-7-2")", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
  answer(R"("retry-7-1")", R"({"content":[]})");
  EXPECT_FALSE(up().empty());
  answer(R"("retry-7-1")", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyFacadeTest, a_client_may_answer_while_it_is_being_asked) {
  ends.on_client = [&](const std::string& line) {
    if (!at(line, {"method"}).empty()) client_answers(at(line, {"id"}), at(line, {"id"}));
  };
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":"ask-7-0-0","b":"ask-7-0-1"})");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, a_client_may_take_the_call_back_while_it_is_being_asked) {
  ends.on_client = [&](const std::string& line) {
    if (at(line, {"method"}) == R"("roots/list")") cancel();
  };
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  EXPECT_EQ(at(up(), {"id"}), R"("ask-7-0-0")");
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, an_answer_that_is_nested_too_deeply_to_be_sent_on_ends_the_call) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  client_answers(R"("ask-7-0-0")", std::string(1023, '[') + std::string(1023, ']'));
  EXPECT_NE(error_words().find("nested too deeply"), std::string::npos);
  EXPECT_TRUE(ends.down.empty());
}

// Capabilities

class LegacyCapabilities : public testing::Test {
 protected:
  // The error that a client with these capabilities gets when it is asked this; empty: it is asked.
  static std::string refusal(std::string_view capabilities, std::string_view question) {
    LegacyFacadeEnds ends;
    LegacyFacade facade(ends, fmt::format(R"({{"capabilities":{}}})", capabilities));
    facade.from_client(
        *read_message(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}})"), {});
    const std::string answer = fmt::format(
        R"({{"jsonrpc":"2.0","id":7,"result":{{"resultType":"input_required","inputRequests":{{"a":{}}}}}}})",
        question);
    facade.from_server(*read_message(answer));
    EXPECT_EQ(ends.up.size(), 1U);
    EXPECT_EQ(ends.down.size(), 1U);
    const std::string words = string_value(at(ends.up.front(), {"error", "message"}));
    const auto named = words.rfind(' ');
    return words.empty() ? words : words.substr(named + 1);
  }
};

TEST_F(LegacyCapabilities, a_question_for_which_the_client_lacks_a_capability_is_never_sent) {
  const std::string_view form = R"({"method":"elicitation/create","params":{"mode":"form"}})";
  const std::string_view no_mode = R"({"method":"elicitation/create","params":{}})";
  const std::string_view url = R"({"method":"elicitation/create","params":{"mode":"url"}})";
  const std::string_view other = R"({"method":"elicitation/create","params":{"mode":"telepathy"}})";
  EXPECT_EQ(refusal("{}", form), "elicitation");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", form), "");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", no_mode), "");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", url), "elicitation.url");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", url), "");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", form), "elicitation.form");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", no_mode), "elicitation.form");
  EXPECT_EQ(refusal(R"({"elicitation":{"form":{},"url":{}}})", other), R"(elicitation."telepathy")");
  EXPECT_EQ(refusal("{}", R"({"method":"roots/list"})"), "roots");
  EXPECT_EQ(refusal(R"({"roots":{}})", R"({"method":"roots/list"})"), "");
  EXPECT_EQ(refusal("{}", R"({"method":"sampling/createMessage","params":{}})"), "sampling");
  EXPECT_EQ(refusal(R"({"sampling":{}})", R"({"method":"sampling/createMessage","params":{}})"), "");
  EXPECT_EQ(refusal(R"({"sampling":{}})", R"({"method":"sampling/createMessage","params":{"tools":[]}})"),
            "sampling.tools");
  EXPECT_EQ(
      refusal(R"({"sampling":{"tools":{}}})", R"({"method":"sampling/createMessage","params":{"tools":[]}})"),
      "");
}

// Progress

TEST_F(LegacyFacadeTest, progress_keeps_increasing_across_rounds) {
  const auto progress = [&](std::string_view numbers) {
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,{},"message":"m"}}}})",
        numbers));
    return at(up(), {"params"});
  };
  call();
  EXPECT_EQ(progress(R"("progress":1.50,"total":3)"),
            R"({"progressToken":7,"progress":1.50,"total":3,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":3e0)"), R"({"progressToken":7,"progress":3e0,"message":"m"})");
  require("7", "{}");
  EXPECT_EQ(progress(R"("progress":1,"total":2)"),
            R"({"progressToken":7,"progress":4,"total":5,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":2)"), R"({"progressToken":7,"progress":5,"message":"m"})");
  require(R"("retry-7-1")", "{}");
  EXPECT_EQ(progress(R"("progress":0,"total":1e2)"),
            R"({"progressToken":7,"progress":6,"total":106,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":0.25)"), R"({"progressToken":7,"progress":6.25,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":1e20)"),
            R"({"progressToken":7,"progress":100000000000000000000,"message":"m"})");
  require(R"("retry-7-2")", "{}");
  EXPECT_EQ(progress(R"("progress":"x")"), "");
  EXPECT_EQ(progress(R"("progress":1e999)"), "");
}

TEST_F(LegacyFacadeTest, progress_of_a_first_round_without_any_is_not_shifted) {
  call();
  require("7", "{}");
  const std::string_view line =
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0}})";
  server(line);
  EXPECT_EQ(up(), line);
}

TEST_F(LegacyFacadeTest, progress_of_a_round_that_is_over_is_dropped) {
  call();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  server(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}})");
  EXPECT_TRUE(ends.up.empty());
}

// Cancellation

TEST_F(LegacyFacadeTest, a_call_in_its_first_round_is_cancelled_at_the_server) {
  call();
  down();
  cancel();
  EXPECT_EQ(down(), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyFacadeTest, a_call_in_a_later_round_is_cancelled_under_its_id_there) {
  call();
  down();
  require("7", "{}");
  down();
  const auto message = read_message(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"client's","reason":"r"}})");
  facade.from_client(*message, Edits().replace(message->request_id, "7").list());
  EXPECT_EQ(
      down(),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"retry-7-1","reason":"r"}})");
  answer(R"("retry-7-1")", R"({"content":[]})");
  require(R"("retry-7-1")", "{}");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, a_call_whose_questions_are_open_is_cancelled_at_the_client_only) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{0},"b":{0},"c":{0}}})", roots));
  up(), up(), up();
  client_answers(R"("ask-7-0-1")", "{}");
  cancel();
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-2")");
  client_answers(R"("ask-7-0-0")", "{}");
  client_answers(R"("ask-7-0-2")", "{}");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

}  // namespace
}  // namespace mcpivot
