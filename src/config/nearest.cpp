#include "config/nearest.h"

#include <algorithm>
#include <string>
#include <vector>

namespace mcpivot {
namespace {

constexpr std::size_t longest = 64;  // longer than any key of ours; bounds the cost of comparing

std::string plain(std::string_view word) {
  std::string result;
  for (const char c : word)
    if (c != '_' && c != '-') result += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return result;
}

}  // namespace

std::size_t edit_distance(std::string_view a, std::string_view b) {
  const std::string x = plain(a);
  const std::string y = plain(b);
  // Three rows of the usual table: two letters of x ago, one ago, and now.
  std::vector<std::size_t> before(y.size() + 1);
  std::vector<std::size_t> last(y.size() + 1);
  std::vector<std::size_t> now(y.size() + 1);
  for (std::size_t j = 0; j <= y.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= x.size(); ++i) {
    now[0] = i;
    for (std::size_t j = 1; j <= y.size(); ++j) {
      const bool same = x[i - 1] == y[j - 1];
      now[j] = std::min({last[j] + 1, now[j - 1] + 1, last[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && x[i - 1] == y[j - 2] && x[i - 2] == y[j - 1])
        now[j] = std::min(now[j], before[j - 2] + 1);
    }
    before.swap(last);
    last.swap(now);
  }
  return last[y.size()];
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  if (word.size() > longest) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(1, std::min<std::size_t>(3, word.size() / 3)) + 1;
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance && distance < candidate.size()) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

}  // namespace mcpivot
