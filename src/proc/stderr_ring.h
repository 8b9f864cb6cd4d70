// The last lines that a server wrote to its stderr, or, marked, to its stdout where they did not belong. It
// belongs to the server, not to a generation, so that it survives restarts; a line of ours stands between
// generations.
//
// One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>

namespace mcpivot {

class StderrRing {
 public:
  static constexpr std::size_t most_lines = 1000;
  static constexpr std::size_t longest_line = 4096;

  // A piece of the stream, as it came; lines are put together across pieces.
  void feed(std::string_view piece);
  // A whole line; what was fed before without a newline counts as a line of its own.
  void add(std::string_view line);

  const std::deque<std::string>& lines() const { return lines_; }
  // How many lines there have ever been.
  std::uint64_t total() const { return total_; }

 private:
  void push(std::string_view line);

  std::deque<std::string> lines_;
  std::string partial_;
  std::uint64_t total_ = 0;
};

}  // namespace mcpivot
