// mcpivot talks to a server in its client's era if the server accepts that, and otherwise in the other one.
// What it accepts is detected once, and again if that turns out to be wrong.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"
#include "eras.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

Era other(Era era) {
  return era == Era::modern ? Era::legacy : Era::modern;
}

// "2026-07-28 (modern era)", as the status shows it.
std::string protocol_of(Client& client) {
  return status_of(client, "protocol");
}

std::string protocol_in(Era era) {
  return era == Era::modern ? "2026-07-28 (modern era" : "2025-11-25 (legacy era";
}

void client_restarts(Client& client) {
  EXPECT_FALSE(is_error(client.call("pivot_restart")));
}

class EraRefused : public testing::TestWithParam<std::tuple<Era, const char*>> {
 protected:
  Era client_era() const { return std::get<0>(GetParam()); }
  // A server of the other era that rejects this client's in this way.
  Strings server() const {
    const Era its = other(client_era());
    if (std::string(std::get<1>(GetParam())) == "error") return of_era(its);
    return of_era(its, {"--die", its == Era::legacy ? "discover" : "before-initialize"});
  }
};

INSTANTIATE_TEST_SUITE_P(Ways, EraRefused,
                         testing::Combine(testing::Values(Era::legacy, Era::modern),
                                          testing::Values("error", "exit")),
                         [](const auto& way) {
                           return text(std::get<0>(way.param)) + "_client_" + std::get<1>(way.param);
                         });

TEST_P(EraRefused, the_other_era_is_tried_in_a_new_process) {
  const EraRuns runs(server());
  Client client(runs.run());
  greet(client, client_era());
  EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
  EXPECT_EQ(runs.starts(), 2);
  EXPECT_THAT(protocol_of(client), StartsWith(protocol_in(other(client_era()))));
  EXPECT_EQ(status_of(client, "crashes"), "0");
  EXPECT_EQ(status_of(client, "generation"), "1") << "one start as far as the user is concerned";
}

TEST_P(EraRefused, the_rejected_era_is_not_tried_again_even_in_the_next_run) {
  const EraRuns runs(server());
  {
    Client first(runs.run());
    greet(first, client_era());
    client_restarts(first);
    EXPECT_EQ(runs.starts(), 3);
  }
  Client second(runs.run());
  greet(second, client_era());
  EXPECT_EQ(own(second, "echo", {{"text", "on"}}), "on");
  EXPECT_EQ(runs.starts(), 4);
}

TEST_P(EraRefused, the_rejected_era_is_tried_again_once_the_server_supports_it) {
  const EraRuns runs({"--script", "script"});
  const Strings options = server();
  json::object refusing = {{"era", options[1]}};
  if (options.size() > 2) refusing["die"] = options[3];
  runs.script(refusing);
  {
    Client first(runs.run());
    greet(first, client_era());
    EXPECT_THAT(protocol_of(first), StartsWith(protocol_in(other(client_era()))));
  }
  json::object changed = {{"era", text(client_era())}};
  if (options.size() > 2) changed["die"] = client_era() == Era::legacy ? "discover" : "before-initialize";
  runs.script(changed);
  {
    Client second(runs.run());
    greet(second, client_era());
    EXPECT_EQ(own(second, "echo", {{"text", "on"}}), "on");
    EXPECT_THAT(protocol_of(second), StartsWith(protocol_in(client_era())));
  }
  // Two for each of the others: what was known is no longer true, so the client's own era is tried again.
  const int starts = 4;
  EXPECT_EQ(runs.starts(), starts);
  Client third(runs.run());
  greet(third, client_era());
  EXPECT_EQ(own(third, "echo", {{"text", "on"}}), "on");
  EXPECT_EQ(runs.starts(), starts + 1);
}

// ---- Servers that accept what they get.

TEST(EraOfServers, is_the_clients_if_the_server_supports_both) {
  for (const Era era : {Era::legacy, Era::modern}) {
    const EraRuns runs({"--era", "both"});
    Client client(runs.run());
    greet(client, era);
    EXPECT_THAT(protocol_of(client), AllOf(StartsWith(protocol_in(era)), Not(HasSubstr("bridge"))));
    EXPECT_EQ(runs.starts(), 1);
  }
}

TEST(EraOfServers, is_what_the_user_configured) {
  for (const Era era : {Era::legacy, Era::modern}) {
    for (const Era client_era : {Era::legacy, Era::modern}) {
      const EraRuns runs({"--era", "both"});
      Client client(runs.run({"--era", text(era)}));
      greet(client, client_era);
      EXPECT_THAT(protocol_of(client), StartsWith(protocol_in(era)));
      EXPECT_EQ(runs.starts(), 1);
    }
    Client configured(with({{"a", server({"--era", "both"}, {{"era", text(era)}})}}));
    greet(configured, other(era));
    EXPECT_THAT(protocol_of(configured), AllOf(StartsWith(protocol_in(era)), HasSubstr("bridge")));
  }
}

TEST(EraOfServers, configured_but_unsupported_by_the_server_is_an_error) {
  const EraRuns runs(of_era(Era::legacy));
  Client client(runs.run({"--era", "modern", "--start-timeout", "1s"}));
  const std::string words = json::serialize(client.initialize());
  EXPECT_THAT(words, HasSubstr("rejected `server/discover`: Method not found"));
}

// ---- Silence. Its time limit is 5 s, and passes once.

TEST(EraOfServers, that_stay_silent_is_the_other_one_and_then_remembered) {
  const EraRuns runs(of_era(Era::modern, {"--deaf"}));
  {
    Client first(runs.run());
    const auto began = std::chrono::steady_clock::now();
    first.meta.reset();
    const auto id = first.send("initialize", {{"protocolVersion", "2025-11-25"},
                                              {"capabilities", json::object()},
                                              {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
    EXPECT_TRUE(first.await(id, in(seconds(10))).contains("result"));
    EXPECT_GE(std::chrono::steady_clock::now() - began, milliseconds(4'900));
    first.notify("notifications/initialized");
    EXPECT_EQ(own(first, "echo", {{"text", "on"}}), "on");
    EXPECT_EQ(runs.starts(), 1) << "it is asked in the same process";
    EXPECT_THAT(protocol_of(first), StartsWith(protocol_in(Era::modern)));
  }
  Client second(runs.run());
  second.initialize("2025-06-18");  // another kind of client, so that only the era is known
  EXPECT_EQ(own(second, "echo", {{"text", "on"}}), "on");
}

// ---- Neither.

TEST(EraOfServers, that_accept_neither_is_reported_without_retrying_in_a_loop) {
  const Strings refusing = {
      "--refuse", "initialize=no legacy here", "--refuse", "server/discover=no modern here", "--tap", "tap"};
  for (const Era era : {Era::legacy, Era::modern}) {
    const EraRuns runs(refusing);
    Client client(runs.run({"--queue-timeout", "500ms"}));
    if (era == Era::modern) client.meta = modern_meta();
    if (era == Era::legacy) client.initialize();
    const std::string first = era == Era::legacy ? "the server rejected `initialize`: no legacy here"
                                                 : "the server rejected `server/discover`: no modern here";
    EXPECT_THAT(text_of(client.call("echo")), HasSubstr(first));
    // Each call tries again.
    const auto tried = [&] {
      client.call("echo");
      return runs.starts() >= 4;
    };
    ASSERT_TRUE(wait_until(tried, soon()));
    client.call("pivot_status");
    const auto asked = [&](const std::string& what) {
      const Strings lines = lines_of(runs.folder() / "tap");
      return std::ranges::count_if(lines, [&](const std::string& line) { return line.contains(what); });
    };
    EXPECT_LE(asked(era == Era::legacy ? "server/discover" : "\"initialize\""),
              asked(era == Era::legacy ? "\"initialize\"" : "server/discover"));
  }
}

TEST(EraOfServers, that_always_exit_is_mostly_tried_as_the_clients_own) {
  const TemporaryDirectory folder;
  const Strings command = {"sh", "-c", "read line; echo \"$line\" >> asked; exit 3"};
  Client client({.options = {"--cwd", folder.path(), "--queue-timeout", "500ms"}, .command = command});
  client.initialize();
  EXPECT_THAT(text_of(client.call("echo")), HasSubstr("exited with code 3"));
  ASSERT_TRUE(wait_until([&] { return lines_of(folder.path() / "asked").size() >= 5; }, soon()));
  const Strings asked = lines_of(folder.path() / "asked");
  const auto modern =
      std::ranges::count_if(asked, [](const std::string& line) { return line.contains("discover"); });
  EXPECT_GE(modern, 1);
  EXPECT_LE(2 * modern, std::ssize(asked));
}

TEST(EraOfServers, that_crash_at_once_is_unknown_and_the_crash_is_reported) {
  const EraRuns runs({"--die", "start", "--how", "7"});
  Client client(runs.run({"--start-timeout", "1s"}));
  EXPECT_THAT(json::serialize(client.initialize()), HasSubstr("exited with code 7"));
}

// ---- Servers that can't run twice.

TEST(EraOfServers, that_cannot_run_twice_is_probed_with_one_process_at_a_time) {
  for (const Era era : {Era::legacy, Era::modern}) {
    const TemporaryDirectory folder;
    const Strings command = {
        "sh",
        "-c",
        "echo start >> starts; flock -n lock true || echo twice >> overlap; exec flock lock \"$@\"",
        "sh",
        fake_server_binary(),
        "--era",
        text(other(era))};
    Client client({.options = {"--swap", "stop-first", "--cwd", folder.path()}, .command = command});
    greet(client, era);
    EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
    EXPECT_EQ(lines_of(folder.path() / "starts").size(), 2U);
    client.call("pivot_restart");
    EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
    EXPECT_EQ(lines_of(folder.path() / "starts").size(), 3U);
    EXPECT_EQ(content_of(folder.path() / "overlap"), "");
  }
}

// ---- A change of the era in the middle of a session.

TEST(EraOfServers, can_change_with_a_new_generation) {
  for (const Era client_era : {Era::legacy, Era::modern}) {
    for (const Era before : {Era::legacy, Era::modern}) {
      SCOPED_TRACE(text(client_era) + " client, " + text(before) + " server at first");
      const EraRuns runs({"--script", "script"});
      runs.script({{"era", text(before)}});
      Client client(runs.run());
      greet(client, client_era);
      EXPECT_THAT(protocol_of(client), StartsWith(protocol_in(before)));
      runs.script({{"era", text(other(before))}, {"tool", "fresh"}});
      client.child().signal(SIGHUP);
      ASSERT_TRUE(wait_status(client, "generation", "2"));
      EXPECT_THAT(protocol_of(client), StartsWith(protocol_in(other(before))));
      const json::object answer = client.call("echo", {{"text", "on"}});
      EXPECT_EQ(own_text(answer), "on");
      EXPECT_THAT(text_of(answer), HasSubstr("tools: +fresh"));
      EXPECT_THAT(tools_of(client), Contains("fresh"));
    }
  }
}

TEST(EraOfServers, is_probed_again_when_a_server_that_accepted_neither_is_restarted) {
  for (const Era client_era : {Era::legacy, Era::modern}) {
    const EraRuns runs({"--script", "script"});
    const json::object good = {{"era", text(other(client_era))}};
    json::object broken = good;
    broken["die"] = "start";
    runs.script(good);
    Client client(runs.run());
    greet(client, client_era);
    runs.script(broken);
    // The first time it is treated as what it was, the second time it is tried in both eras.
    EXPECT_TRUE(is_error(client.call("pivot_restart")));
    EXPECT_TRUE(is_error(client.call("pivot_restart")));
    runs.script(good);
    client_restarts(client);
    EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
    EXPECT_THAT(protocol_of(client), StartsWith(protocol_in(other(client_era))));
  }
}

// ---- Where it is shown.

TEST(EraShown, in_status_and_by_doctor) {
  Client client(with({{"old", server({})}, {"new", server({"--era", "modern"})}}));
  start(client, {"old", "new"});
  const auto said = [&](const Strings& words) { return run_mcpivot(words, client.directory()).out; };
  EXPECT_THAT(said({"status", "old"}), HasSubstr("protocol: 2025-06-18 (legacy era)"));
  EXPECT_THAT(said({"status", "new"}),
              AllOf(HasSubstr("protocol: 2026-07-28 (modern era"), HasSubstr("bridge")));
  const std::string doctor =
      run_mcpivot({"doctor"}, client.directory(), {{"FAKE", fake_server_binary()}}).out;
  EXPECT_THAT(doctor, AllOf(HasSubstr("protocol 2025-11-25 (legacy era)"),
                            HasSubstr("protocol 2026-07-28 (modern era)")));
}

// ---- Daemons.

TEST(EraOfDaemons, is_detected_like_that_of_processes) {
  for (const Era client_era : {Era::legacy, Era::modern}) {
    for (const char* daemon_era : {"legacy", "modern", "both"}) {
      SCOPED_TRACE(text(client_era) + " client, daemon of " + daemon_era);
      const FakeDaemon daemon({"--era", daemon_era});
      Client client(to(daemon.url()));
      greet(client, client_era);
      EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
      const std::string spoken = daemon_era == std::string("both") ? text(client_era) : daemon_era;
      EXPECT_THAT(protocol_of(client), HasSubstr("(" + spoken + " era"));
    }
  }
}

TEST(EraOfDaemons, is_detected_again_after_the_daemon_was_replaced) {
  for (const Era client_era : {Era::legacy, Era::modern}) {
    for (const Era before : {Era::legacy, Era::modern}) {
      SCOPED_TRACE(text(client_era) + " client, " + text(before) + " daemon at first");
      FakeDaemon daemon({"--era", text(before)});
      Client client(to(daemon.url()));
      greet(client, client_era);
      EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
      daemon.restart({"--era", text(other(before))});
      // What is in flight when the new daemon is noticed may fail; nothing is made twice.
      EXPECT_TRUE(wait_until([&] { return own(client, "echo", {{"text", "on"}}) == "on"; }, soon()));
      EXPECT_THAT(protocol_of(client), HasSubstr("(" + text(other(before)) + " era"));
    }
  }
}

// ---- Headers that repeat arguments.

TEST(EraHeaders, that_a_daemon_rejects_are_learned_again_and_the_call_runs_once) {
  for (const Era era : {Era::legacy, Era::modern}) {
    SCOPED_TRACE(text(era) + " client");
    const FakeDaemon daemon({"--era", "modern"});
    Client client(to(daemon.url()));
    greet(client, era);
    EXPECT_FALSE(is_error(client.call("route", {{"region", "here"}})));
    client.call("misbehave", {{"how", "new header"}, {"name", "Place"}});
    const std::size_t before = daemon.times(R"(1 route {"region":"there"})");
    const json::object answer = client.call("route", {{"region", "there"}});
    EXPECT_TRUE(answer.contains("result") && !is_error(answer)) << answer;
    EXPECT_EQ(daemon.times(R"(1 route {"region":"there"})"), before + 1);
  }
}

}  // namespace
}  // namespace harness
