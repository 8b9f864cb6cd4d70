// For tests of the two sides of mcpivot's pipes: pings and their answers, the test's own pipes, and the
// moment when every process is blocked.
#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "harness.h"

namespace harness {

inline std::string ping(long id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":"ping"})";
}

inline std::string ping_answer(long id) {
  return R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"result":{}})";
}

// A server that answers pings and starts faster than one of our programs.
inline const Strings quick_server = {"sed", "-u", R"(s/"method":"ping"/"result":{}/)"};

// Two ends of a pipe or a pair of sockets, closed at the end.
struct Ends {
  int read = -1;
  int write = -1;

  static Ends of_pipe() {
    std::array<int, 2> fds{};
    if (pipe2(fds.data(), O_CLOEXEC) != 0) throw std::runtime_error("pipe2");
    return {fds[0], fds[1]};
  }
  Ends(int read_end, int write_end) : read(read_end), write(write_end) {}
  ~Ends() {
    close_one(read);
    close_one(write);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  static void close_one(int& fd) {
    if (fd >= 0) close(fd);
    fd = -1;
  }
};

inline void write_all(int fd, std::string_view bytes) {
  ASSERT_EQ(write(fd, bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
}

// Until mcpivot and everything that it has started is blocked. Returns what it has started.
inline std::vector<pid_t> wait_until_stuck(Child& child) {
  std::vector<pid_t> all;
  std::vector<pid_t> before;
  do {
    if (!process_alive(child.pid())) throw std::runtime_error("mcpivot died: " + child.stderr_text());
    before = all;
    all = descendants_of(child.pid());
    all.push_back(child.pid());
    EXPECT_TRUE(wait_at_rest(all, in_a_while()));
  } while (all != before || all.size() < 2);
  all.pop_back();
  return all;
}

}  // namespace harness
