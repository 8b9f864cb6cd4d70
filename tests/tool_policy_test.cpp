// `allow` and `deny` apply to every way of making a call, and a mistake in them allows nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

const char* const denied = "db/delete";

// A server with one denied tool; the file "tap" contains everything that it receives.
json::object guarded(json::object rules = {{"deny", json::array{"*delete*"}}}, json::object more = {}) {
  more["active"] = true;
  more["tools"] = std::move(rules);
  return server({"--tap", "tap", "--journal", "journal", "--tool", denied}, std::move(more));
}

std::string received(Client& client) {
  return content_of(client.directory() / "tap");
}

std::string escaped(char letter) {
  const std::string digits = "0123456789abcdef";
  const auto code = static_cast<unsigned char>(letter);
  return std::string("\\u00") + digits[code / 16] + digits[code % 16];
}

// Every spelling of a call that a server might accept as one.
void try_all_calls(Client& client, const std::string& name) {
  const std::string quoted = json::serialize(json::value(name));
  for (const std::string& call : {
           R"("method":"tools/call","params":{"name":)" + quoted + "}",
           R"("method":"tools\/call","params":{"name":)" + quoted + R"(,"task":{"ttl":1000}})",
           R"("method":"tools/call","params":{"Name":)" + quoted + "}",
           R"("method":"tools/call","params":{"name":[)" + quoted + "]}",
           R"("method":"tools/call","params":[)" + quoted + "]",
           R"("method":"tools/call","params":{"name":")" + escaped(name.front()) + name.substr(1) + "\"}",
       }) {
    client.child().send_line(R"({"jsonrpc":"2.0","id":"try",)" + call + "}");
    EXPECT_TRUE(is_error(client.await("try"))) << call;
    client.child().send_line(R"({"jsonrpc":"2.0",)" + call + "}");
  }
}

TEST(ToolPolicy, a_denied_tool_of_a_lone_server_is_never_called) {
  Client client(with({{"alpha", guarded()}}));
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Contains("echo"), Not(Contains(denied))));
  try_all_calls(client, denied);
  EXPECT_EQ(run_mcpivot({"call", denied}, client.directory()).exit_code, 1);
  EXPECT_EQ(own(client, "echo", {{"text", "allowed"}}), "allowed");
  EXPECT_THAT(received(client), AllOf(HasSubstr("allowed"), Not(HasSubstr("elete"))));
}

TEST(ToolPolicy, applies_to_a_client_that_never_sends_initialize) {
  Client client(with({{"alpha", guarded()}}));
  try_all_calls(client, denied);
  EXPECT_THAT(text_of(client.request("tools/list")), HasSubstr("initialize"));
  EXPECT_EQ(own(client, "echo", {{"text", "allowed"}}), "allowed");
  EXPECT_THAT(received(client), AllOf(HasSubstr("allowed"), Not(HasSubstr("elete"))));
}

TEST(ToolPolicy, a_denied_tool_in_a_fleet_is_never_called) {
  Client client(with({{"alpha", guarded()}, {"beta", server({})}}));
  start(client);
  for (const char* name : {"alpha__db_delete", denied}) {
    try_all_calls(client, name);
    EXPECT_TRUE(is_error(client.call("pivot_call", {{"tool", name}})));
    EXPECT_EQ(run_mcpivot({"call", name}, client.directory()).exit_code, 1);
    EXPECT_EQ(
        run_mcpivot({"call", "pivot_call", json::serialize(json::object{{"tool", name}})}, client.directory())
            .exit_code,
        1);
  }
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "allowed"}}), "allowed");
  EXPECT_THAT(received(client), AllOf(HasSubstr("allowed"), Not(HasSubstr("elete"))));
}

TEST(ToolPolicy, an_empty_allow_allows_nothing) {
  Client client(with({{"alpha", guarded({{"allow", json::array()}})}}));
  client.initialize();
  EXPECT_THAT(tools_of(client), Not(Contains("echo")));
  EXPECT_TRUE(is_error(client.call("echo", {{"text", "not allowed"}})));
  EXPECT_THAT(received(client), Not(HasSubstr("not allowed")));
}

TEST(ToolPolicy, an_invalid_pattern_excludes_the_server_and_is_reported_with_its_position) {
  for (const char* pattern : {"{delete,read", "dele[te"}) {
    Client client(with({{"alpha", guarded({{"deny", json::array{pattern}}})}, {"beta", server({})}}));
    start(client, {"beta"});
    EXPECT_THAT(client.call_text("pivot_status"),
                AllOf(HasSubstr("mcpivot.json:1:"), HasSubstr(pattern), Not(HasSubstr("alpha: active"))));
    const Outcome check = run_mcpivot({"check", "mcpivot.json"}, client.directory(), {{"FAKE", "fake"}});
    EXPECT_EQ(check.exit_code, 1);
    EXPECT_THAT(check.out + check.err, AllOf(HasSubstr("mcpivot.json:1:"), HasSubstr(pattern)));
  }
}

TEST(ToolPolicy, a_changed_file_also_applies_to_waiting_and_replayed_calls) {
  // Its second life waits at a gate.
  const json::array arguments = {"-c",
                                 "test -e lived && cat gate; touch lived; "
                                 "exec \"$0\" --tap tap --journal journal --tool \"$1\"",
                                 "${FAKE}", denied};
  const auto file = [&](json::array deny) {
    const json::object alpha = {{"command", "sh"},
                                {"args", arguments},
                                {"replay", json::array{denied}},
                                {"tools", {{"deny", std::move(deny)}}}};
    return file_of({{"alpha", alpha}});
  };
  Client client({.config = file({})});
  Gate gate(client.directory() / "gate");
  client.initialize();
  EXPECT_FALSE(is_error(client.call(denied, {{"n", "first"}})));
  client.call("crash");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto waiting = client.send_call(denied, {{"n", "second"}});
  ASSERT_TRUE(wait_status(client, "waiting", "1")) << client.call_text("pivot_status");
  rewrite(client, file({"*delete"}));
  client.expect_notification("notifications/tools/list_changed");
  ASSERT_TRUE(wait_until([&] { return std::ranges::count(tools_of(client), denied) == 0; }, soon()));
  gate.open();
  EXPECT_TRUE(is_error(client.await(waiting)));
  EXPECT_EQ(own(client, "echo", {{"text", "allowed"}}), "allowed");
  EXPECT_THAT(content_of(client.directory() / "journal"),
              AllOf(HasSubstr("first"), HasSubstr("allowed"), Not(HasSubstr("second"))));
  EXPECT_THAT(lines_of(client.directory() / "journal"), testing::SizeIs(3)) << "first, crash, echo";
}

}  // namespace
}  // namespace harness
