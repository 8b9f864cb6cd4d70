#include "clitools/schema_fetch.h"

#include <fmt/format.h>

#include "base/duration_text.h"

namespace mcpivot {

SchemaFetch::SchemaFetch(boost::asio::io_context& loop, Guard& guard, Command command,
                         std::chrono::milliseconds limit, std::chrono::milliseconds start_timeout,
                         Handlers handlers) {
  auto output = std::make_shared<CapturedOutput>(largest_schema, nullptr, "schema");
  auto done = [output, text = command_text(command.argv),
               on_done = std::move(handlers.on_done)](const CliRun::Result& result) {
    using Failure = std::unexpected<std::string>;
    if (!result.started) return on_done(Failure(result.how), result.took);
    if (!result.ok)
      return on_done(Failure(fmt::format("its schema command ({}) {}", text, result.how)), result.took);
    if (output->cut())
      return on_done(Failure(fmt::format("its schema command ({}) printed {} bytes; the limit is {}", text,
                                         output->size(), largest_schema)),
                     result.took);
    auto schema = read_tool_schema(output->whole());
    if (!schema)
      return on_done(Failure(fmt::format("its schema command ({}): {}", text, schema.error())), result.took);
    on_done(std::move(schema), result.took);
  };
  run_ = std::make_shared<CliRun>(
      loop, guard, output,
      CliRun::Handlers{.on_stderr_line = std::move(handlers.on_stderr_line), .on_done = std::move(done)});
  run_->start({.command = std::move(command),
               .time_limit = limit,
               .over_limit = fmt::format("was stopped after {}, its time limit (--start-timeout)",
                                         duration_text(start_timeout))});
}

std::string command_text(const std::vector<std::string>& argv) {
  std::string text;
  for (const std::string& word : argv) {
    const bool plain = !word.empty() && word.find_first_of(" \t\n\"'\\$") == std::string::npos;
    text += fmt::format("{}{}{}{}", text.empty() ? "" : " ", plain ? "" : "\"", word, plain ? "" : "\"");
  }
  return text;
}

}  // namespace mcpivot
