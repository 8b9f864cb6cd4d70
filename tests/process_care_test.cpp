// What mcpivot gives to a server, and what happens to the server's stderr.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

#include "lives.h"
#include "streams.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

// The signals that this process ignores or blocks, as bits; without the two that libraries reserve for
// themselves.
std::uint64_t signals(pid_t pid, const std::string& line) {
  const std::string status = content_of("/proc/" + std::to_string(pid) + "/status");
  const std::string bits = status.substr(status.find(line + ":") + line.size() + 1);
  return std::stoull(bits, nullptr, 16) & ~0x180000000U;
}

TEST(ProcessCare, a_server_inherits_only_its_three_pipes) {
  ClientOptions options;
  options.command = quick_server;
  Client client(options);
  client.request("ping");
  for (const pid_t pid : children_of(client.child().pid())) {
    if (command_name(pid) != "sed") continue;
    EXPECT_EQ(open_fds(pid), 3U);
    EXPECT_EQ(getpgid(pid), pid);
    EXPECT_EQ(signals(pid, "SigIgn"), 0U);
    EXPECT_EQ(signals(pid, "SigBlk"), 0U);
    return;
  }
  FAIL() << "no server";
}

TEST(ProcessCare, the_servers_stderr_reaches_stderr_and_the_log) {
  Client client;
  client.initialize();
  client.call("stderr", {{"text", "a word from the server"}, {"lines", 2}});
  EXPECT_TRUE(client.child().wait_stderr("a word from the server\na word from the server\n", soon()));
  const fs::path log = client.directory() / "state" / "mcpivot" / "fake_server.log";
  EXPECT_TRUE(wait_until([&] { return content_of(log).find("a word from the server") != std::string::npos; },
                         soon()));
}

TEST(ProcessCare, a_flood_on_stderr_that_nobody_reads_blocks_nothing) {
  const Ends err = Ends::of_pipe();
  const TemporaryDirectory directory;
  Child child(mcpivot_command({.server = {"--stderr-flood", "50000"}}), private_folders(directory.path()),
              directory.path(), {.err = err.write});
  child.send_line(ping(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  child.close_stdin();
  EXPECT_TRUE(child.wait_exit(soon()));
}

// A warning about the log is the first thing that mcpivot may print.
TEST(ProcessCare, mcpivot_survives_a_stderr_whose_reader_is_gone) {
  Ends err = Ends::of_pipe();
  Ends::close_one(err.read);
  const TemporaryDirectory directory;
  for (const std::string log : {"log", "/dev/null/impossible"}) {
    SCOPED_TRACE(log);
    Child child(mcpivot_command({.options = {"--log", log}, .server = {"--stderr-flood", "1000"}}),
                private_folders(directory.path()), directory.path(), {.err = err.write});
    child.send_line(ping(1));
    EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  }
}

// As it is some time after the disk is full, if nobody reads stderr.
TEST(ProcessCare, a_log_that_fails_and_a_full_stderr_block_nothing) {
  const Ends err = Ends::of_pipe();
  fcntl(err.write, F_SETFL, O_NONBLOCK);
  while (write(err.write, "x", 1) == 1) continue;
  fcntl(err.write, F_SETFL, 0);
  const TemporaryDirectory directory;
  Child child(mcpivot_command({.options = {"--log", "/dev/full"}}), private_folders(directory.path()),
              directory.path(), {.err = err.write});
  child.send_line(ping(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
}

TEST(ProcessCare, a_log_that_fails_is_told_once) {
  Client client({.options = {"--log", "/dev/full"}});
  client.initialize();
  EXPECT_TRUE(client.child().wait_stderr("mcpivot: lines are missing in the log: ", soon()));
  client.call("crash");  // which is logged, too
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_stderr_end(soon()));
  const std::string& printed = client.child().stderr_text();
  EXPECT_THAT(printed, testing::HasSubstr("/dev/full: No space left on device"));
  EXPECT_EQ(printed.find("lines are missing"), printed.rfind("lines are missing")) << printed;
}

TEST(ProcessCare, mcpivot_runs_with_stderr_closed) {
  const TemporaryDirectory directory;
  std::vector<std::string> command = {"sh", "-c", "exec \"$@\" 2>&-", "sh"};
  std::ranges::copy(mcpivot_command({.server = {"--stderr-flood", "1000", "--garbage", "not a message"}}),
                    std::back_inserter(command));
  Child child(command, private_folders(directory.path()), directory.path());
  child.send_line(ping(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
}

}  // namespace
}  // namespace harness
