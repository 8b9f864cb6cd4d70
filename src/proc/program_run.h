// One run of a program from start to end: it gets its stdin, its output is passed on as it comes, and it
// ends within a time limit, with everything that it started. Derived classes decide what to do with the
// output.
//
// Created by make_shared. May be dropped at any time; the program is then killed. One thread; the on_...()
// functions are called from the event loop, never from within a function here.
#pragma once

#include <array>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "proc/process.h"

namespace mcpivot {

class ProgramRun : public std::enable_shared_from_this<ProgramRun> {
 public:
  struct Plan {
    Command command;
    std::string input{};  // for its stdin
    std::chrono::milliseconds time_limit;
    std::string over_limit;  // how it ends then: "was stopped after 30 s, its time limit"
  };
  struct Result {
    bool ok = false;      // it ended by itself with code 0
    bool started = true;  // else `how` says why not
    std::string how;      // "exited with code 3", or why it was stopped
    std::chrono::milliseconds took{0};
  };

  virtual ~ProgramRun();
  void start(Plan plan);
  // SIGTERM now, SIGKILL after the patience; on_end() follows. `why` continues "it …": "was cancelled".
  void stop(const std::string& why, std::chrono::milliseconds patience = std::chrono::milliseconds(500));

 protected:
  ProgramRun(boost::asio::io_context& loop, Guard& guard);

 private:
  virtual void on_stdout(std::string_view piece) = 0;
  virtual void on_stderr(std::string_view piece) = 0;
  virtual void on_end(const Result& result) = 0;  // once, even if it couldn't be started

  using Pipe = boost::asio::posix::stream_descriptor;
  using Buffer = std::array<char, 16 * 1024>;
  // Throws if it can't be run.
  void launch();
  void write_input();
  void read(Pipe& pipe, Buffer& buffer, void (ProgramRun::*take)(std::string_view));
  void wait_for_last_words(std::chrono::milliseconds longest);
  void finish_when_settled();
  void finish(Result result);

  boost::asio::io_context& loop_;
  Guard& guard_;
  Plan plan_{.command = {}, .time_limit = {}, .over_limit = {}};
  std::shared_ptr<Process> process_;
  Pipe in_;
  Pipe out_;
  Pipe err_;
  Buffer out_buffer_;
  Buffer err_buffer_;
  std::size_t written_ = 0;  // of its input
  std::size_t heard_ = 0;    // bytes of its output
  int open_pipes_ = 0;
  boost::asio::steady_timer timer_;
  std::string stopped_;  // why we stopped it ourselves
  std::optional<ExitStatus> status_;
  bool done_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace mcpivot
