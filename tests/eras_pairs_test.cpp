// What mcpivot does for a session works in all four pairs of a client and a server: notices, crash
// reports, new generations, changes of lists, replay.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "eras.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

class EraPairs : public testing::TestWithParam<EraPair> {
 protected:
  Era era() const { return GetParam().client; }
  // A client of its era, with a server of its era.
  void start(const Strings& server = {}, const Strings& options = {}) {
    Strings all = of_era(GetParam().server, {"--script", "script", "--journal", "journal"});
    all.insert(all.end(), server.begin(), server.end());
    run_ = std::make_unique<EraRuns>(all);
    run_->script(json::object());
    client_ = std::make_unique<Client>(run_->run(options));
    greet(client(), era());
  }
  Client& client() { return *client_; }
  // From its next start on, the server also has this.
  void change(const json::object& options) { run_->script(options); }
  Strings journal() const { return lines_of(run_->folder() / "journal"); }

  // The client asks to be told of changed lists; and it is told, once.
  void listen_to_tools() {
    if (era() == Era::modern) listen_ = listen(client(), {{"toolsListChanged", true}});
  }
  void expect_change() {
    const json::object told = client().expect_notification("notifications/tools/list_changed");
    EXPECT_EQ(subscription_of(told), listen_ ? json::value(*listen_) : json::value());
  }
  void expect_no_more_changes() {
    settle(client());
    for (const json::object& told : client().notifications)
      EXPECT_NE(told.at("method"), "notifications/tools/list_changed");
  }
  void reload() {
    const std::string next = std::to_string(std::stoi(status_of(client(), "generation")) + 1);
    client().child().signal(SIGHUP);
    ASSERT_TRUE(wait_status(client(), "generation", next));
  }

 private:
  std::unique_ptr<EraRuns> run_;
  std::unique_ptr<Client> client_;
  std::optional<std::int64_t> listen_;
};

INSTANTIATE_TEST_SUITE_P(All, EraPairs, every_pair, name_of);

TEST_P(EraPairs, a_notice_is_added_to_the_next_tool_result) {
  start();
  change({{"tool", "fresh"}});
  reload();
  const json::object answer = client().call("echo", {{"text", "hello"}});
  EXPECT_EQ(blocks(answer), 2U);
  EXPECT_THAT(text_of(answer),
              AllOf(StartsWith("[mcpivot] "), HasSubstr("generation 2"), HasSubstr("tools: +fresh")));
  EXPECT_EQ(own_text(answer), "hello");
  EXPECT_EQ(blocks(client().call("echo")), 1U);
}

TEST_P(EraPairs, a_crash_is_reported_to_each_call_in_flight_and_the_session_continues) {
  start();
  const auto sleeping = client().send_call("sleep", {{"ms", for_ever}});
  const auto crashing = client().send_call("crash", {{"signal", "SIGSEGV"}, {"stderr", "out of cheese"}});
  for (const auto id : {sleeping, crashing}) {
    const json::object answer = client().await(id);
    ASSERT_TRUE(answer.contains("result")) << json::serialize(answer);
    EXPECT_TRUE(is_error(answer));
    EXPECT_THAT(text_of(answer),
                AllOf(StartsWith("[mcpivot] "), HasSubstr("SIGSEGV"), HasSubstr("out of cheese")));
    EXPECT_EQ(answer.at("result").as_object().contains("resultType"), era() == Era::modern);
  }
  EXPECT_EQ(own(client(), "echo", {{"text", "again"}}), "again");
  EXPECT_THAT(client().answers, IsEmpty());
}

TEST_P(EraPairs, a_crash_with_nothing_in_flight_is_reported_in_the_next_tool_result) {
  start();
  const pid_t server = server_pid(client());
  kill(server, SIGKILL);
  ASSERT_TRUE(wait_gone({server}));
  const json::object answer = client().call("echo", {{"text", "again"}});
  EXPECT_THAT(text_of(answer),
              AllOf(StartsWith("[mcpivot] "), HasSubstr("SIGKILL"), HasSubstr("generation 2")));
  EXPECT_EQ(own_text(answer), "again");
}

TEST_P(EraPairs, a_call_in_flight_ends_in_its_own_generation) {
  start();
  const auto id = client().send_call("sleep", {{"ms", 300}});
  settle(client());
  const pid_t old = server_pid(client());
  client().call("pivot_restart");
  EXPECT_NE(server_pid(client()), old);
  EXPECT_EQ(own_text(client().await(id)), "slept 300 ms");
  EXPECT_TRUE(wait_gone({old})) << "what is held open at it keeps nothing alive";
}

TEST_P(EraPairs, a_list_that_the_server_changes_is_announced_once) {
  start();
  listen_to_tools();
  settle(client());
  client().call("mutate");
  expect_change();
  expect_no_more_changes();
  EXPECT_THAT(tools_of(client()), Contains("mutant_1"));
}

TEST_P(EraPairs, a_list_changed_by_a_new_generation_is_announced_once_as_are_later_changes) {
  start();
  listen_to_tools();
  change({{"tool", "fresh"}});
  reload();
  expect_change();
  expect_no_more_changes();
  EXPECT_THAT(tools_of(client()), Contains("fresh"));
  client().call("mutate");
  expect_change();
  expect_no_more_changes();
  EXPECT_THAT(tools_of(client()), Contains("mutant_1"));
}

TEST_P(EraPairs, a_resource_update_is_announced_in_each_generation) {
  start();
  json::value id;
  if (era() == Era::modern)
    id = listen(client(), {{"resourceSubscriptions", json::array{"fake://hello"}}});
  else
    client().request("resources/subscribe", {{"uri", "fake://hello"}});
  for (int generation = 1; generation <= 3; ++generation) {
    SCOPED_TRACE(generation);
    // A held subscription may be opened after the first call has passed.
    json::object told;
    ASSERT_TRUE(wait_until(
        [&] {
          client().call("touch", {{"uri", "fake://hello"}});
          settle(client());
          if (client().notifications.empty()) return false;
          told = client().expect_notification("notifications/resources/updated");
          return true;
        },
        soon()));
    EXPECT_EQ(told.at("params").at("uri"), "fake://hello");
    EXPECT_EQ(subscription_of(told), id);
    client().notifications.clear();
    client().call("touch", {{"uri", "fake://item/1"}});
    settle(client());
    EXPECT_THAT(client().notifications, IsEmpty());
    if (generation == 1) client().call("pivot_restart");
    if (generation == 2) client().call("crash");
  }
}

TEST_P(EraPairs, progress_reaches_the_client_under_its_own_token) {
  start();
  const auto id = send_with_token(client(), "sleep", {{"ms", 20}, {"steps", 4}});
  EXPECT_FALSE(is_error(client().await(id)));
  ASSERT_EQ(client().notifications.size(), 4U);
  for (const json::object& told : client().notifications)
    EXPECT_EQ(told.at("params").at("progressToken"), "mine");
}

TEST_P(EraPairs, a_log_message_reaches_a_client_that_wants_it) {
  start();
  if (era() == Era::modern)
    (*client().meta)[level_key] = "warning";
  else
    client().request("logging/setLevel", {{"level", "warning"}});
  client().call("log", {{"level", "info"}, {"text", "quiet"}});
  client().call("log", {{"level", "error"}, {"text", "loud"}});
  EXPECT_EQ(client().expect_notification("notifications/message").at("params").at("data"), "loud");
  EXPECT_THAT(client().notifications, IsEmpty());
}

TEST_P(EraPairs, a_call_to_be_replayed_is_repeated_in_each_generation) {
  start({"--tool", "connect"}, {"--replay", "connect"});
  client().call("connect", {{"to", "a"}});
  client().call("pivot_restart");
  client().call("crash");
  EXPECT_EQ(own(client(), "echo", {{"text", "on"}}), "on");
  Strings connects;
  for (const std::string& line : journal())
    if (line.contains("connect")) connects.push_back(line.substr(line.find(' ') + 1));
  EXPECT_THAT(connects,
              ElementsAre(R"(connect {"to":"a"})", R"(connect {"to":"a"})", R"(connect {"to":"a"})"));
  EXPECT_THAT(client().answers, IsEmpty());
}

TEST_P(EraPairs, an_unanswered_call_times_out_and_a_listen_does_not) {
  start({}, {"--call-timeout", "300ms"});
  listen_to_tools();
  const json::object answer = client().call("sleep", {{"ms", for_ever}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("call-timeout"));
  EXPECT_EQ(state_of(client()).at("cancelled").as_array().size(), 1U);
  client().call("mutate");
  expect_change();
  EXPECT_THAT(client().answers, IsEmpty());
}

TEST_P(EraPairs, the_next_client_is_answered_before_its_server_is_ready) {
  const EraRuns runs(of_era(GetParam().server,
                            {"--life", "2+", "--delay", "initialize=200", "--delay", "server/discover=200"}));
  const auto list = [&](Client& client) {
    if (era() == Era::legacy) client.initialize("2025-11-25");
    if (era() == Era::modern) client.meta = modern_meta();
    return json::serialize(client.request("tools/list").at("result").at("tools"));
  };
  Client first(runs.run());
  const std::string before = list(first);
  first.call("echo");
  Client second(runs.run());
  EXPECT_EQ(list(second), before);
  EXPECT_EQ(status_of(second, "state"), "starting");
  EXPECT_EQ(text_of(second.call("echo", {{"text", "on"}})), "on");
}

}  // namespace
}  // namespace harness
