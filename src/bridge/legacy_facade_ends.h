// The two ends of a LegacyFacade in tests: keeps the lines that went either way, and lets a test play the
// generation and the server.
//
// One thread.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/bridge.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

class LegacyFacadeEnds final : public Bridge::Ends {
 public:
  void to_server(const Message& message, std::span<const Edit> edits) override {
    sent(spliced(message.raw, edits));
  }
  void to_server(std::string_view line) override { sent(std::string(line)); }
  void to_client(const Message& message, std::span<const Edit> edits) override {
    up.push_back(spliced(message.raw, edits));
    readable = readable && read_message(up.back()).has_value();
    if (on_client) on_client(std::string(up.back()));
  }
  void keep_log(std::string_view line) override { logged.emplace_back(line); }
  void wake_bridge(std::chrono::milliseconds after) override { pauses.push_back(after); }
  std::string secret() override { return fmt::format("secret{}", ++secrets); }

  // The oldest line that hasn't been taken yet, or nothing.
  std::string next_down() { return take(down); }
  std::string next_up() { return take(up); }

  std::deque<std::string> down, up, logged;
  std::vector<std::chrono::milliseconds> pauses;  // after which it asked to be woken
  bool readable = true;                           // every line so far
  std::function<void(const std::string&)> on_client;
  int secrets = 0;

 private:
  void sent(std::string line) {
    down.push_back(std::move(line));
    readable = readable && read_message(down.back()).has_value();
  }
  static std::string take(std::deque<std::string>& lines) {
    if (lines.empty()) return {};
    std::string line = std::move(lines.front());
    lines.pop_front();
    return line;
  }
};

// The value at this path of keys in a line; empty if there is none.
inline std::string at(std::string_view line, std::initializer_list<std::string_view> path) {
  for (const std::string_view key : path) line = find_member(line, key);
  return std::string(line);
}

}  // namespace mcpivot
