#include "journal/recent_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "base/duration_text.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_calls = 100;  // of a client
constexpr std::size_t most_clients = 1000;
constexpr std::size_t longest_part = 200;  // of what was asked, and of what was answered

std::string clock_text(std::int64_t micros) {
  const auto seconds = static_cast<std::time_t>(micros / 1'000'000);
  std::tm local{};
  ::localtime_r(&seconds, &local);
  char text[16];
  return {text, std::strftime(text, sizeof text, "%H:%M:%S", &local)};
}

// In one line, and not cut within a character.
std::string part_of(std::string_view text) {
  std::string part;
  for (const char c : text.substr(0, longest_part)) part += static_cast<unsigned char>(c) < ' ' ? ' ' : c;
  if (text.size() <= longest_part) return part;
  while (!part.empty() && (static_cast<unsigned char>(part.back()) & 0xC0U) == 0x80U) part.pop_back();
  if (!part.empty() && static_cast<unsigned char>(part.back()) >= 0xC0U) part.pop_back();
  return part + "…";
}

std::string first_text(std::string_view result) {
  const std::string_view content = find_member(result, "content");
  if (!content.starts_with('[')) return part_of(result);
  // The first block, if it is text.
  const auto begin = content.find('{');
  if (begin == std::string_view::npos) return part_of(result);
  const std::string_view text = find_member(content.substr(begin, content.size() - begin - 1), "text");
  return text.empty() ? part_of(content) : part_of(string_value(text));
}

}  // namespace

void RecentCalls::add(const CallRow& call, std::string_view arguments, std::string_view answer) {
  if (call.method != "tools/call") return;
  if (call.name == "pivot_logs") return;  // reading the calls must not push them out
  std::string line = fmt::format("{} {} {}: ", clock_text(call.at), call.name,
                                 short_time_text(std::chrono::microseconds(call.took)));
  switch (call.outcome) {
    case RecordedCall::Outcome::open:
      line += "no answer";
      break;
    case RecordedCall::Outcome::cancelled:
      line += "cancelled";
      break;
    case RecordedCall::Outcome::ok:
    case RecordedCall::Outcome::tool_error:
      line += call.outcome == RecordedCall::Outcome::ok ? "ok" : "failed";
      break;
    case RecordedCall::Outcome::error:
      line += "error";
      break;
  }
  line += fmt::format(", {}", part_of(arguments.empty() ? "{}" : arguments));
  if (call.outcome == RecordedCall::Outcome::error)
    line += fmt::format(" → {}", part_of(string_value(find_member(find_member(answer, "error"), "message"))));
  else if (!answer.empty())
    line += fmt::format(" → {}", first_text(find_member(answer, "result")));
  const std::lock_guard lock(mutex_);
  Lines& own = clients_[call.client];
  own.last = ++added_;
  own.lines.push_back(std::move(line));
  if (own.lines.size() > most_calls) own.lines.pop_front();
  if (clients_.size() > most_clients)
    clients_.erase(std::ranges::min_element(clients_, {}, [](const auto& one) { return one.second.last; }));
}

std::vector<std::string> RecentCalls::last(std::uint64_t client, std::size_t most) const {
  const std::lock_guard lock(mutex_);
  const auto found = clients_.find(client);
  if (found == clients_.end()) return {};
  const std::deque<std::string>& lines = found->second.lines;
  const std::size_t count = std::min(most, lines.size());
  return {lines.end() - static_cast<std::ptrdiff_t>(count), lines.end()};
}

}  // namespace mcpivot
