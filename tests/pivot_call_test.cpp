// pivot_call is one permission for many tools: the configuration says which servers it reaches, and its
// answers name their server.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"
#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

json::object through(const std::string& tool, const json::object& arguments = {}) {
  return {{"tool", tool}, {"arguments", arguments}};
}

// The answer of beta's `echo` to a direct call and by pivot_call; beta answers with this result.
std::pair<json::object, json::object> both_ways(const Strings& beta) {
  json::object servers = two();
  Strings arguments{"--only", "echo"};
  arguments.insert(arguments.end(), beta.begin(), beta.end());
  servers["beta"] = server(arguments, {{"active", true}});
  Client client(with(servers));
  start(client);
  json::object direct = client.call("beta__echo", {{"text", "x"}});
  json::object by_way = client.call("pivot_call", through("beta__echo", {{"text", "x"}}));
  direct.erase("id");
  by_way.erase("id");
  return {direct, by_way};
}

TEST(PivotCall, a_result_names_its_server_and_otherwise_equals_that_of_a_direct_call) {
  const std::string pixel = R"({"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"})";
  for (const std::string& result :
       {R"({"content":[)" + pixel + R"(,{"type":"text","text":"a"}],"_meta":{"x":1.50}})",
        std::string(R"({"content":[{"type":"text","text":"{}"}],"structuredContent":{"n":1}})"),
        std::string(R"({"content":[{"type":"text","text":"it failed"}],"isError":true})"),
        std::string(R"({"content":[]})")}) {
    SCOPED_TRACE(result);
    auto [direct, by_way] = both_ways({"--answer", "tools/call=" + result});
    json::array& content = by_way.at("result").at("content").as_array();
    ASSERT_FALSE(content.empty());
    EXPECT_EQ(content.front(),
              json::value({{"type", "text"}, {"text", R"([mcpivot] server "beta", tool "echo")"}}));
    content.erase(content.begin());
    EXPECT_EQ(by_way, direct);
  }
}

TEST(PivotCall, an_error_passes_unchanged) {
  const auto [direct, by_way] = both_ways({"--refuse", "tools/call=not today"});
  EXPECT_THAT(json::serialize(direct), HasSubstr("not today"));
  EXPECT_EQ(by_way, direct);
}

TEST(PivotCall, can_be_turned_off_and_on_again_in_the_file) {
  Client client(with(two(), {{"pivot_call", "off"}}));
  start(client);
  EXPECT_THAT(tools_of(client), AllOf(Contains("pivot_search"), Not(Contains("pivot_call"))));
  EXPECT_THAT(json::serialize(client.call("pivot_call", through("beta__echo", {{"text", "x"}}))),
              AllOf(HasSubstr("Unknown tool: pivot_call: the configuration turns it off"),
                    Not(HasSubstr("beta__echo"))));
  EXPECT_THAT(text_of(client.call("beta__echo")), Not(HasSubstr("pivot_call")));
  EXPECT_THAT(client.call_text("pivot_search", {{"query", "echo"}}),
              AllOf(HasSubstr("beta__echo (inactive: pivot_activate {\"server\": \"beta\"})"),
                    Not(HasSubstr("pivot_call"))));

  rewrite(client, file_of(two(), {{"pivot_call", "active"}}));
  const auto listed = [&] { return !with_prefix(tools_of(client), "pivot_call").empty(); };
  ASSERT_TRUE(wait_until(listed, soon()));
  EXPECT_EQ(own(client, "pivot_call", through("alpha__echo", {{"text", "up"}})), "up");
  EXPECT_THAT(
      text_of(client.call("pivot_call", through("beta__echo", {{"text", "x"}}))),
      HasSubstr("beta__echo was not called: the configuration doesn't let pivot_call reach \"beta\""));
  client.call("pivot_activate", {{"server", "beta"}});
  EXPECT_EQ(own(client, "pivot_call", through("beta__echo", {{"text", "up"}})), "up");
}

TEST(PivotCall, an_invalid_setting_allows_no_server_and_is_reported) {
  Client client(with(two(), {{"pivot_call", "al"}}));
  start(client);
  EXPECT_THAT(tools_of(client), Not(Contains("pivot_call")));
  EXPECT_THAT(client.call_text("pivot_status"),
              HasSubstr(R"("pivot_call" of the file must be "active", "all" or "off", not "al")"));
  EXPECT_TRUE(client.call("pivot_call", through("beta__echo")).contains("error"));
}

TEST(PivotCall, profiles_cannot_exceed_what_the_file_allows) {
  const TemporaryDirectory folder;
  const std::string file = folder.path() / "mcpivot.json";
  const std::string servers = R"("mcpServers": {"one": {"command": "${FAKE}", "active": true},
    "two": {"command": "${FAKE}", "pivot_call": false}, "three": {"command": "${FAKE}"}},
    "profiles": {"wide": {"control": ["build", "restart", "logs"]}}})";
  for (const bool off : {true, false}) {
    private_file(file, (off ? R"({"pivot_call": "off", )" : "{") + servers);
    const Serve serve({"--config", file});
    for (const Era era : {Era::legacy, Era::modern}) {
      WebClient client(serve, era);
      client.target = "/mcp/wide";
      if (era == Era::legacy) client.initialize();
      const std::string tools = json::serialize(client.request("tools/list"));
      EXPECT_EQ(tools.find("pivot_call") == std::string::npos, off) << tools;
      const auto calls = [&](const std::string& tool) {
        return json::serialize(client.call("pivot_call", through(tool, {{"text", "hello"}})));
      };
      if (off) {
        EXPECT_THAT(calls("one__echo"), HasSubstr("the configuration turns it off"));
        continue;
      }
      ASSERT_TRUE(
          wait_until([&] { return calls("three__echo").find("hello") != std::string::npos; }, soon()));
      ASSERT_TRUE(wait_until(
          [&] { return calls("two__echo").find("no tool is called") == std::string::npos; }, soon()));
      EXPECT_THAT(calls("two__echo"), HasSubstr("doesn't let pivot_call reach"));
    }
  }
}

}  // namespace
}  // namespace harness
