// One run of a program from start to end: it gets its stdin, its stdout is captured, its stderr comes line by
// line, and it ends within a time limit, with everything that it started.
//
// May be dropped at any time; the program is then killed. One thread; handlers are called from the event
// loop, never from within a function here.
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

#include "clitools/captured_output.h"
#include "proc/process.h"
#include "proc/stderr_ring.h"

namespace mcpivot {

class ProgramRun : public std::enable_shared_from_this<ProgramRun> {
 public:
  struct Result {
    bool ok = false;      // it ended by itself with code 0
    bool started = true;  // else `how` says why not
    std::string how;      // "exited with code 3", "was stopped after 30 s, its time limit"
    std::string stderr_tail{};
    std::chrono::milliseconds took{0};
  };
  struct Handlers {
    std::function<void(const std::string& line)> on_stderr_line;  // UTF-8
    std::function<void(const Result&)> on_done;                   // once
  };
  struct Plan {
    Command command;
    std::string input{};  // for its stdin
    std::chrono::milliseconds time_limit;
    std::string limit_name{};  // what sets the time limit: "--call-timeout"
  };

  ProgramRun(boost::asio::io_context& loop, Guard& guard, std::shared_ptr<CapturedOutput> output,
             Handlers handlers);
  ~ProgramRun();
  void start(Plan plan);
  // SIGTERM now, SIGKILL after the patience; on_done() follows. `why` follows "it": "was cancelled".
  void stop(const std::string& why, std::chrono::milliseconds patience = std::chrono::milliseconds(500));

  const CapturedOutput& output() const { return *output_; }

 private:
  using Pipe = boost::asio::posix::stream_descriptor;
  using Buffer = std::array<char, 16 * 1024>;
  void write_input();
  void read(Pipe& pipe, Buffer& buffer, void (ProgramRun::*take)(std::string_view));
  void take_output(std::string_view piece);
  void take_stderr(std::string_view piece);
  void add_stderr_line(const std::string& line);
  void wait_for_last_output();
  void finish_when_settled();
  void finish(Result result);

  boost::asio::io_context& loop_;
  Guard& guard_;
  Handlers handlers_;
  std::shared_ptr<CapturedOutput> output_;
  std::shared_ptr<Process> process_;
  Pipe in_;
  Pipe out_;
  Pipe err_;
  Buffer out_buffer_;
  Buffer err_buffer_;
  std::string input_;
  std::size_t written_ = 0;
  boost::asio::steady_timer timer_;
  LineAssembler lines_;
  std::string stderr_tail_;
  std::size_t stderr_size_ = 0;
  std::string stopped_;  // why we stopped it ourselves
  std::optional<ExitStatus> status_;
  int open_pipes_ = 0;
  std::size_t heard_ = 0;
  int waits_ = 0;  // for last words
  bool done_ = false;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

}  // namespace mcpivot
