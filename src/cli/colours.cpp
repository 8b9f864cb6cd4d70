#include "cli/colours.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdlib>

namespace mcpivot {

bool has_colours() {
  const char* no = std::getenv("NO_COLOR");
  const char* terminal = std::getenv("TERM");
  return ::isatty(STDOUT_FILENO) == 1 && (no == nullptr || *no == '\0') &&
         (terminal == nullptr || std::string_view(terminal) != "dumb");
}

std::string coloured(std::string_view colour, std::string_view text) {
  return has_colours() ? fmt::format("\033[{}m{}\033[0m", colour, text) : std::string(text);
}

}  // namespace mcpivot
