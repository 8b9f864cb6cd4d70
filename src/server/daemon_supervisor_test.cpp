#include "server/daemon_supervisor.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <utility>

namespace mcpivot {
namespace {

using namespace std::chrono_literals;

class ClockByHand final : public Clock {
 public:
  Time now() const override { return time; }
  Date date() const override { return {}; }
  Time time{};
};

// What a keeper was asked to do, and what it reports.
struct Kept {
  std::string did;
  bool can_stop = true;
  bool starting = false;
  std::string trouble;
  DaemonKeeper::OnStopped stopped;
};

class FakeKeeper final : public DaemonKeeper {
 public:
  FakeKeeper(Kept& kept, ConfigRef config) : kept_(kept), config_(std::move(config)) { kept_.did += "made "; }
  ~FakeKeeper() override { kept_.did += "gone "; }

  void start(bool nobody_listens) override {
    kept_.did += nobody_listens ? "start-if-nobody " : "start ";
    kept_.starting = true;
  }
  bool starting() const override { return kept_.starting; }
  void arrived() override { kept_.starting = false; }
  std::string trouble() const override { return kept_.trouble; }
  bool fits(const ServerConfig& config) const override { return config.http.url == config_->http.url; }
  void configure(ConfigRef config) override { config_ = std::move(config); }
  bool can_start() const override { return !config_->http.start.empty(); }
  bool can_stop() const override { return kept_.can_stop; }
  void stop(OnStopped on_stopped) override {
    kept_.did += "stop ";
    kept_.stopped = std::move(on_stopped);
  }
  pid_t pid() const override { return 0; }
  std::string output(std::size_t) const override { return {}; }

 private:
  Kept& kept_;
  ConfigRef config_;
};

class DaemonSupervisorTest : public testing::Test {
 protected:
  DaemonSupervisorTest() { configure("./daemon"); }

  void configure(const std::string& start, const std::string& url = "http://127.0.0.1:1/mcp") {
    ServerConfig config;
    config.name = "dev";
    config.http.url = url;
    config.http.start = start;
    config.http.start_after = 5s;
    supervisor_.configure(std::make_shared<const ServerConfig>(config));
  }
  void become_a_process() {
    ServerConfig config;
    config.command.argv = {"./server"};
    supervisor_.configure(std::make_shared<const ServerConfig>(config));
  }
  Supervisor::Failure fail(bool unreachable, bool asked = false) {
    supervisor_.on_early_death({.how = "refused", .unreachable = unreachable});
    return supervisor_.on_birth_failed(
        {.number = 1, .why = "it refused", .ran = true, .asked = asked, .ends = false, .refused = false});
  }
  Supervisor::Failure say_no() {
    return supervisor_.on_birth_failed(
        {.number = 1, .why = "it answered 401", .ran = true, .asked = true, .ends = false, .refused = true});
  }
  std::string connection() {
    Status status;
    supervisor_.describe(status);
    for (const auto& [key, value] : status.more)
      if (key == "connection") return value;
    return {};
  }
  Supervisor::Loss lose(bool forgotten) {
    Death death;
    death.how = "closed the connection";
    return supervisor_.on_lost(death, {.how = death.how, .forgotten = forgotten});
  }
  std::string condition() const {
    Status status;
    status.state = "failed";
    supervisor_.describe(status);
    return status.condition();
  }
  void end_stop(bool ok = true) { std::exchange(kept_.stopped, nullptr)(ok, ok ? "it stopped" : "it hangs"); }
  std::string did() { return std::exchange(kept_.did, {}); }
  std::string told() { return std::exchange(told_, {}); }
  std::string headline(bool reloaded) {
    const auto arrival = supervisor_.on_born();
    return supervisor_.headline({.server = "dev",
                                 .number = 2,
                                 .where = "there",
                                 .did = "restarted",
                                 .took = 1'834ms,
                                 .reason = "why",
                                 .absence = arrival.absence,
                                 .reloaded = reloaded,
                                 .memory_gone = false});
  }

  ClockByHand clock_;
  Kept kept_;
  std::string told_;
  DaemonSupervisor supervisor_{
      clock_, [this](const ConfigRef& config) { return std::make_unique<FakeKeeper>(kept_, config); },
      [this](const DaemonSupervisor::Stopped& stopped) {
        told_ = fmt::format("{}|{}|{}", stopped.how, stopped.renewal, stopped.next);
      }};
};

// --- starts

TEST_F(DaemonSupervisorTest, a_daemon_that_does_not_listen_is_started_at_the_first_try) {
  did();
  const auto failure = fail(true);
  EXPECT_EQ(failure.postponed, "it is being started: ./daemon");
  EXPECT_FALSE(failure.counts);
  EXPECT_EQ(did(), "start-if-nobody ");
}

TEST_F(DaemonSupervisorTest, a_daemon_that_went_away_is_started_only_after_a_request_has_waited) {
  supervisor_.on_born();
  lose(false);
  did();
  EXPECT_FALSE(fail(true, true).postponed);
  clock_.time += 5s;
  EXPECT_FALSE(fail(true, false).postponed);
  EXPECT_EQ(did(), "");
  EXPECT_TRUE(fail(true, true).postponed);
  EXPECT_EQ(did(), "start-if-nobody ");
}

TEST_F(DaemonSupervisorTest, a_daemon_that_answers_nonsense_is_not_started_even_if_it_then_goes_away) {
  did();
  EXPECT_FALSE(fail(false).postponed);
  EXPECT_FALSE(fail(true).postponed);
  EXPECT_EQ(did(), "");
}

TEST_F(DaemonSupervisorTest, a_daemon_that_refuses_us_is_running_and_not_started) {
  did();
  clock_.time += 10s;
  const auto failure = say_no();
  EXPECT_TRUE(failure.refused);
  EXPECT_FALSE(failure.postponed);
  EXPECT_FALSE(failure.counts);
  EXPECT_EQ(failure.why, "it answered 401");
  EXPECT_EQ(did(), "");
  clock_.time += 3s;
  EXPECT_EQ(connection(), "refused by the server 3 s ago");
  // If it goes away now, its developer has the usual time to start it.
  EXPECT_FALSE(fail(true, true).postponed);
  EXPECT_EQ(connection(), "away for 3 s");
  clock_.time += 5s;
  EXPECT_TRUE(fail(true, true).postponed);
}

TEST_F(DaemonSupervisorTest, a_daemon_that_refuses_us_while_starting_is_tried_again) {
  EXPECT_TRUE(fail(true).postponed);
  const auto failure = say_no();
  EXPECT_FALSE(failure.refused);
  EXPECT_TRUE(failure.postponed);
  kept_.starting = false;  // its time limit has passed
  EXPECT_TRUE(say_no().refused);
}

TEST_F(DaemonSupervisorTest, reports_why_the_daemon_could_not_be_started) {
  supervisor_.on_born();
  kept_.trouble = "--start exited with code 1";
  EXPECT_EQ(fail(true).why, "it refused; --start exited with code 1");
}

TEST_F(DaemonSupervisorTest, a_daemon_without_a_start_command_is_only_polled) {
  configure("");
  EXPECT_FALSE(fail(true, true).postponed);
  EXPECT_EQ(did(), "made gone ");
}

// --- stops

TEST_F(DaemonSupervisorTest, a_daemon_that_is_not_ours_to_stop_is_not_stopped) {
  kept_.can_stop = false;
  EXPECT_FALSE(supervisor_.on_stop_wanted());
  EXPECT_FALSE(supervisor_.renew("rebuilt"));
  EXPECT_FALSE(supervisor_.stopping());
}

TEST_F(DaemonSupervisorTest, a_daemon_that_we_stopped_is_started_at_the_next_try) {
  did();
  EXPECT_EQ(supervisor_.on_stop_wanted()->words, "it was stopped on request. The next call starts it.");
  supervisor_.stop();
  supervisor_.stop();
  EXPECT_TRUE(supervisor_.stopping());
  EXPECT_EQ(did(), "stop ");
  end_stop();
  EXPECT_FALSE(supervisor_.stopping());
  EXPECT_EQ(told(), "it stopped||The next call starts it.");
  EXPECT_TRUE(fail(false).postponed);
  EXPECT_EQ(did(), "start ");
}

TEST_F(DaemonSupervisorTest, a_renewal_reports_its_reason_once_the_daemon_has_stopped) {
  EXPECT_TRUE(supervisor_.renew("rebuilt"));
  end_stop();
  EXPECT_EQ(told(), "it stopped|rebuilt|The next call starts it.");
}

TEST_F(DaemonSupervisorTest, of_a_stop_and_a_renewal_the_later_one_wins) {
  did();
  supervisor_.renew("rebuilt");
  supervisor_.forget_renewal();
  supervisor_.stop();
  EXPECT_EQ(did(), "stop ");
  end_stop();
  EXPECT_EQ(told(), "it stopped||The next call starts it.");
  supervisor_.stop();
  supervisor_.renew("rebuilt again");
  end_stop();
  EXPECT_EQ(told(), "it stopped|rebuilt again|The next call starts it.");
}

TEST_F(DaemonSupervisorTest, an_abandoned_stop_is_reported_once) {
  supervisor_.stop();
  supervisor_.give_up_stop("mcpivot is shutting down");
  EXPECT_EQ(told(), "mcpivot is shutting down||The next call starts it.");
  end_stop();
  EXPECT_EQ(told(), "");
}

TEST_F(DaemonSupervisorTest, a_keeper_finishes_its_stop_even_if_the_server_becomes_a_process) {
  supervisor_.stop();
  did();
  become_a_process();
  EXPECT_EQ(did(), "");
  EXPECT_TRUE(supervisor_.stopping());
  end_stop();
  EXPECT_EQ(did(), "gone ");
  EXPECT_EQ(told(), "it stopped||Start it yourself: there is no --start command.");
}

TEST_F(DaemonSupervisorTest, another_address_gets_another_keeper) {
  did();
  configure("./other");
  EXPECT_EQ(did(), "");
  configure("./other", "http://127.0.0.1:2/mcp");
  EXPECT_EQ(did(), "gone made ");
}

// --- words

TEST_F(DaemonSupervisorTest, reports_that_a_daemon_is_back) {
  EXPECT_EQ(headline(false), "[mcpivot] \"dev\": session 2 with there, ready in 1.8 s (why).");
  EXPECT_EQ(lose(false).words, "it closed the connection; mcpivot is reconnecting");
  clock_.time += 45s;
  EXPECT_EQ(headline(false),
            "[mcpivot] \"dev\" is back after 45 s: there (it "
            "closed the connection).");
}

TEST_F(DaemonSupervisorTest, a_daemon_that_forgot_our_session_was_never_away) {
  supervisor_.on_born();
  EXPECT_EQ(lose(true).fault, Supervisor::Loss::Fault::none);
  const auto arrival = supervisor_.on_born();
  EXPECT_TRUE(arrival.forgotten);
  EXPECT_FALSE(arrival.absence);
  EXPECT_FALSE(supervisor_.on_born().forgotten);
}

TEST_F(DaemonSupervisorTest, a_reload_says_whether_the_daemon_itself_was_restarted) {
  EXPECT_TRUE(headline(true).ends_with(" The daemon itself was not restarted."));
  supervisor_.renew("rebuilt");
  end_stop();
  EXPECT_TRUE(headline(true).ends_with(" The daemon was restarted. Anything it held in memory is gone."));
  supervisor_.on_round_begins();
  EXPECT_TRUE(headline(true).ends_with(" The daemon itself was not restarted."));
}

// --- back-off

TEST_F(DaemonSupervisorTest, polls_less_and_less_often_but_sooner_if_a_request_waits) {
  EXPECT_EQ(supervisor_.back_off(0, false), 0ms);
  EXPECT_EQ(supervisor_.back_off(1, false), 100ms);
  EXPECT_EQ(supervisor_.back_off(3, false), 400ms);
  EXPECT_EQ(supervisor_.back_off(30, false), 5'000ms);
  EXPECT_EQ(supervisor_.back_off(30, true), 1'000ms);
  clock_.time += 4'500ms;  // we may start it in half a second
  EXPECT_EQ(supervisor_.back_off(30, true), 500ms);
}

// --- status

TEST_F(DaemonSupervisorTest, an_unreachable_daemon_is_away_and_one_that_refuses_us_has_failed) {
  fail(true);
  EXPECT_EQ(condition(), "away");
  fail(false);
  EXPECT_EQ(condition(), "failed");
}

}  // namespace
}  // namespace mcpivot
