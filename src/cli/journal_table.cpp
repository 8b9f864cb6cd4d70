#include "cli/journal_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <string_view>

#include "base/duration_text.h"
#include "base/utf8.h"
#include "cli/colours.h"
#include "cli/text_table.h"
#include "gateway/routes.h"
#include "proc/terminal.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using std::chrono::system_clock;
using Outcome = RecordedCall::Outcome;

constexpr std::size_t longest_result = 100;  // in a line that isn't cut for a terminal
constexpr std::size_t least_result = 24;     // other columns make room for it

std::string time_text(system_clock::time_point time, const char* format) {
  const std::tm local = local_time(time);
  char text[40];
  return {text, std::strftime(text, sizeof text, format, &local)};
}

// "14:05:09", and with the date if that is another day's.
std::string clock_text(system_clock::time_point time) {
  const std::tm then = local_time(time);
  const std::tm now = local_time(system_clock::now());
  const bool today = then.tm_yday == now.tm_yday && then.tm_year == now.tm_year;
  return time_text(time, today ? "%H:%M:%S" : "%m-%d %H:%M:%S");
}

// The first text in a result.
std::string content_text(std::string_view result) {
  const json::value read = parsed(result);
  if (!read.is_object()) return flat(result);
  const json::value* const content = read.as_object().if_contains("content");
  if (content == nullptr || !content->is_array() || content->as_array().empty()) {
    const json::value* const structured = read.as_object().if_contains("structuredContent");
    return flat(structured != nullptr ? json::serialize(*structured) : std::string(result));
  }
  for (const json::value& block : content->as_array()) {
    if (!block.is_object()) continue;
    if (const json::value* const text = block.as_object().if_contains("text");
        text != nullptr && text->is_string())
      return flat(std::string_view(text->as_string()));
    if (const json::value* const type = block.as_object().if_contains("type");
        type != nullptr && type->is_string())
      return fmt::format("[{}]", flat(type->as_string()));
  }
  return flat(result);
}

std::string result_text(const RecordedCall& call) {
  switch (call.outcome) {
    case Outcome::open:
      return "no answer";
    case Outcome::cancelled:
      return "cancelled";
    case Outcome::error:
      return fmt::format("error {}: {}", flat(find_member(call.answer, "code")),
                         flat(string_value(find_member(call.answer, "message"))));
    case Outcome::tool_error:
      return "failed: " + content_text(call.answer);
    case Outcome::ok:
      return content_text(call.answer);
  }
  return {};
}

std::string table_of(const std::vector<RecordedCall>& calls, bool with_client, bool follows) {
  std::vector<TextColumn> columns{{.title = "ID"},
                                  {.title = "TIME"},
                                  {.title = "CLIENT", .least = 6, .leaves = 2},
                                  {.title = "TOOL", .least = 12},
                                  {.title = "TOOK", .left = false},
                                  {.title = "SIZE", .left = false, .leaves = 1},
                                  {.title = "RESULT", .least = least_result}};
  // Each line that follows is a table of its own; cells of the same width keep the columns aligned.
  const auto fixed = [&](std::string text, std::size_t width) {
    if (!follows) return text;
    text = shortened(text, width);
    text.append(width - std::min(width, columns_of(text)), ' ');
    return text;
  };
  std::vector<TextRow> rows;
  for (const RecordedCall& call : calls) {
    const bool ended = call.outcome != Outcome::open;
    std::string result = shortened(result_text(call), longest_result);
    if (columns_of(result) < least_result) result = fixed(std::move(result), least_result);
    rows.push_back({columns_of(call.name()) < 10 ? fixed(call.name(), 10) : call.name(),
                    clock_text(call.when), with_client ? fixed(flat(call.client), 11) : "",
                    fixed(flat(name_of(call)), 20),
                    fmt::format("{:>{}}", ended ? short_time_text(call.took) : "", follows ? 7 : 0),
                    fmt::format("{:>{}}", size_text(call.bytes_in + call.bytes_out), follows ? 7 : 0),
                    std::move(result)});
  }
  return text_table(std::move(columns), std::move(rows), terminal_width());
}

}  // namespace

std::string flat(std::string_view text) {
  std::string line;
  for (const char c : text) {
    const bool blank = static_cast<unsigned char>(c) <= ' ' || c == '\x7f';
    if (!blank)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
    if (line.size() > 4 * longest_result) break;
  }
  return printable(line);
}

json::value parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = JsonCursor::max_depth;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  return error ? json::value(nullptr) : value;
}

std::tm local_time(system_clock::time_point time) {
  const std::time_t seconds = system_clock::to_time_t(time);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  return local;
}

std::string milliseconds_text(system_clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count();
  return fmt::format("{}.{:03}", time_text(time, "%Y-%m-%d %H:%M:%S"), since % 1000);
}

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1000) return fmt::format("{} B", bytes);
  if (bytes < 99'950) return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1e3);
  if (bytes < 999'500) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

std::string name_of(const RecordedCall& call) {
  if (call.method != "tools/call") return call.called.empty() ? call.method : call.method + " " + call.called;
  return call.called == "pivot_call" ? call.tool : call.called;
}

// Those of calls that failed in red.
void print_calls(const std::vector<RecordedCall>& calls, bool with_client, TableKind kind) {
  const std::string table = table_of(calls, with_client, kind != TableKind::whole);
  const bool with_titles = kind != TableKind::next_line;
  std::size_t begin = 0;
  for (std::size_t i = 0; begin < table.size(); ++i) {
    const std::size_t end = table.find('\n', begin);
    const std::string line = table.substr(begin, end - begin);
    begin = end + 1;
    if (i == 0) {
      if (with_titles) fmt::print("{}\n", coloured("2", line));
      continue;
    }
    const Outcome outcome = calls[i - 1].outcome;
    const bool failed = outcome == Outcome::error || outcome == Outcome::tool_error;
    fmt::print("{}\n", failed ? coloured("31", line) : outcome == Outcome::ok ? line : coloured("2", line));
  }
}

bool has_several_clients(const std::vector<RecordedCall>& calls) {
  return std::ranges::any_of(calls, [&](const RecordedCall& call) { return call.client != calls[0].client; });
}

}  // namespace mcpivot
