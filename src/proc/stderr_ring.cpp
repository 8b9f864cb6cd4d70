#include "proc/stderr_ring.h"

#include <algorithm>
#include <utility>

namespace mcpivot {

void StderrRing::feed(std::string_view piece) {
  while (!piece.empty()) {
    const auto newline = piece.find('\n');
    const std::string_view part = piece.substr(0, newline);
    // One byte more than is kept, so that push() sees that there was more.
    partial_ += part.substr(0, longest_line + 1 - std::min(partial_.size(), longest_line + 1));
    if (newline == std::string_view::npos) return;
    push(std::exchange(partial_, {}));
    piece.remove_prefix(newline + 1);
  }
}

void StderrRing::add(std::string_view line) {
  if (!partial_.empty()) push(std::exchange(partial_, {}));
  push(line);
}

void StderrRing::push(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text(line.substr(0, longest_line));
  if (line.size() > longest_line) text += "… [line cut at 4096 bytes]";
  lines_.push_back(std::move(text));
  ++total_;
  if (lines_.size() > most_lines) lines_.pop_front();
}

}  // namespace mcpivot
