#include "oauth/json_object.h"

#include <charconv>
#include <utility>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::size_t most_members = 1'000;
constexpr std::size_t most_texts = 1'000;

// The text of a JSON string that has been read as JSON before.
std::optional<std::string> text_of(std::string_view json) {
  if (json.size() < 2 || !json.starts_with('"')) return std::nullopt;
  return unescape(json.substr(1, json.size() - 2));
}

// Four hexadecimal digits.
unsigned escaped_unit(std::string_view digits) {
  unsigned unit = 0;
  std::from_chars(digits.data(), digits.data() + 4, unit, 16);
  return unit;
}

// Whether each escape stands for a character. Half a surrogate pair is JSON, but parsers treat it
// differently. The text must be JSON.
bool has_whole_characters(std::string_view json) {
  for (auto at = json.find('\\'); at != std::string_view::npos; at = json.find('\\', at)) {
    if (json[at + 1] != 'u') {
      at += 2;
      continue;
    }
    const unsigned unit = escaped_unit(json.substr(at + 2));
    at += 6;
    if (unit < 0xD800 || unit > 0xDFFF) continue;
    if (unit > 0xDBFF || !json.substr(at).starts_with("\\u")) return false;
    const unsigned second = escaped_unit(json.substr(at + 2));
    if (second < 0xDC00 || second > 0xDFFF) return false;
    at += 6;
  }
  return true;
}

}  // namespace

std::optional<JsonObject> JsonObject::read(std::string_view json) {
  JsonObject object;
  JsonCursor cursor(json);
  const bool good = cursor.object([&](const JsonCursor::Key& key) {
    Span where;
    if (!cursor.value(where)) return false;
    return object.members_.size() < most_members &&
           object.members_.emplace(key.escaped ? unescape(key.text) : std::string(key.text), where.of(json))
               .second;
  });
  if (!good || !cursor.end() || !cursor.utf8() || !has_whole_characters(json)) return std::nullopt;
  return object;
}

std::string_view JsonObject::find(std::string_view key) const {
  const auto found = members_.find(key);
  return found == members_.end() ? std::string_view() : found->second;
}

std::optional<std::string> JsonObject::text(std::string_view key) const {
  return text_of(find(key));
}

std::optional<std::vector<std::string>> JsonObject::texts(std::string_view key) const {
  const auto elements = json_elements(find(key), most_texts);
  if (!elements) return std::nullopt;
  std::vector<std::string> all;
  for (const std::string_view element : *elements) {
    auto text = text_of(element);
    if (!text) return std::nullopt;
    all.push_back(std::move(*text));
  }
  return all;
}

std::optional<std::vector<std::string_view>> json_elements(std::string_view json, std::size_t most) {
  std::vector<std::string_view> all;
  JsonCursor cursor(json);
  const bool good = cursor.array([&] {
    Span where;
    if (!cursor.value(where) || all.size() == most) return false;
    all.push_back(where.of(json));
    return true;
  });
  if (!good || !cursor.end()) return std::nullopt;
  return all;
}

}  // namespace mcpivot
