#include "bridge/legacy_facade.h"

#include "bridge/legacy_facade_fixture.h"
#include "mcp/era.h"

namespace mcpivot {
namespace {

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

TEST_F(LegacyHandshake, a_client_gets_the_legacy_version_it_asks_for) {
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

TEST_F(LegacyHandshake, a_failed_discover_is_an_error_that_quotes_the_server) {
  initialize();
  server(
      R"({"jsonrpc":"2.0","id":"discover-1","error":{"code":-32022,"message":"too \"old\"","data":{"supported":["2027-01-01"]}}})");
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","id":1,"error":{"code":-32022,"message":"the server rejected `server/discover`: too \"old\"","data":{"supported":["2027-01-01"]}}})");
}

TEST_F(LegacyHandshake, a_server_that_does_not_offer_the_modern_version_is_an_error) {
  initialize();
  answer(R"("discover-1")", R"({"supportedVersions":["2027-01-01"],"capabilities":{}})");
  EXPECT_NE(error_words().find(R"(["2027-01-01"])"), std::string::npos);
  initialize();
  answer(R"("discover-1")", "5");
  EXPECT_NE(error_words().find("supportedVersions"), std::string::npos);
}

TEST_F(LegacyHandshake, initialized_is_not_forwarded_and_opens_a_listen_for_the_announced_lists) {
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

TEST_F(LegacyHandshake, initialize_can_be_cancelled) {
  initialize();
  down();
  cancel(1);
  EXPECT_EQ(at(down(), {"params", "requestId"}), R"("discover-1")");
  discovered();
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyHandshake, losing_the_discover_means_losing_the_initialize) {
  initialize();
  EXPECT_EQ(facade.lost(R"("discover-1")"), "1");
  EXPECT_EQ(facade.lost(R"("discover-1")"), "");
}

TEST_F(LegacyHandshake, capabilities_nested_too_deeply_to_be_added_to_requests_are_rejected) {
  std::string deep;
  for (int i = 0; i < 1021; ++i) deep += '[';
  for (int i = 0; i < 1021; ++i) deep += ']';
  client(R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{"capabilities":{"x":)" + deep + "}}}");
  EXPECT_NE(error_words().find("nested too deeply"), std::string::npos);
}

TEST_F(LegacyHandshake, requests_work_without_a_handshake) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  EXPECT_EQ(at(down(), {"params", "_meta", meta_key::client_capabilities}), "{}");
}

// Stamps

TEST_F(LegacyFacadeTest, a_request_without_params_gets_params_with_meta) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  EXPECT_EQ(down(),
            fmt::format(R"({{"params":{{"_meta":{{{}}}}},"jsonrpc":"2.0","id":3,"method":"tools/list"}})",
                        stamp_of_all));
}

TEST_F(LegacyFacadeTest, params_without_meta_get_meta) {
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

TEST_F(LegacyFacadeTest, existing_members_of_meta_are_kept) {
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

TEST_F(LegacyFacadeTest, none_of_the_added_meta_keys_appears_twice) {
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

TEST_F(LegacyFacadeTest, the_added_meta_can_be_combined_with_other_edits) {
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

TEST_F(LegacyFacadeTest, meta_is_added_to_params_that_another_edit_replaced) {
  const auto message =
      read_message(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"a"}})");
  facade.from_client(*message, Edits().replace(message->params, R"({"name":"b"})").list());
  EXPECT_EQ(at(down(), {"params"}), fmt::format(R"({{"name":"b","_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyFacadeTest, array_params_are_rejected) {
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

TEST_F(LegacyFacadeTest, unknown_messages_pass_untouched) {
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

TEST_F(LegacyFacadeTest, notifications_unknown_to_the_modern_era_are_dropped) {
  client(R"({"jsonrpc":"2.0","method":"notifications/roots/list_changed"})");
  client(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}})");
  EXPECT_TRUE(ends.down.empty());
}

// What the facade answers itself

TEST_F(LegacyFacadeTest, ping_is_answered_by_the_facade) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"ping"})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyFacadeTest, the_log_level_is_added_to_each_later_request) {
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

TEST_F(LegacyFacadeTest, an_unknown_log_level_is_rejected) {
  for (const std::string_view params : {R"({"level":"loud"})", R"({"level":1})", "{}"}) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"logging/setLevel","params":{}}})", params));
    EXPECT_EQ(at(up(), {"error", "code"}), "-32602");
  }
  call();
  EXPECT_EQ(at(down(), {"params", "_meta", meta_key::log_level}), "");
}

TEST_F(LegacyFacadeTest, a_request_from_the_server_is_rejected_and_never_forwarded) {
  server(R"({"jsonrpc":"2.0","id":"q","method":"elicitation/create","params":{"message":"m"}})");
  const std::string refusal = down();
  EXPECT_EQ(at(refusal, {"id"}), R"("q")");
  EXPECT_EQ(at(refusal, {"error", "code"}), "-32601");
  EXPECT_NE(at(refusal, {"error", "message"}).find("input_required"), std::string::npos);
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyFacadeTest, the_server_cannot_cancel_the_clients_requests) {
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

TEST_F(LegacyFacadeTest, an_output_schema_for_anything_but_an_object_is_dropped) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  answer(
      "3",
      R"({"tools":[{"name":"a","outputSchema":{"type":"array"},"x":1},{"name":"b","outputSchema":{"type":"object","y":1.0}},{"outputSchema":{"oneOf":[]}}, 5,{"name":"c","outputSchema":true}],"nextCursor":"n"})");
  EXPECT_EQ(
      at(up(), {"result"}),
      R"({"tools":[{"name":"a","x":1},{"name":"b","outputSchema":{"type":"object","y":1.0}},{}, 5,{"name":"c"}],"nextCursor":"n"})");
}

TEST_F(LegacyFacadeTest, a_missing_resource_gets_the_legacy_code_only_if_the_error_names_its_uri) {
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

TEST_F(LegacyFacadeTest, modern_members_stay_in_results) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"prompts/list"})");
  const std::string_view result = R"({"resultType":"complete","ttlMs":5,"cacheScope":"public","prompts":[]})";
  answer("3", result);
  EXPECT_EQ(at(up(), {"result"}), result);
}

TEST_F(LegacyFacadeTest, a_request_is_answered_once) {
  call();
  answer("7", R"({"content":[]})");
  EXPECT_FALSE(up().empty());
  EXPECT_EQ(facade.lost("7"), "7");  // the generation still expects its answer
}

TEST_F(LegacyFacadeTest, a_lost_request_is_reported_by_the_generations_id) {
  call();
  EXPECT_EQ(facade.lost("7"), "7");
  call(8);
  require("8", "{}");
  EXPECT_EQ(facade.lost("8"), "");  // it was answered
  EXPECT_EQ(facade.lost(R"("retry-8-2")"), "");
  EXPECT_EQ(facade.lost(R"("retry-8-1")"), "8");
  EXPECT_EQ(facade.lost(R"("retry-8-1")"), "");
  call(9);
  require("9", fmt::format(R"({{"a":{}}})", roots));
  EXPECT_EQ(facade.lost("9"), "");  // it waits for its client
}

}  // namespace
}  // namespace mcpivot
