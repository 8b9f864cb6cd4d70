// However often servers are replaced and whenever the client disconnects, nothing is left behind.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::SizeIs;

TEST(Reload, a_client_that_goes_away_during_a_build_leaves_nothing_running) {
  for (const int how : {0, SIGTERM, SIGKILL}) {
    SCOPED_TRACE(how);
    Client client(changing({"--build", "trap '' TERM HUP INT; cat gate"}));
    Gate gate(client.directory() / "gate");
    client.initialize();
    client.send_call("pivot_rebuild");
    ASSERT_TRUE(gate.wait_for_visitor());
    const std::vector<pid_t> all = descendants_of(client.child().pid());
    EXPECT_GE(all.size(), 3U);
    if (how == 0) {
      client.child().close_stdin();
    } else {
      client.child().signal(how);
    }
    EXPECT_TRUE(client.child().wait_exit(soon()));
    EXPECT_TRUE(wait_gone(all));
  }
}

TEST(Reload, a_client_that_goes_away_while_a_server_is_being_stopped_is_not_kept) {
  for (const bool stop_first : {false, true}) {
    SCOPED_TRACE(stop_first);
    Client client({.options = {"--swap", stop_first ? "stop-first" : "overlap", "--build", "touch built"},
                   .server = {"--ignore-eof", "--ignore-term"},
                   .own_program = true});
    client.initialize();
    const std::vector<pid_t> all = descendants_of(client.child().pid());
    client.send_call(stop_first ? "pivot_rebuild" : "pivot_restart", {{"stop", true}});
    client.request("ping");
    client.child().close_stdin();
    EXPECT_TRUE(client.child().wait_exit(soon()));
    EXPECT_TRUE(wait_gone(all));
    EXPECT_FALSE(fs::exists(client.directory() / "built")) << "a build began after the client had gone";
  }
}

TEST(Reload, a_client_that_goes_away_during_a_swap_leaves_nothing_running) {
  Client client(changing({"--build", "true"}, {"--tap", "tap", "--hold", "initialize", "--ignore-term"}));
  client.initialize();
  client.send_call("sleep", {{"ms", for_ever}});
  client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_for_text(client.directory() / "tap", "initialize"));
  const std::vector<pid_t> all = descendants_of(client.child().pid());
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_exit(soon()));
  EXPECT_TRUE(wait_gone(all));
}

TEST(Reload, a_server_that_forks_leaves_nothing_behind_after_a_swap) {
  Client client({.options = {"--build", "true"}, .server = {"--fork", "stubborn"}});
  client.initialize();
  const pid_t server = server_pid(client);
  std::vector<pid_t> old = children_of(server);
  ASSERT_THAT(old, SizeIs(1));
  old.push_back(server);
  EXPECT_FALSE(is_error(client.call("pivot_rebuild")));
  EXPECT_TRUE(wait_gone(old));
}

TEST(Reload, a_burst_of_signals_does_not_cause_a_burst_of_starts) {
  Client client(changing({}));
  client.initialize();
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 100; ++i) {
    client.child().signal(SIGHUP);
    settle(client);
  }
  const auto windows = (std::chrono::steady_clock::now() - begin) / std::chrono::milliseconds(50);
  EXPECT_LE(std::stol(status_of(client, "starts")), windows + 2);
  EXPECT_TRUE(wait_until([&] { return status_of(client, "generation") != "1"; }, soon()));
}

TEST(Reload, five_hundred_times_leaks_no_memory_descriptors_or_processes) {
  Client client(changing({"--build", "true"}));
  client.initialize();
  const pid_t pivot = client.child().pid();
  const auto swap = [&](int times) {
    for (int i = 0; i < times; ++i) {
      ASSERT_FALSE(is_error(client.call(i % 2 == 0 ? "pivot_rebuild" : "pivot_restart")));
      ASSERT_EQ(own(client, "echo", {{"text", "still"}}), "still");
    }
  };
  const auto at_rest = [&] { return children_of(pivot).size() == 2; };
  swap(20);
  ASSERT_TRUE(wait_until(at_rest, soon()));
  ASSERT_TRUE(wait_status(client, "draining", "0"));
  const std::size_t descriptors = open_fds(pivot);
  const long memory = rss_kb(pivot);
  swap(500);
  EXPECT_TRUE(wait_until(at_rest, soon()));
  EXPECT_TRUE(wait_status(client, "draining", "0"));
  EXPECT_EQ(open_fds(pivot), descriptors);
  if (is_instrumented()) return;
  EXPECT_LT(rss_kb(pivot), memory + 1024);
}

}  // namespace
}  // namespace harness
