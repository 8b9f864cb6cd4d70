#include "clitools/compact_json.h"

#include "rpc/json_cursor.h"

namespace mcpivot {

std::string compact_json(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string) {
      result += c;
      if (c == '\\' && i + 1 < text.size()) result += text[++i];
      if (c == '"') in_string = false;
    } else if (c != ' ' && c != '\t' && c != '\r' && c != '\n') {
      result += c;
      in_string = c == '"';
    }
  }
  return result;
}

bool is_json(std::string_view text) {
  JsonCursor cursor(text);
  return cursor.value() && cursor.end() && cursor.utf8();
}

}  // namespace mcpivot
