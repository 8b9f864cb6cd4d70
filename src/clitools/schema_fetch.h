// Runs a CLI's schema command and reads what it prints.
//
// May be dropped at any time; the command is then killed. One thread; handlers are called from the event
// loop.
#pragma once

#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "clitools/cli_run.h"
#include "clitools/tool_schema.h"

namespace mcpivot {

class SchemaFetch {
 public:
  static constexpr std::size_t largest_schema = 16UL * 1024 * 1024;

  struct Handlers {
    std::function<void(const std::string& line)> on_stderr_line;
    // The error says how the command failed, or what is wrong with what it printed.
    std::function<void(std::expected<ToolSchema, std::string>, std::chrono::milliseconds took)> on_done;
  };
  // `limit` is the actual time limit; `start_timeout`, which may be a little longer, is the one the user set.
  SchemaFetch(boost::asio::io_context& loop, Guard& guard, Command command, std::chrono::milliseconds limit,
              std::chrono::milliseconds start_timeout, Handlers handlers);

 private:
  std::shared_ptr<CliRun> run_;
};

// A command line for people to read: words with spaces in quotes.
std::string command_text(const std::vector<std::string>& argv);

}  // namespace mcpivot
