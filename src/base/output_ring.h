// The last lines of a server's output: its stderr and, marked, what it wrote to stdout that isn't a message.
// It belongs to the server, not to a generation, so it survives restarts; a line of ours separates
// generations.
//
// One thread.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

class OutputRing {
 public:
  static constexpr std::size_t most_lines = 1000;
  static constexpr std::size_t longest_line = 4096;

  struct Line {
    int generation;
    std::string text;
    std::uint64_t number;                      // counts the lines of all rings, from 1
    std::chrono::system_clock::time_point at;  // for people; nothing is decided by it
  };

  void add(int generation, std::string_view line);

  const std::deque<Line>& lines() const { return lines_; }
  // Those of one generation, or of all (0), after the line with this number.
  std::vector<std::string> lines_of(int generation, std::uint64_t after = 0) const;
  // The number of the last line; 0: there is none.
  std::uint64_t last_number() const { return lines_.empty() ? 0 : lines_.back().number; }

 private:
  std::deque<Line> lines_;
};

// Assembles the lines of one stream from the pieces in which it arrives.
class LineAssembler {
 public:
  template <class OnLine>
  void feed(std::string_view piece, OnLine&& on_line) {
    while (!piece.empty()) {
      const auto newline = piece.find('\n');
      const std::string_view part = piece.substr(0, newline);
      // One byte more than the ring keeps, so that the ring can see that the line was longer.
      partial_ += part.substr(
          0, OutputRing::longest_line + 1 - std::min(partial_.size(), OutputRing::longest_line + 1));
      if (newline == std::string_view::npos) return;
      on_line(std::exchange(partial_, {}));
      piece.remove_prefix(newline + 1);
    }
  }
  // At the end of the stream.
  template <class OnLine>
  void rest(OnLine&& on_line) {
    if (!partial_.empty()) on_line(std::exchange(partial_, {}));
  }

 private:
  std::string partial_;
};

}  // namespace mcpivot
