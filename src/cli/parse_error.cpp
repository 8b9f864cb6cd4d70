#include "cli/parse_error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <optional>
#include <string_view>
#include <vector>

#include "search/nearest_tools.h"

namespace mcpivot {
namespace {

// The text before a mark, and the text after it. Nothing: the mark isn't there.
struct Halves {
  std::string before;
  std::string after;
};
std::optional<Halves> split_at(const std::string& text, std::string_view mark) {
  const auto at = text.find(mark);
  if (at == std::string::npos) return std::nullopt;
  return Halves{text.substr(0, at), text.substr(at + mark.size())};
}

// "fast not in {overlap,stop-first}"
std::optional<std::string> wrong_choice(const std::string& option, const std::string& words) {
  const auto halves = split_at(words, " not in {");
  if (!halves || !halves->after.ends_with('}')) return std::nullopt;
  const std::string choices = halves->after.substr(0, halves->after.size() - 1);
  return fmt::format("{}: expected {}, got '{}'", option, alternatives(CLI::detail::split(choices, ',')),
                     halves->before);
}

// "Value 0 not in range 1 to 1000"
std::optional<std::string> wrong_number(const std::string& option, const std::string& words) {
  const auto halves = split_at(words, " not in range ");
  if (!halves || !halves->before.starts_with("Value ")) return std::nullopt;
  return fmt::format("{}: expected a number from {}, got {}", option, halves->after,
                     halves->before.substr(6));
}

// "lots unit not recognized. Allowed values: {b,kb,…}"
std::optional<std::string> wrong_size(const std::string& option, const std::string& words) {
  const auto halves = split_at(words, " unit not recognized");
  if (!halves) return std::nullopt;
  return fmt::format("{}: expected a size like 500kB or 8MB, got '{}'", option, halves->before);
}

}  // namespace

std::string parse_error_text(const CLI::ParseError& error, const std::vector<std::string>& unexpected) {
  const std::string words = error.what();
  if (split_at(words, " not expected: "))
    return fmt::format("unexpected argument{}: {}", unexpected.size() == 1 ? "" : "s",
                       fmt::join(unexpected, " "));
  if (const auto twice = split_at(words, ": At Most 1 required but received "))
    return twice->before + " can be given only once";
  if (const auto none = split_at(words, ": 1 required ")) return none->before + " needs a value";
  if (const auto wrong = split_at(words, "Could not convert: "))
    if (const auto value = split_at(wrong->after, " = "))
      return fmt::format("{}: expected a number, got '{}'", value->before, value->after);
  if (const auto named = split_at(words, ": ")) {
    if (auto text = wrong_choice(named->before, named->after)) return *text;
    if (auto text = wrong_number(named->before, named->after)) return *text;
    if (auto text = wrong_size(named->before, named->after)) return *text;
  }
  return words;
}

}  // namespace mcpivot
