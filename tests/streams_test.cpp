// What mcpivot's stdin and stdout may be, and how it leaves them.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "lives.h"
#include "streams.h"

namespace harness {
namespace {

namespace fs = std::filesystem;

class Streams : public testing::Test {
 protected:
  fs::path file(const std::string& name, const std::string& content = {}) const {
    const fs::path path = directory_.path() / name;
    std::ofstream(path) << content;
    return path;
  }

  Child start(const Stdio& given) const {
    ClientOptions options;
    options.command = quick_server;
    return Child(mcpivot_command(options), private_folders(directory_.path()), directory_.path(), given);
  }

  TemporaryDirectory directory_;
};

TEST_F(Streams, stdin_may_be_a_file) {
  const int input = open(file("in", ping(1) + "\n" + ping(2) + "\n").c_str(), O_RDONLY | O_CLOEXEC);
  Child child = start({.in = input});
  close(input);
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(2));
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, stdout_may_be_a_file) {
  const fs::path path = file("out");
  const int output = open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC);
  Child child = start({.out = output});
  close(output);
  child.send_line(ping(1));
  EXPECT_TRUE(wait_until([&] { return content_of(path) == ping_answer(1) + "\n"; }, soon()));
  child.close_stdin();
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, stdin_and_stdout_may_be_one_socket) {
  std::array<int, 2> sockets{};
  ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets.data()), 0);
  const Ends ends(sockets[0], sockets[1]);
  Child child = start({.in = sockets[1], .out = sockets[1]});
  write_all(sockets[0], ping(1) + "\n");
  std::string received;
  std::array<char, 4096> piece{};
  while (!received.ends_with('\n')) {
    const ssize_t got = read(sockets[0], piece.data(), piece.size());
    ASSERT_GT(got, 0);
    received.append(piece.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(received, ping_answer(1) + "\n");
  shutdown(sockets[0], SHUT_WR);
  EXPECT_EQ(child.wait_exit(soon()), 0);
}

TEST_F(Streams, that_are_closed_end_mcpivot_without_a_crash) {
  for (const char* script : {"exec \"$@\" <&-", "exec \"$@\" >&-", "exec \"$@\" <&- >&- 2>&-"}) {
    SCOPED_TRACE(script);
    std::vector<std::string> command = {"sh", "-c", script, "sh"};
    std::ranges::copy(mcpivot_command({.server = {"--ignore-eof"}}), std::back_inserter(command));
    Child child(command, private_folders(directory_.path()), directory_.path());
    child.offer(ping(1) + "\n", soon());
    child.close_stdin();
    EXPECT_EQ(child.wait_exit(soon()), 0);
  }
}

TEST_F(Streams, a_last_line_without_its_newline_counts) {
  Child child = start({});
  child.send_raw(ping(1) + "\n" + ping(2));
  child.close_stdin();
  EXPECT_EQ(child.read_line(soon()), ping_answer(1));
  EXPECT_EQ(child.read_line(soon()), ping_answer(2));
}

// Non-blocking mode belongs to the open file, which a shell shares with the programs that it starts.
TEST_F(Streams, keep_their_blocking_mode) {
  for (const int mode : {0, O_NONBLOCK}) {
    for (const bool by_signal : {false, true}) {
      SCOPED_TRACE(testing::Message() << "mode " << mode << ", by signal: " << by_signal);
      Ends in = Ends::of_pipe();
      const Ends out = Ends::of_pipe();
      for (const int fd : {in.read, out.write}) fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | mode);
      Child child = start({.in = in.read, .out = out.write});
      write_all(in.write, ping(1) + "\n");
      std::string answer(ping_answer(1).size() + 1, '\0');
      ASSERT_EQ(read(out.read, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      if (by_signal) {
        child.signal(SIGTERM);
      } else {
        Ends::close_one(in.write);
      }
      ASSERT_TRUE(child.wait_exit(soon()));
      EXPECT_EQ(fcntl(in.read, F_GETFL) & O_NONBLOCK, mode);
      EXPECT_EQ(fcntl(out.write, F_GETFL) & O_NONBLOCK, mode);
    }
  }
}

TEST_F(Streams, a_terminal_stays_blocking) {
  const int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(master, 0);
  ASSERT_EQ(grantpt(master), 0);
  ASSERT_EQ(unlockpt(master), 0);
  const int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
  ASSERT_GE(terminal, 0);
  const Ends ends(master, terminal);
  Child child = start({.in = terminal, .out = terminal, .err = terminal});
  write_all(master, ping(1) + "\n");
  std::string shown;  // the terminal's echo, and then the answer
  while (shown.find(ping_answer(1)) == std::string::npos) {
    std::array<char, 4096> piece{};
    const ssize_t got = read(master, piece.data(), piece.size());
    ASSERT_GT(got, 0) << shown;
    shown.append(piece.data(), static_cast<std::size_t>(got));
  }
  write_all(master, "\x04");  // the end of input, as a user types it
  EXPECT_EQ(child.wait_exit(soon()), 0);
  EXPECT_EQ(fcntl(terminal, F_GETFL) & O_NONBLOCK, 0);
}

}  // namespace
}  // namespace harness
