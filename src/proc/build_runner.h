// Runs a build: a shell line in a process group of its own, with a time limit, its output collected as it
// comes.
//
// May be dropped at any time; the build is then killed. One thread.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proc/process.h"

namespace mcpivot {

// Text of which the beginning and the end matter: what lies between is dropped once it is too much, and
// counted.
class HeadAndTail {
 public:
  explicit HeadAndTail(std::size_t each = 4 * 1024) : each_(each) {}
  void add(std::string_view text);
  std::string text() const;

 private:
  std::size_t each_;
  std::string head_;
  std::string tail_;
  std::size_t dropped_ = 0;
};

class BuildRunner : public std::enable_shared_from_this<BuildRunner> {
 public:
  struct Result {
    bool ok = false;
    std::string how;     // "exited with code 2", "was stopped after 10 min, its time limit"
    std::string output;  // beginning and end, always UTF-8
    std::chrono::milliseconds took{0};
  };
  struct Handlers {
    std::function<void(std::string_view line)> on_line;
    std::function<void(const Result&)> on_done;
  };

  BuildRunner(boost::asio::io_context& loop, Guard& guard, Handlers handlers);
  ~BuildRunner();
  // on_done() is called once, also if it could not be started.
  void start(const std::string& shell_line, Command where, std::chrono::milliseconds limit);
  void cancel(const std::string& why);

 private:
  using Pipe = boost::asio::posix::stream_descriptor;
  void read(Pipe& pipe, std::array<char, 4096>& buffer);
  void take(std::string_view piece);
  void stop_waiting_for_output();
  void finish_when_settled();
  void finish(bool ok, std::string how);

  boost::asio::io_context& loop_;
  Guard& guard_;
  Handlers handlers_;
  std::shared_ptr<Process> process_;
  Pipe out_;
  Pipe err_;
  std::array<char, 4096> out_buffer_{};
  std::array<char, 4096> err_buffer_{};
  boost::asio::steady_timer limit_;
  HeadAndTail output_;
  std::string line_;
  std::string stopped_;  // why we stopped it ourselves
  std::optional<ExitStatus> status_;
  int open_pipes_ = 0;
  bool done_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace mcpivot
