#include "install/json_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "base/text.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

// What is between members.
struct Piece {
  enum class Kind : std::uint8_t { space, newline, line_comment, block_comment, comma };
  Kind kind = Kind::space;
  std::size_t begin = 0;
  std::size_t end = 0;

  bool is_comment() const { return kind == Kind::line_comment || kind == Kind::block_comment; }
};

// The text is known to parse.
std::vector<Piece> pieces_between(std::string_view text, std::size_t begin, std::size_t end) {
  std::vector<Piece> pieces;
  std::size_t at = begin;
  auto add = [&](Piece::Kind kind, std::size_t until) {
    pieces.push_back({kind, at, until});
    at = until;
  };
  auto is_newline = [&](std::size_t i) {
    return text[i] == '\n' || (text[i] == '\r' && i + 1 < end && text[i + 1] == '\n');
  };
  while (at < end) {
    if (is_newline(at)) {
      add(Piece::Kind::newline, at + (text[at] == '\r' ? 2 : 1));
    } else if (text[at] == ',') {
      add(Piece::Kind::comma, at + 1);
    } else if (text.substr(at, 2) == "//") {
      std::size_t until = std::min(text.find('\n', at), end);
      while (until > at && text[until - 1] == '\r') --until;
      add(Piece::Kind::line_comment, until);
    } else if (text.substr(at, 2) == "/*") {
      add(Piece::Kind::block_comment, text.find("*/", at + 2) + 2);
    } else {
      std::size_t until = at + 1;
      while (until < end && text[until] != ',' && text[until] != '/' && !is_newline(until)) ++until;
      add(Piece::Kind::space, until);
    }
  }
  return pieces;
}

// The indentation of the line that contains this byte.
std::string_view indent_of(std::string_view text, std::size_t at) {
  const auto newline = at == 0 ? std::string_view::npos : text.rfind('\n', at - 1);
  const std::size_t begin = newline == std::string_view::npos ? 0 : newline + 1;
  std::size_t end = begin;
  while (end < at && is_blank(text[end])) ++end;
  return text.substr(begin, end - begin);
}

// By how much the outermost object's members are indented.
std::string unit_of(std::string_view text, const JsoncValue& root) {
  if (!root.members.empty() && root.members.front().place.line > root.place.line)
    if (const auto indent = indent_of(text, root.members.front().place.begin); !indent.empty())
      return std::string(indent);
  return "  ";
}

std::string as_json_string(std::string_view text) {
  std::string to = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      to += fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    } else {
      to += c;
    }
  }
  return to + '"';
}

std::string path_text(const JsonPath& path) {
  if (path.empty()) return "the file";
  std::string text;
  for (const std::string& key : path) text += (text.empty() ? "" : ".") + key;
  return "\"" + text + "\"";
}

void append_json(std::string& to, const JsoncValue& value, const std::string* indent, const std::string& unit,
                 std::string_view newline) {
  const bool is_object = value.kind == Kind::object;
  const std::size_t count = is_object ? value.members.size() : value.elements.size();
  switch (value.kind) {
    case Kind::null:
      to += "null";
      return;
    case Kind::boolean:
      to += value.boolean ? "true" : "false";
      return;
    case Kind::number:
      to += value.text;
      return;
    case Kind::string:
      to += as_json_string(value.text);
      return;
    case Kind::array:
    case Kind::object:
      break;
  }
  // A list of plain values reads best on one line.
  const bool plain = !is_object && std::ranges::all_of(value.elements, [](const JsoncValue& element) {
    return element.kind != Kind::array && element.kind != Kind::object;
  });
  const bool lines = indent != nullptr && count > 0 && !plain;
  const std::string deeper = lines ? *indent + unit : std::string();
  to += is_object ? '{' : '[';
  for (std::size_t i = 0; i < count; ++i) {
    if (i > 0) to += lines ? "," : ", ";
    if (lines) to.append(newline).append(deeper);
    if (is_object) {
      to += as_json_string(value.members[i].key) + ": ";
    }
    append_json(to, is_object ? value.members[i].value : value.elements[i], lines ? &deeper : nullptr, unit,
                newline);
  }
  if (lines) to.append(newline).append(*indent);
  to += is_object ? '}' : ']';
}

// A parsed text, and the object in it to change.
struct Opened {
  JsoncValue root;
  const JsonPath& path;

  const JsoncValue& object() const { return *find_value(root, path); }
  const JsoncMember* member(std::string_view key) const {
    const auto& members = object().members;
    const auto found = std::ranges::find(members, key, &JsoncMember::key);
    return found == members.end() ? nullptr : &*found;
  }
};

std::expected<Opened, std::string> open_text(std::string_view text, const JsonPath& path) {
  auto root = parse_jsonc(text);
  if (!root)
    return std::unexpected(fmt::format("line {}, column {}: {}", root.error().place.line,
                                       root.error().place.column, root.error().words));
  const JsoncValue* object = find_value(*root, path);
  if (object == nullptr) return std::unexpected(fmt::format("there is no {}", path_text(path)));
  if (object->kind != Kind::object)
    return std::unexpected(fmt::format("{} is {}, not an object", path_text(path), kind_text(object->kind)));
  return Opened{std::move(*root), path};
}

// The one member of that name.
std::expected<const JsoncMember*, std::string> only_member(const Opened& opened, const JsonPath& path,
                                                           std::string_view key) {
  const auto count = std::ranges::count(opened.object().members, key, &JsoncMember::key);
  if (count == 0) return std::unexpected(fmt::format("there is no \"{}\" in {}", key, path_text(path)));
  if (count > 1)
    return std::unexpected(
        fmt::format("\"{}\" appears {} times in {}; keep one", key, count, path_text(path)));
  return opened.member(key);
}

std::expected<std::string, std::string> spelled(std::string_view value, JsonLayout layout, bool lines,
                                                const std::string& indent, const std::string& unit,
                                                std::string_view newline) {
  const auto tree = parse_jsonc(value);
  if (!tree) return std::unexpected("the new value isn't valid JSON: " + tree.error().words);
  if (layout == JsonLayout::as_is) return std::string(value);
  return lines ? json_text(*tree, indent, unit, newline) : json_text(*tree);
}

}  // namespace

const JsoncValue* find_value(const JsoncValue& root, const JsonPath& path) {
  const JsoncValue* value = &root;
  for (const std::string& key : path)
    if (value = value->find(key); value == nullptr) return nullptr;
  return value;
}

EditedText insert_member(std::string_view text, const JsonPath& path, std::string_view key,
                         std::string_view value, JsonLayout layout) {
  const auto opened = open_text(text, path);
  if (!opened) return std::unexpected(opened.error());
  if (opened->member(key) != nullptr)
    return std::unexpected(fmt::format("\"{}\" already exists in {}", key, path_text(path)));
  const JsoncValue& object = opened->object();
  const std::size_t close = object.place.end - 1;
  const std::string_view newline = newline_of(text);
  const std::string unit = unit_of(text, opened->root);
  const std::string outer(indent_of(text, object.place.begin));
  std::string edited(text);

  if (object.members.empty()) {
    const bool lines = text.contains('\n');
    std::size_t at = object.place.begin + 1;
    bool behind_line_comment = false;
    for (const Piece& piece : pieces_between(text, at, close)) {
      if (!piece.is_comment()) continue;
      at = piece.end;
      behind_line_comment = piece.kind == Piece::Kind::line_comment;
    }
    const auto spelling = spelled(value, layout, lines, outer + unit, unit, newline);
    if (!spelling) return spelling;
    std::string added = as_json_string(key) + ": " + *spelling;
    if (lines) added = fmt::format("{}{}{}{}", newline, outer, unit, added);
    if (lines && !behind_line_comment) added = fmt::format("{}{}{}", added, newline, outer);
    return edited.insert(at, added);
  }

  // The comma goes right after the last value, the new member after any comment on that line.
  const JsoncMember& last = object.members.back();
  const std::size_t before_last = object.members.size() > 1
                                      ? object.members[object.members.size() - 2].value.place.end
                                      : object.place.begin + 1;
  bool lines = text.substr(before_last, last.place.begin - before_last).contains('\n');
  const std::string indent = lines ? std::string(indent_of(text, last.place.begin)) : outer + unit;
  const std::size_t end = last.value.place.end;
  const auto pieces = pieces_between(text, end, close);
  const auto comma = std::ranges::find(pieces, Piece::Kind::comma, &Piece::kind);
  std::size_t at = comma == pieces.end() ? end : comma->end;
  for (const Piece& piece : pieces) {
    if (piece.begin < at) continue;
    if (piece.kind == Piece::Kind::newline) break;
    if (!piece.is_comment()) continue;
    at = piece.end;
    if (piece.kind == Piece::Kind::line_comment) lines = true;
  }
  const auto spelling = spelled(value, layout, lines, indent, unit, newline);
  if (!spelling) return spelling;
  const std::string separator = lines ? std::string(newline) + indent : " ";
  edited.insert(at, fmt::format("{}{}: {}{}", separator, as_json_string(key), *spelling,
                                comma == pieces.end() ? "" : ","));
  if (comma == pieces.end()) edited.insert(end, ",");
  return edited;
}

EditedText replace_member(std::string_view text, const JsonPath& path, std::string_view key,
                          std::string_view value, JsonLayout layout) {
  const auto opened = open_text(text, path);
  if (!opened) return std::unexpected(opened.error());
  const auto member = only_member(*opened, path, key);
  if (!member) return std::unexpected(member.error());
  const JsoncPlace& place = (*member)->value.place;
  const bool lines = text.substr(place.begin, place.end - place.begin).contains('\n') ||
                     ((*member)->value.kind != Kind::object && text.contains('\n'));
  const auto spelling = spelled(value, layout, lines, std::string(indent_of(text, (*member)->place.begin)),
                                unit_of(text, opened->root), newline_of(text));
  if (!spelling) return spelling;
  return std::string(text).replace(place.begin, place.end - place.begin, *spelling);
}

EditedText remove_member(std::string_view text, const JsonPath& path, std::string_view key) {
  const auto opened = open_text(text, path);
  if (!opened) return std::unexpected(opened.error());
  const auto found = only_member(*opened, path, key);
  if (!found) return std::unexpected(found.error());
  const JsoncValue& object = opened->object();
  const JsoncMember& member = **found;
  const auto index = static_cast<std::size_t>(&member - object.members.data());
  const bool is_first = index == 0;
  const bool is_last = index + 1 == object.members.size();
  const std::size_t previous = is_first ? object.place.begin + 1 : object.members[index - 1].value.place.end;
  const std::size_t next = is_last ? object.place.end - 1 : object.members[index + 1].place.begin;
  const auto before = pieces_between(text, previous, member.place.begin);
  auto after = pieces_between(text, member.value.place.end, next);

  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  auto cut = [&](std::size_t begin, std::size_t end) { cuts.emplace_back(begin, end); };

  const auto comma_after = std::ranges::find(after, Piece::Kind::comma, &Piece::kind);
  const bool has_comma = comma_after != after.end();
  std::size_t comma_begin = 0;
  if (has_comma) {
    comma_begin = comma_after->begin;
    after.erase(comma_after);
  }

  // The blanks and the line end before it are removed too, unless a line comment would then swallow what
  // follows.
  std::size_t begin = member.place.begin;
  auto left = before.size();
  if (left > 0 && before[left - 1].kind == Piece::Kind::space) begin = before[--left].begin;
  const bool own_line = left > 0 && before[left - 1].kind == Piece::Kind::newline;
  if (own_line) begin = before[--left].begin;
  const bool behind_line_comment = left > 0 && before[left - 1].kind == Piece::Kind::line_comment;
  if (behind_line_comment) {
    const auto rest =
        std::ranges::find_if(after, [](const Piece& piece) { return piece.kind != Piece::Kind::space; });
    const bool line_ends = rest != after.end() &&
                           (rest->kind == Piece::Kind::newline || rest->kind == Piece::Kind::line_comment);
    if (!line_ends) begin = member.place.begin;
  }

  // If the object becomes empty, the closing brace moves back to the opening one.
  if (is_first && is_last && own_line && !behind_line_comment && !after.empty() &&
      after.front().kind == Piece::Kind::newline) {
    const Piece& newline = after.front();
    const std::string_view outer = indent_of(text, object.place.begin);
    const bool indented = text.substr(newline.end).starts_with(outer);
    cut(newline.begin, newline.end + (indented ? outer.size() : 0));
  }
  if (has_comma) cut(comma_begin, comma_begin + 1);
  cut(begin, member.value.place.end);
  if (!has_comma && !is_first) {
    const auto comma = std::ranges::find(before, Piece::Kind::comma, &Piece::kind);
    cut(comma->begin, comma->end);
  }
  // The last one first, so that the positions of the others stay valid.
  std::ranges::sort(cuts, std::greater());
  std::string edited(text);
  for (const auto& [from, to] : cuts) edited.erase(from, to - from);
  return edited;
}

std::string json_text(const JsoncValue& value) {
  std::string text;
  append_json(text, value, nullptr, {}, {});
  return text;
}

std::string json_text(const JsoncValue& value, const std::string& indent, const std::string& unit,
                      std::string_view newline) {
  std::string text;
  append_json(text, value, &indent, unit, newline);
  return text;
}

bool same_value(const JsoncValue& one, const JsoncValue& other) {
  if (one.kind != other.kind || one.boolean != other.boolean || one.text != other.text) return false;
  return std::ranges::equal(one.elements, other.elements, same_value) &&
         one.members.size() == other.members.size() &&
         std::ranges::all_of(one.members, [&](const JsoncMember& member) {
           const JsoncValue* same = other.find(member.key);
           return same != nullptr && same_value(member.value, *same);
         });
}

JsoncValue json_string(std::string text) {
  JsoncValue value;
  value.kind = Kind::string;
  value.text = std::move(text);
  return value;
}

JsoncValue json_strings(const std::vector<std::string>& texts) {
  JsoncValue value;
  value.kind = Kind::array;
  for (const std::string& text : texts) value.elements.push_back(json_string(text));
  return value;
}

}  // namespace mcpivot
