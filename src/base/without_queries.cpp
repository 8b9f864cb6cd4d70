#include "base/without_queries.h"

#include <algorithm>

namespace mcpivot {

std::string without_queries(std::string_view text) {
  std::string shown;
  for (;;) {
    const std::size_t url = std::min(text.find("http://"), text.find("https://"));
    if (url == std::string_view::npos) return shown.append(text);
    const std::size_t end = std::min(text.find_first_of(" \t\r\n\"'<>", url), text.size());
    const std::size_t query = text.substr(0, end).find('?', url);
    shown.append(text.substr(0, std::min(query, end)));
    if (query != std::string_view::npos) shown.append("?…");
    text.remove_prefix(end);
  }
}

}  // namespace mcpivot
