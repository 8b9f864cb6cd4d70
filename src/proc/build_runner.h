// Runs a build, or another shell command of the user's: stdout and stderr are one output, delivered line by
// line, of which the beginning and the end are kept.
//
// One thread; handlers are called from the event loop.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <string_view>

#include "base/output_ring.h"
#include "proc/program_run.h"

namespace mcpivot {

// Text of which the beginning and the end matter: the middle is dropped when there is too much, and
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

class BuildRunner final : public ProgramRun {
 public:
  struct Result : ProgramRun::Result {
    std::string output;  // beginning and end, always UTF-8
  };
  struct Handlers {
    std::function<void(std::string_view line)> on_line;
    std::function<void(const Result&)> on_done;  // once, even if it couldn't be started
  };

  BuildRunner(boost::asio::io_context& loop, Guard& guard, Handlers handlers)
      : ProgramRun(loop, guard), handlers_(std::move(handlers)) {}
  void start(const std::string& shell_line, Command where, std::chrono::milliseconds limit);

 private:
  void on_stdout(std::string_view piece) override { take(piece); }
  void on_stderr(std::string_view piece) override { take(piece); }
  void on_end(const ProgramRun::Result& result) override;
  void take(std::string_view piece);

  Handlers handlers_;
  HeadAndTail output_;
  LineAssembler lines_;
};

}  // namespace mcpivot
