#include "server/shared_instance.h"

#include "gateway/shared_fixture.h"

namespace mcpivot {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// --- one instance for all

TEST_F(SharedServer, runs_once_and_answers_each_of_its_clients) {
  EXPECT_EQ(world.alive(), 1);
  EXPECT_EQ(&ann->instance(), &bob->instance());
  EXPECT_THAT(ann->call(), HasSubstr("canary-ann"));
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));
}

TEST_F(SharedServer, has_its_handshake_only_with_mcpivot) {
  ASSERT_THAT(sent("initialize"), SizeIs(1));
  EXPECT_THAT(sent("initialize")[0], HasSubstr(R"("capabilities":{},"clientInfo":{"name":"mcpivot")"));
}

TEST_F(SharedServer, is_presented_in_the_protocol_version_of_each_client) {
  EXPECT_THAT(bob->answer_to("1"), HasSubstr(R"("serverInfo":{"name":"alpha")"));
  EXPECT_THAT(bob->answer_to("1"), HasSubstr(R"("protocolVersion":"2025-06-18")"));
}

TEST_F(SharedServer, outlives_a_client_and_ends_with_the_last) {
  ann->leave();
  EXPECT_EQ(world.alive(), 1);
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));
  bob->leave();
  EXPECT_EQ(world.alive(), 0);
}

TEST_F(SharedServer, a_client_that_arrives_after_all_others_left_gets_a_new_instance) {
  ann->leave();
  bob->leave();
  Client cleo(*this, "canary-cleo");
  EXPECT_THAT(cleo.call(), HasSubstr("canary-cleo"));
  EXPECT_EQ(world.alive(), 1);
}

TEST_F(SharedServer, that_was_stopped_is_started_by_a_call_not_by_a_new_client) {
  ann->ask("tools/call", R"({"name":"pivot_restart","arguments":{"stop":true}})");
  ASSERT_EQ(world.alive(), 0);
  Client cleo(*this, "canary-cleo");
  EXPECT_EQ(world.alive(), 0);
  EXPECT_THAT(cleo.call(), HasSubstr("canary-cleo"));
}

// --- what belongs to which client

TEST_F(SharedServer, a_cancellation_does_not_touch_the_call_of_another_with_the_same_id) {
  const std::string of_ann = ann->start_call(R"(,"after":200)");
  const std::string of_bob = bob->start_call(R"(,"after":200)");
  ASSERT_EQ(of_ann, of_bob);
  ann->cancel(of_ann);
  pass(500ms);
  EXPECT_EQ(ann->answer_to(of_ann), "");
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("canary-bob"));
}

TEST_F(SharedServer, progress_goes_only_to_the_caller) {
  ann->send("tools/call", R"({"name":"work","arguments":{"n":0,"canary":"canary-ann","do":"flood"},)"
                          R"("_meta":{"progressToken":"t"}})");
  pass(100ms);
  EXPECT_THAT(ann->heard, Contains(HasSubstr("notifications/progress")));
  EXPECT_THAT(bob->heard, Not(Contains(HasSubstr("notifications/progress"))));
}

TEST_F(SharedServer, a_log_message_goes_to_nobody) {
  ann->call();
  blurt("log");
  for (const Client* client : {ann.get(), bob.get()})
    EXPECT_THAT(client->heard, Not(Contains(HasSubstr("notifications/message"))));
}

TEST_F(SharedServer, a_changed_list_is_announced_to_every_client) {
  blurt("tools");
  pass(1s);
  for (const Client* client : {ann.get(), bob.get()})
    EXPECT_THAT(client->heard, Contains(HasSubstr("notifications/tools/list_changed")));
}

TEST_F(SharedServer, an_update_goes_only_to_subscribers) {
  const char* const one = R"({"uri":"sim://alpha/one"})";
  const auto updates = [](const Client& client) {
    return std::ranges::count_if(
        client.heard, [](const auto& line) { return line.find("resources/updated") != std::string::npos; });
  };
  ann->ask("resources/subscribe", one);
  blurt("updated");
  EXPECT_EQ(updates(*ann), 1);
  EXPECT_EQ(updates(*bob), 0);
  bob->ask("resources/subscribe", one);
  ann->ask("resources/unsubscribe", one);
  EXPECT_THAT(sent("resources/unsubscribe"), IsEmpty()) << "somebody still wants it";
  blurt("updated");
  EXPECT_EQ(updates(*ann), 1);
  EXPECT_EQ(updates(*bob), 1);
  bob->leave();
  EXPECT_THAT(sent("resources/unsubscribe"), SizeIs(1)) << "with the last who wanted it";
}

TEST_F(SharedServer, a_question_is_rejected_and_reaches_no_client) {
  blurt("ask");
  const std::string answered = ann->call(R"(,"do":"ask")");
  EXPECT_THAT(answered, HasSubstr("canary-ann")) << "the server goes on";
  for (const Client* client : {ann.get(), bob.get()})
    EXPECT_THAT(client->heard, Not(Contains(HasSubstr("roots/list"))));
}

TEST_F(SharedServer, a_task_is_visible_only_to_the_client_that_started_it) {
  ann->send("tools/call",
            R"({"name":"work","arguments":{"n":7,"canary":"canary-ann"},"task":{"ttl":60000}})");
  pass(100ms);
  const char* const task = R"({"taskId":"alpha-1-7"})";
  EXPECT_THAT(bob->ask("tasks/result", task), HasSubstr("Unknown task"));
  EXPECT_THAT(bob->ask("tasks/list", "{}"), HasSubstr("Method not found"));
  EXPECT_THAT(ann->ask("tasks/get", task), HasSubstr("working"));
  ann->leave();
  EXPECT_THAT(sent("tasks/cancel"), ElementsAre(HasSubstr(task)));
}

TEST_F(SharedServer, notifications_about_a_client_do_not_reach_it) {
  ann->notify("notifications/roots/list_changed");
  pass(50ms);
  EXPECT_THAT(sent("notifications/roots/list_changed"), IsEmpty());
}

// --- what the next generation is sent

TEST_F(SharedServer, uses_the_most_verbose_log_level_of_its_clients) {
  ann->ask("logging/setLevel", R"({"level":"debug"})");
  bob->ask("logging/setLevel", R"({"level":"error"})");
  EXPECT_THAT(sent("logging/setLevel").back(), HasSubstr("debug"));
  ann->leave();
  EXPECT_THAT(sent("logging/setLevel").back(), HasSubstr("error"));
}

TEST_F(SharedServer, the_last_call_is_replayed_no_matter_which_client_made_it) {
  ann->tool = bob->tool = "again";
  ann->call();
  bob->call();
  const std::size_t before = sent("tools/call").size();
  kill();
  const std::vector<std::string> calls = sent("tools/call");
  ASSERT_EQ(calls.size(), before + 1);
  EXPECT_THAT(calls.back(), HasSubstr("canary-bob"));
}

// --- how it ends

TEST_F(SharedServer, a_crash_report_names_only_the_clients_own_call_and_no_stderr) {
  const std::string of_ann = ann->start_call(R"(,"do":"hang")");
  const std::string other = bob->send("prompts/get", R"({"name":"greet"})");
  const std::string of_bob = bob->start_call(R"(,"do":"die","after":20)");
  pass(1s);
  EXPECT_THAT(ann->answer_to(of_ann), HasSubstr(R"(while running the tool \"work\")"));
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("was killed by SIGSEGV"));
  EXPECT_NE(bob->answer_to(other), "");
  for (const Client* client : {ann.get(), bob.get()})
    EXPECT_THAT(client->heard, Not(Contains(HasSubstr("panic"))));
}

TEST_F(SharedServer, a_crash_is_also_reported_to_clients_without_a_call_in_flight) {
  ann->call(R"(,"do":"die")");
  EXPECT_THAT(bob->desk().state().notices, HasSubstr("was killed by SIGSEGV"));
}

TEST_F(SharedServer, a_restart_is_reported_to_the_other_clients) {
  const std::string answer = ann->ask("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  EXPECT_THAT(answer, HasSubstr("generation 2"));
  EXPECT_THAT(bob->call(), HasSubstr("generation 2"));
  EXPECT_THAT(ann->call(), Not(HasSubstr("generation 2"))) << "it has been told";
}

TEST_F(SharedServer, its_stderr_is_shown_to_no_client) {
  EXPECT_THAT(ann->ask("tools/call", R"({"name":"pivot_logs","arguments":{}})"),
              HasSubstr("is shared with other clients"));
}

TEST_F(SharedServer, a_client_that_does_not_read_gets_an_error_and_blocks_no_other) {
  bob->stuffed = true;
  const std::string id = bob->start_call();
  pass(100ms);
  EXPECT_THAT(bob->answer_to(id), HasSubstr("isn't reading"));
  EXPECT_THAT(ann->call(), HasSubstr("canary-ann"));
}

// --- another configuration

TEST_F(SharedServer, a_new_configuration_restarts_it_once) {
  gateway->configure(simulation::fleet_from("alpha=process,shared,replay,v:2"));
  pass(2s);
  EXPECT_EQ(ann->instance().status().past.starts, 2);
}

TEST_F(SharedServer, removed_from_one_profile_still_serves_the_others) {
  open_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"});
  ASSERT_THAT(ann->call(), HasSubstr("canary-ann"));
  const std::string under_way = ann->start_call(R"(,"after":300)");
  pass(20ms);
  gateway->configure(with_profiles({"beta", "gamma"}, {"alpha", "beta", "gamma"}));
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));
  EXPECT_THAT(ann->answer_to(under_way), HasSubstr("canary-ann")) << "it had begun";
  EXPECT_THAT(ann->call(), HasSubstr("Unknown tool: alpha__work"));
  EXPECT_EQ(lives_of("alpha"), 1);

  gateway->configure(with_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"}));
  pass(500ms);
  EXPECT_THAT(ann->call(), HasSubstr("canary-ann")) << "it has it again";
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));

  gateway->configure(with_profiles({"beta", "gamma"}, {"beta", "gamma"}));
  pass(3s);
  EXPECT_EQ(lives_of("alpha"), 0) << "it ends with the last profile that had it";
}

TEST_F(SharedServer, returned_to_a_profile_during_a_call_is_the_same_instance) {
  open_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"});
  const std::string under_way = ann->start_call(R"(,"after":300)");
  pass(20ms);
  gateway->configure(with_profiles({"beta", "gamma"}, {"alpha", "beta", "gamma"}));
  gateway->configure(with_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"}));
  pass(1s);
  EXPECT_THAT(ann->answer_to(under_way), HasSubstr("canary-ann"));
  EXPECT_THAT(ann->call(), HasSubstr("canary-ann"));
  EXPECT_EQ(lives_of("alpha"), 1);
}

TEST_F(SharedServer, removed_from_one_profile_ends_with_the_last_client_of_the_others) {
  open_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"});
  const std::string under_way = ann->start_call(R"(,"after":300)");
  pass(20ms);
  gateway->configure(with_profiles({"beta", "gamma"}, {"alpha", "beta", "gamma"}));
  bob->leave(100ms, 3s);
  EXPECT_THAT(ann->answer_to(under_way), HasSubstr("canary-ann"));
  EXPECT_EQ(lives_of("alpha"), 0);
}

TEST_F(SharedServer, a_waiting_call_is_dropped_when_its_profile_loses_the_server) {
  open_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"});
  world.scripts().of("alpha").births = {simulation::Birth::slow};
  world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
  pass(50ms);
  const std::string of_ann = ann->start_call();
  const std::string of_bob = bob->start_call();
  pass(50ms);
  gateway->configure(with_profiles({"beta", "gamma"}, {"alpha", "beta", "gamma"}));
  pass(3s);
  EXPECT_THAT(ann->answer_to(of_ann), HasSubstr("Unknown tool"));
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("canary-bob"));
  EXPECT_THAT(sent("tools/call"), SizeIs(1));
}

TEST_F(SharedServer, no_waiting_request_is_sent_after_its_profile_loses_the_server) {
  open_profiles({"alpha", "beta", "gamma"}, {"alpha", "beta", "gamma"});
  world.scripts().of("alpha").births = {simulation::Birth::slow};
  world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
  pass(50ms);
  const auto ask = [](Client& client) { return client.send("prompts/get", R"({"name":"alpha__greet"})"); };
  const std::string of_ann = ask(*ann);
  const std::string of_bob = ask(*bob);
  pass(50ms);
  gateway->configure(with_profiles({"beta", "gamma"}, {"alpha", "beta", "gamma"}));
  pass(3s);
  EXPECT_THAT(ann->answer_to(of_ann), HasSubstr(R"(no longer lets this client use the server \"alpha\")"));
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr(R"("result")"));
  EXPECT_THAT(sent("prompts/get"), SizeIs(1));
}

TEST_F(SharedServer, that_is_no_longer_shared_is_started_for_each_client) {
  gateway->configure(simulation::fleet_from("alpha=process,stop-first"));
  pass(2s);
  EXPECT_NE(&ann->instance(), &bob->instance());
  EXPECT_EQ(world.alive(), 2);
  EXPECT_THAT(ann->call(), HasSubstr("canary-ann"));
  gateway->configure(simulation::fleet_from("alpha=process,stop-first,shared"));
  pass(2s);
  EXPECT_EQ(&ann->instance(), &bob->instance());
  EXPECT_EQ(world.alive(), 1);
  EXPECT_THAT(bob->call(), HasSubstr("canary-bob"));
}

TEST_F(SharedServer, that_cannot_run_twice_waits_for_its_predecessor_to_end) {
  gateway->configure(simulation::fleet_from("alpha=process,shared,stop-first"));
  pass(2s);
  ASSERT_EQ(world.alive(), 1);
  world.scripts().of("alpha").slow_to_end = true;
  ann->leave(500ms, 0ms);
  bob->leave(500ms, 0ms);
  Desk& next = gateway->open();
  next.start();
  pass(100ms);
  EXPECT_EQ(world.alive(), 1) << "the first has not ended";
  pass(2s);
  EXPECT_EQ(world.alive(), 1);
  EXPECT_EQ(next.fleet().members().front()->instance().state(), Instance::State::ready);
  gateway->close(next.client(), 100ms);
  world.scripts().of("alpha").slow_to_end = false;
  pass(2s);
}

// --- clients with different permissions

class SharedByProfiles : public SharedServer {
 protected:
  void SetUp() override {
    open_profiles({"alpha"}, {"alpha"});
    pass(1s);
  }
  GatewayConfig config(const std::string& of_alpha = "process,shared,active") const {
    GatewayConfig all = simulation::fleet_from("alpha=" + of_alpha + " beta=process,active");
    all.profiles["p"].servers = all.profiles["q"].servers = std::vector<std::string>{"alpha"};
    all.profiles["p"].control = {"build", "restart", "logs"};
    return all;
  }
  int starts() { return ann->instance().status().past.starts; }
};

TEST_F(SharedByProfiles, is_restarted_once_by_an_edit) {
  gateway->configure(config());
  pass(5s);
  const int before = starts();
  gateway->configure(config("process,shared,active,v:2"));
  pass(5s);
  EXPECT_EQ(starts(), before + 1);
}

TEST_F(SharedByProfiles, is_not_restarted_when_only_permissions_change) {
  const int before = starts();
  gateway->configure(config());
  pass(5s);
  EXPECT_EQ(starts(), before);
}

TEST_F(SharedByProfiles, recommends_only_tools_that_all_clients_have) {
  gateway->configure(config());
  EXPECT_EQ(ann->instance().config().control.restart, "") << "Bob has no pivot_restart";
  GatewayConfig both = config();
  both.profiles["q"].control = {"restart"};
  gateway->configure(both);
  EXPECT_EQ(ann->instance().config().control.restart, "pivot_restart");
  EXPECT_EQ(bob->instance().config().control.rebuild, "");
}

TEST_F(SharedServer, a_restart_that_both_asked_for_is_no_news_for_either) {
  const std::string of_ann = ann->send("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  const std::string of_bob = bob->send("tools/call", R"({"name":"pivot_restart","arguments":{}})");
  pass(1s);
  EXPECT_THAT(ann->answer_to(of_ann), HasSubstr("restarted"));
  EXPECT_THAT(bob->answer_to(of_bob), HasSubstr("restarted"));
  EXPECT_THAT(ann->call(), Not(HasSubstr("restarted")));
  EXPECT_THAT(bob->call(), Not(HasSubstr("restarted")));
}

}  // namespace
}  // namespace mcpivot
