#include "base/output_ring.h"

#include "base/utf8.h"

namespace mcpivot {

void OutputRing::add(int generation, std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string text = as_utf8(line.substr(0, longest_line));
  if (line.size() > longest_line) text += "… [line cut at 4096 bytes]";
  static std::uint64_t last_number = 0;
  lines_.push_back({generation, std::move(text), ++last_number, std::chrono::system_clock::now()});
  if (lines_.size() > most_lines) lines_.pop_front();
}

std::vector<std::string> OutputRing::lines_of(int generation, std::uint64_t after) const {
  std::vector<std::string> found;
  for (const Line& line : lines_)
    if (line.number > after && (generation == 0 || line.generation == generation)) found.push_back(line.text);
  return found;
}

}  // namespace mcpivot
