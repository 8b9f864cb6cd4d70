#include "bridge/log_levels.h"

#include <fmt/format.h>

#include "mcp/log_levels.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

std::optional<int> log_level(std::string_view json_string) {
  const std::size_t rank = rank_of(string_value(json_string));
  return rank < log_levels.size() ? std::optional(static_cast<int>(rank)) : std::nullopt;
}

void LogLevels::want(std::string_view level) {
  const auto wanted = log_level(level);
  if (!allowed_ || !wanted || (set_ && *set_ <= *wanted)) return;
  set_ = wanted;
  ends_.to_server(
      request_line(fmt::format(R"("mcpivot-level-{}")", ++sent_), "logging/setLevel",
                   fmt::format(R"({{"level":"{}"}})", log_levels[static_cast<std::size_t>(*wanted)])));
}

std::string log_line_of(const Message& notification) {
  const std::string_view params = notification.text(notification.params);
  const std::string_view data = find_member(params, "data");
  const std::string logger = string_value(find_member(params, "logger"));
  std::string line =
      fmt::format("[{}] {}{}{}", string_value(find_member(params, "level")), logger,
                  logger.empty() ? "" : ": ", data.starts_with('"') ? string_value(data) : std::string(data));
  std::ranges::replace_if(line, [](char c) { return c == '\n' || c == '\r'; }, ' ');
  return line;
}

}  // namespace mcpivot
