#include "gateway/client_state.h"

#include <gtest/gtest.h>

#include <boost/json.hpp>

namespace mcpivot {
namespace {

namespace json = boost::json;

// A value in every member, with everything that JSON must escape.
ClientState rich() {
  ClientState state;
  state.hello = R"({"protocolVersion":"2025-06-18","clientInfo":{"name":"é \"x\""}})";
  state.level = R"({"jsonrpc":"2.0","id":1,"method":"logging/setLevel","params":{"level":"info"}})";
  state.notices = "[mcpivot] one\n\ttwo \\ three";
  state.names_seen = {{"alpha", Naming::bare}, {"beta", Naming::prefixed}};
  state.servers["alpha"] = {
      .active = true,
      .replay = {.log_level = "\"info\"",
                 .subscriptions = {"sim://b", "sim://a"},
                 .calls = {{{"device", "platform", "ios"}, R"({"name":"device","arguments":{}})"},
                           {{"again", "", ""}, R"({"name":"again"})"}}},
      .tasks = {"7", "\"t\""}};
  state.servers["beta \"x\""] = {};
  state.questions = {"1", "2"};
  return state;
}

TEST(ClientState, is_the_same_after_being_written_and_read) {
  for (const ClientState& state : {ClientState(), rich()}) {
    const auto again = client_state_from(to_json(state));
    ASSERT_TRUE(again) << again.error();
    EXPECT_EQ(*again, state);
  }
}

TEST(ClientState, nonsense_is_an_error) {
  for (const char* text : {"", "{", "[]", "{}", "7"}) {
    const auto state = client_state_from(text);
    ASSERT_FALSE(state) << text;
    EXPECT_TRUE(state.error().starts_with("not the state of a client: ")) << state.error();
  }
}

// With something else at this path.
void expect_refused(const json::value& whole, const std::string& path) {
  json::value changed = whole;
  json::value& here = changed.at_pointer(path);
  for (json::value other : {json::value(7), json::value(json::array{7})}) {
    here = std::move(other);
    EXPECT_FALSE(client_state_from(json::serialize(changed))) << json::serialize(changed);
  }
}

TEST(ClientState, a_member_of_the_wrong_type_is_an_error) {
  const json::value whole = json::parse(to_json(rich()));
  for (const char* path :
       {"/hello", "/level", "/notices", "/names", "/names/alpha", "/servers", "/servers/alpha",
        "/servers/alpha/active", "/servers/alpha/level", "/servers/alpha/subscriptions",
        "/servers/alpha/subscriptions/0", "/servers/alpha/calls", "/servers/alpha/calls/0",
        "/servers/alpha/calls/0/params", "/servers/alpha/tasks", "/questions", "/questions/0"})
    expect_refused(whole, path);
}

TEST(ClientState, a_missing_member_is_an_error) {
  const json::value whole = json::parse(to_json(rich()));
  for (const auto& [key, value] : whole.as_object()) {
    json::object without = whole.as_object();
    without.erase(key);
    EXPECT_FALSE(client_state_from(json::serialize(without))) << key;
  }
}

}  // namespace
}  // namespace mcpivot
