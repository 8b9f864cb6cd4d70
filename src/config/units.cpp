#include "config/units.h"

#include <array>
#include <charconv>
#include <string>
#include <utility>

namespace mcpivot {
namespace {

constexpr double longest_duration = 100.0 * 24 * 3'600'000;  // in milliseconds
constexpr double largest_size = 1e15;

// The number that the text begins with, and what follows it. Nothing: it doesn't begin with one, or the
// number is negative.
std::optional<std::pair<double, std::string_view>> number_and_unit(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  const auto [behind, error] = std::from_chars(text.data(), end, number);
  if (error != std::errc() || !(number >= 0)) return {};
  std::string_view unit(behind, static_cast<std::size_t>(end - behind));
  if (unit.starts_with(' ')) unit.remove_prefix(1);
  return std::pair{number, unit};
}

}  // namespace

std::optional<std::chrono::milliseconds> parse_duration(std::string_view text) {
  const auto parts = number_and_unit(text);
  if (!parts) return {};
  const auto [number, unit] = *parts;
  const double factor = unit == "ms"                   ? 1
                        : unit.empty() || unit == "s"  ? 1000
                        : unit == "m" || unit == "min" ? 60'000
                        : unit == "h"                  ? 3'600'000
                                                       : 0;
  if (factor == 0 || !(number * factor <= longest_duration)) return {};
  return std::chrono::milliseconds(static_cast<std::int64_t>(number * factor));
}

std::optional<std::uint64_t> parse_bytes(std::string_view text) {
  const auto parts = number_and_unit(text);
  if (!parts) return {};
  std::string unit;
  for (const char c : parts->second) unit += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  if (unit.ends_with('b')) unit.pop_back();
  static constexpr std::array<std::pair<std::string_view, double>, 7> units{{{"", 1},
                                                                             {"k", 1e3},
                                                                             {"m", 1e6},
                                                                             {"g", 1e9},
                                                                             {"ki", 1024},
                                                                             {"mi", 1024.0 * 1024},
                                                                             {"gi", 1073741824.0}}};
  for (const auto& [name, factor] : units)
    if (unit == name && parts->first * factor <= largest_size)
      return static_cast<std::uint64_t>(parts->first * factor);
  return {};
}

std::optional<ReplayRule> parse_replay_rule(std::string_view text) {
  if (text.empty()) return {};
  const auto colon = text.find(':');
  if (colon == std::string_view::npos) return ReplayRule{std::string(text), {}, {}};
  const auto equals = text.find('=', colon);
  if (colon == 0 || equals == std::string_view::npos || equals == colon + 1) return {};
  return ReplayRule{std::string(text.substr(0, colon)),
                    std::string(text.substr(colon + 1, equals - colon - 1)),
                    std::string(text.substr(equals + 1))};
}

}  // namespace mcpivot
