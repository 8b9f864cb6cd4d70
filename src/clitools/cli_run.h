// One run of a CLI: its stdout is captured, its stderr is delivered line by line, and the end of stderr is
// kept.
//
// One thread; handlers are called from the event loop.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/output_ring.h"
#include "clitools/captured_output.h"
#include "proc/program_run.h"

namespace mcpivot {

class CliRun final : public ProgramRun {
 public:
  struct Result : ProgramRun::Result {
    std::string stderr_tail;
  };
  struct Handlers {
    std::function<void(const std::string& line)> on_stderr_line;  // UTF-8
    std::function<void(const Result&)> on_done;                   // once
  };

  CliRun(boost::asio::io_context& loop, Guard& guard, std::shared_ptr<CapturedOutput> output,
         Handlers handlers);

  const CapturedOutput& output() const { return *output_; }

 private:
  void on_stdout(std::string_view piece) override;
  void on_stderr(std::string_view piece) override;
  void on_end(const ProgramRun::Result& result) override;
  void add_stderr_line(const std::string& line);

  std::shared_ptr<CapturedOutput> output_;
  Handlers handlers_;
  LineAssembler lines_;
  std::string stderr_tail_;
  std::size_t stderr_size_ = 0;
};

// For ProgramRun::Plan; `name` is the option that sets the limit: "--call-timeout".
std::string over_limit(std::chrono::milliseconds limit, std::string_view name);

}  // namespace mcpivot
