// A gateway has servers of both eras, and CLIs, for a client of either. A modern client's lists never
// depend on what it asks.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"
#include "era_questions.h"

namespace harness {
namespace {

namespace json = boost::json;
using namespace questions;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::IsSupersetOf;
using testing::Not;
using testing::StartsWith;

// One of each era, both active, and an inactive one of each.
json::object mixed() {
  return {
      {"old",
       server({"--name", "old", "--prompt", "old_prompt", "--resource", "old://r"}, {{"active", true}})},
      {"new", server({"--era", "modern", "--name", "new", "--prompt", "new_prompt", "--resource", "new://r"},
                     {{"active", true}})},
      {"old_idle", server({"--only", "echo,require,ask"})},
      {"new_idle", server({"--era", "modern", "--only", "echo,require,ask"})}};
}

const Strings names = {"old", "new", "old_idle", "new_idle"};

class EraGateway : public testing::TestWithParam<Era> {
 protected:
  void SetUp() override {
    greet(client_, GetParam());
    wait_ready(client_, names);
  }
  // Calls a tool, and answers whatever is asked meanwhile: the complete call, in the client's era.
  json::object call_and_answer(const json::object& params, const json::value& response) {
    if (GetParam() == Era::legacy) {
      const auto id = client_.send("tools/call", params);
      while (client_.answers.empty()) {
        if (!client_.receive(soon())) return {};
        while (!client_.requests.empty()) {
          client_.answer(client_.requests.front(), response);
          client_.requests.pop_front();
        }
      }
      return client_.await(id);
    }
    json::object answer = client_.request("tools/call", params);
    for (int round = 0; round < 5 && wants_input(answer); ++round)
      answer = client_.request("tools/call", retry_of(params, answer, response));
    return answer;
  }

  Client client_{with(mixed())};
};

INSTANTIATE_TEST_SUITE_P(Clients, EraGateway, testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return text(era.param); });

TEST_P(EraGateway, reaches_servers_of_both_eras) {
  for (const std::string name : {"old", "new"}) {
    SCOPED_TRACE(name);
    EXPECT_EQ(own(client_, name + "__echo", {{"text", name}}), name);
    EXPECT_THAT(json::serialize(client_.request("prompts/get", {{"name", name + "__" + name + "_prompt"}})),
                HasSubstr(name + "_prompt you"));
    EXPECT_THAT(json::serialize(client_.request("resources/read", {{"uri", name + "://r"}})),
                HasSubstr("the text of " + name + "://r"));
  }
  EXPECT_THAT(names_in(client_.request("prompts/list"), "prompts"),
              IsSupersetOf({"old__old_prompt", "new__new_prompt"}));
  EXPECT_THAT(names_in(client_.request("resources/list"), "resources", "uri"),
              IsSupersetOf({"old://r", "new://r"}));
}

TEST_P(EraGateway, passes_on_questions_of_both_eras) {
  for (const std::string name : {"old", "new"}) {
    const json::object answer = call_and_answer(
        call_of(name + "__require", rounds({round_of(form), round_of(form, "t")})), accepted());
    EXPECT_FALSE(is_error(answer)) << json::serialize(answer);
    EXPECT_THAT(own_text(answer), HasSubstr(R"("action":"accept")"));
  }
}

TEST_P(EraGateway, passes_on_questions_of_inactive_servers_during_pivot_call) {
  for (const std::string name : {"old_idle", "new_idle"}) {
    SCOPED_TRACE(name);
    const json::object through = {{"tool", name + "__require"}, {"arguments", rounds({round_of(form)})}};
    const json::object answer = call_and_answer(call_of("pivot_call", through), accepted());
    EXPECT_FALSE(is_error(answer)) << json::serialize(answer);
    EXPECT_THAT(own_text(answer), HasSubstr(R"("action":"accept")"));
    EXPECT_EQ(own(client_, "pivot_call", {{"tool", name + "__echo"}, {"arguments", {{"text", "through"}}}}),
              "through");
  }
}

TEST_P(EraGateway, reports_a_crash_without_affecting_other_servers) {
  for (const std::string name : {"old", "new"}) {
    SCOPED_TRACE(name);
    const std::string other = name == "old" ? "new" : "old";
    const auto sleeping = client_.send_call(other + "__sleep", {{"ms", 100}});
    const json::object answer = client_.call(name + "__crash", {{"signal", "SIGSEGV"}});
    EXPECT_THAT(text_of(answer),
                AllOf(StartsWith("[mcpivot] \"" + name + "\" (generation "), HasSubstr("SIGSEGV")));
    EXPECT_EQ(own_text(client_.await(sleeping)), "slept 100 ms");
    EXPECT_EQ(own(client_, name + "__echo", {{"text", "again"}}), "again");
  }
}

TEST_P(EraGateway, finds_tools_of_both_eras) {
  const std::string found =
      client_.call_text("pivot_search", {{"query", "needs answers, round after round"}});
  for (const std::string& name : names) EXPECT_THAT(found, HasSubstr(name + "__require"));
  EXPECT_EQ(found.contains("pivot_activate"), false);
}

TEST_P(EraGateway, offers_activation_only_to_legacy_clients) {
  const Strings tools = tools_of(client_);
  for (const char* name : {"pivot_activate", "pivot_deactivate"})
    EXPECT_EQ(testing::Value(tools, Contains(name)), GetParam() == Era::legacy) << name;
  EXPECT_THAT(tools,
              IsSupersetOf({"pivot_search", "pivot_call", "pivot_status", "pivot_restart", "pivot_logs"}));
  if (GetParam() == Era::legacy) return;
  EXPECT_TRUE(is_error(client_.call("pivot_activate", {{"server", "old_idle"}})));
  const json::object hint = client_.call("old_idle__echo", {{"text", "x"}});
  EXPECT_TRUE(is_error(hint));
  EXPECT_THAT(text_of(hint), AllOf(HasSubstr("pivot_call"), Not(HasSubstr("pivot_activate"))));
}

TEST_P(EraGateway, does_not_change_its_lists_as_a_side_effect) {
  const Strings before = tools_of(client_);
  client_.call("pivot_search", {{"query", "answers with the text"}});
  client_.call("pivot_call", {{"tool", "old_idle__echo"}, {"arguments", {{"text", "x"}}}});
  client_.call("old_idle__echo", {{"text", "x"}});
  if (GetParam() == Era::modern) client_.call("pivot_activate", {{"server", "old_idle"}});
  EXPECT_EQ(tools_of(client_), before);
}

TEST_P(EraGateway, sends_lists_and_results_in_the_clients_era) {
  const bool modern = GetParam() == Era::modern;
  for (const char* method : {"tools/list", "prompts/list", "resources/list", "resources/templates/list"}) {
    const json::object result = client_.request(method).at("result").as_object();
    EXPECT_EQ(result.contains("resultType"), modern) << method;
    EXPECT_EQ(result.contains("ttlMs") && result.contains("cacheScope"), modern) << method;
  }
  for (const char* tool : {"pivot_status", "pivot_search", "pivot_logs"})
    EXPECT_EQ(client_.call(tool, {{"query", "x"}, {"server", "old"}})
                  .at("result")
                  .as_object()
                  .contains("resultType"),
              modern)
        << tool;
  EXPECT_EQ(code_of(client_.request("resources/read", {{"uri", "nobody://"}})), modern ? -32602 : -32002);
}

// ---- CLIs.

TEST(EraOfClis, does_not_matter_to_clients) {
  const FakeCli cli({cli_tool("show", {"args", "{what}"}, {{"what", any_string}})});
  for (const Era era : {Era::legacy, Era::modern}) {
    Client client = cli.client();
    greet(client, era);
    EXPECT_THAT(tools_of(client), Contains("show"));
    const json::object answer = client.call("show", {{"what", "this"}});
    EXPECT_THAT(arguments_in(answer), Contains("this"));
    EXPECT_EQ(answer.at("result").as_object().contains("resultType"), era == Era::modern);
    EXPECT_THAT(client.requests, IsEmpty());
  }
}

TEST(EraOfClis, a_change_of_tools_reaches_a_modern_listener) {
  FakeCli cli({cli_tool("show", {"show"})});
  Client client = cli.client();
  greet(client, Era::modern);
  const auto id = listen(client, {{"toolsListChanged", true}});
  cli.describe({cli_tool("show", {"show"}), cli_tool("hide", {"hide"})});
  client.child().signal(SIGHUP);
  EXPECT_EQ(subscription_of(client.expect_notification("notifications/tools/list_changed")), id);
  EXPECT_THAT(tools_of(client), Contains("hide"));
}

}  // namespace
}  // namespace harness
