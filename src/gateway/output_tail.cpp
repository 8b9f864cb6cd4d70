#include "gateway/output_tail.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace mcpivot {

std::string output_tail(const Instance& server, const OutputTail& wanted) {
  const int most = std::clamp(wanted.lines, 1, static_cast<int>(OutputRing::most_lines));
  if (const auto printed = server.own_output(static_cast<std::size_t>(most)))
    return printed->empty() ? "mcpivot has not started this daemon, or it has printed nothing" : *printed;
  std::vector<std::string> lines;
  int last = 0;
  for (const OutputRing::Line& line : server.ring().lines()) {
    if (wanted.generation != 0 && line.generation != wanted.generation) continue;
    if (line.generation != last)
      lines.push_back(fmt::format(fmt::runtime(wanted.between), last = line.generation));
    lines.push_back(line.text);
  }
  const std::size_t from = lines.size() - std::min(lines.size(), static_cast<std::size_t>(most));
  std::string text;
  for (std::size_t i = from; i < lines.size(); ++i) text += fmt::format("{}\n", lines[i]);
  if (text.empty())
    return wanted.generation == 0 ? "nothing on stderr yet"
                                  : fmt::format("nothing is kept from generation {}", wanted.generation);
  if (from > 0) text = fmt::format("(the last {} of {} lines that are kept)\n", most, lines.size()) + text;
  return text;
}

}  // namespace mcpivot
