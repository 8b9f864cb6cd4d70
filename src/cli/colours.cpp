#include "cli/colours.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/text.h"
#include "base/utf8.h"
#include "proc/terminal.h"

namespace mcpivot {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// By the first of these variables that is set, in the order that setlocale() uses.
bool locale_has_utf8() {
  std::string locale = variable("LC_ALL");
  if (locale.empty()) locale = variable("LC_CTYPE");
  if (locale.empty()) locale = variable("LANG");
  locale = lower(locale);
  return locale.find("utf-8") != std::string::npos || locale.find("utf8") != std::string::npos;
}

}  // namespace

bool has_colours(Stream stream) {
  return is_terminal(static_cast<int>(stream)) && variable("NO_COLOR").empty() && variable("TERM") != "dumb";
}

std::string coloured(std::string_view colour, std::string_view text, Stream stream) {
  return has_colours(stream) ? fmt::format("\033[{}m{}\033[0m", colour, text) : std::string(text);
}

bool can_redraw() {
  return is_terminal(static_cast<int>(Stream::out)) && variable("TERM") != "dumb";
}

std::size_t columns_of(std::string_view utf8) {
  return static_cast<std::size_t>(std::ranges::count(utf8, false, continues_character));
}

std::string shortened(std::string_view utf8, std::size_t columns) {
  if (columns_of(utf8) <= columns) return std::string(utf8);
  std::size_t end = 0;
  for (std::size_t kept = 0; end < utf8.size(); ++end)
    if (!continues_character(utf8[end]) && ++kept >= columns) break;
  return std::string(utf8.substr(0, end)) + (columns == 0 ? "" : locale_has_utf8() ? "…" : "~");
}

}  // namespace mcpivot
