#include "install/toml_edit.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <unordered_map>
#include <unordered_set>

#include "base/text.h"
#include "base/utf8.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

constexpr std::size_t longest_toml = 16UL * 1024 * 1024;
constexpr unsigned deepest = 100;

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_bare(char c) {
  return is_digit(c) || is_letter(c) || c == '_' || c == '-';
}

// A part of a path, quoted so that no two paths are spelled alike.
std::string step(std::string_view key) {
  return fmt::format("{}:{}", key.size(), key);
}

// An object that is built from dotted keys, in constant time for each.
class Table {
 public:
  // Stores a value at a dotted key. False: something else is there already.
  bool put(JsoncValue& root, std::span<const std::string> key, JsoncValue value) {
    JsoncValue* at = &root;
    std::string path;
    for (std::size_t i = 0; i < key.size(); ++i) {
      if (at->kind != Kind::object) return false;
      path += step(key[i]);
      const auto [found, is_new] = places_.try_emplace(path, at->members.size());
      const bool last = i + 1 == key.size();
      if (last && !is_new) return false;
      if (is_new) {
        at->members.push_back({.key = key[i]});
        at->members.back().value.kind = Kind::object;
      }
      at = &at->members[found->second].value;
      if (!last) continue;
      *at = std::move(value);
      learn(*at, path);
      return true;
    }
    return false;
  }

  // Indexes a value that came as a whole.
  void learn(const JsoncValue& value, const std::string& path) {
    for (std::size_t i = 0; i < value.members.size(); ++i) {
      const std::string inner = path + step(value.members[i].key);
      places_.try_emplace(inner, i);
      learn(value.members[i].value, inner);
    }
  }

 private:
  std::unordered_map<std::string, std::size_t>
      places_;  // from a path to its index among its parent's members
};

// Each function that reads something moves past it. False: error_ says why not, and the parser can't be
// used again.
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  std::expected<std::vector<TomlTable>, JsoncError> parse() {
    tables_.emplace_back();
    bool good = begin();
    while (good && at_ < text_.size()) good = read_line();
    if (!good) return std::unexpected(std::move(error_));
    return std::move(tables_);
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }
  bool at_end() const { return at_ >= text_.size(); }
  bool at_newline() const { return peek() == '\n' || (peek() == '\r' && peek(1) == '\n'); }
  bool looking_at(std::string_view what) const { return text_.substr(at_).starts_with(what); }

  bool fail(std::string words) { return fail_at(at_, std::move(words)); }
  bool fail_at(std::size_t at, std::string words) {
    const std::string_view before = text_.substr(0, at);
    const auto newline = before.rfind('\n');
    error_.place.begin = error_.place.end = at;
    error_.place.line = line_of(at);
    error_.place.column = static_cast<unsigned>(newline == std::string_view::npos ? at + 1 : at - newline);
    error_.words = std::move(words);
    return false;
  }
  // Continues from the last call.
  unsigned line_of(std::size_t at) {
    if (at < counted_) counted_ = lines_ = 0;
    lines_ += static_cast<unsigned>(std::ranges::count(text_.substr(counted_, at - counted_), '\n'));
    counted_ = at;
    return 1 + lines_;
  }

  bool begin() {
    if (text_.size() > longest_toml)
      return fail(fmt::format("the file has more than {} bytes", longest_toml));
    if (as_utf8(text_) != text_) return fail("the file is not UTF-8");
    if (looking_at("\xEF\xBB\xBF")) at_ = 3;
    tables_.front().end = at_;
    return true;
  }

  void skip_blanks() {
    while (peek() == ' ' || peek() == '\t') ++at_;
  }
  // Also skips line ends, where values may span lines.
  bool skip_space() {
    while (true) {
      skip_blanks();
      if (at_newline()) {
        at_ += peek() == '\r' ? 2 : 1;
      } else if (peek() == '#') {
        if (!skip_comment()) return false;
      } else {
        return true;
      }
    }
  }
  bool skip_comment() {
    while (!at_end() && !at_newline()) {
      const auto c = static_cast<unsigned char>(peek());
      if ((c < 0x20 && c != '\t') || c == 0x7F) return fail("a comment has a control character");
      ++at_;
    }
    return true;
  }
  bool end_line() {
    skip_blanks();
    if (peek() == '#' && !skip_comment()) return false;
    if (at_end()) return true;
    if (!at_newline()) return fail(fmt::format("expected the end of the line, found '{}'", peek()));
    at_ += peek() == '\r' ? 2 : 1;
    return true;
  }

  bool read_line() {
    const std::size_t start = at_;
    skip_blanks();
    if (at_end() || at_newline() || peek() == '#') return end_line();
    if (peek() == '[') return header(start);
    TomlEntry entry;
    if (!keys(entry.key)) return false;
    if (peek() != '=') return fail("expected '=' after the key");
    ++at_;
    skip_blanks();
    if (!value(entry.value) || !end_line()) return false;
    tables_.back().end = at_;
    tables_.back().entries.push_back(std::move(entry));
    return true;
  }

  bool header(std::size_t start) {
    TomlTable table;
    table.begin = start;
    table.line = line_of(start);
    table.is_list = looking_at("[[");
    const std::string_view close = table.is_list ? "]]" : "]";
    at_ += close.size();
    skip_blanks();
    if (!keys(table.path)) return false;
    if (!looking_at(close)) return fail(fmt::format("expected '{}' after the table's name", close));
    at_ += close.size();
    if (!end_line()) return false;
    table.end = at_;
    tables_.push_back(std::move(table));
    return true;
  }

  // a.b."c d", and the blanks after it.
  bool keys(std::vector<std::string>& into) {
    while (true) {
      std::string& key = into.emplace_back();
      if (peek() == '"' || peek() == '\'') {
        if (looking_at("\"\"\"") || looking_at("'''")) return fail("a key must be on one line");
        if (!string(key)) return false;
      } else {
        while (is_bare(peek())) key += text_[at_++];
        if (key.empty())
          return fail(at_end() ? "expected a key, found the end of the file" : "expected a key");
      }
      skip_blanks();
      if (peek() != '.') return true;
      if (into.size() > deepest) return fail("the key has too many parts");
      ++at_;
      skip_blanks();
    }
  }

  bool value(JsoncValue& into) {
    if (depth_ == deepest) return fail("nested too deeply");
    ++depth_;
    const bool good = read_value(into);
    --depth_;
    return good;
  }
  bool read_value(JsoncValue& into) {
    const char c = peek();
    if (c == '"' || c == '\'') {
      into.kind = Kind::string;
      return string(into.text);
    }
    if (c == '[') return list(into);
    if (c == '{') return inline_table(into);
    return plain(into);
  }

  // A truth value, number, date or time.
  bool plain(JsoncValue& into) {
    const std::size_t start = at_;
    auto take = [&] {
      while (is_bare(peek()) || peek() == '+' || peek() == '.' || peek() == ':') ++at_;
    };
    take();
    // A date and a time may have a space between them.
    if (at_ - start == 10 && text_[start + 4] == '-' && peek() == ' ' && is_digit(peek(1)) &&
        is_digit(peek(2)) && peek(3) == ':') {
      ++at_;
      take();
    }
    const std::string_view word = text_.substr(start, at_ - start);
    const std::string_view unsigned_word =
        word.starts_with('+') || word.starts_with('-') ? word.substr(1) : word;
    if (word == "true" || word == "false") {
      into.kind = Kind::boolean;
      into.boolean = word == "true";
      return true;
    }
    if (unsigned_word.empty() ||
        !(is_digit(unsigned_word[0]) || unsigned_word == "inf" || unsigned_word == "nan"))
      return fail_at(start, word.empty() ? "expected a value"
                                         : fmt::format("expected a value, found '{}'", word.substr(0, 40)));
    const bool is_date = word.contains(':') || (word.size() == 10 && word[4] == '-' && word[7] == '-');
    into.kind = is_date ? Kind::string : Kind::number;
    into.text = word;
    return true;
  }

  bool list(JsoncValue& into) {
    const std::size_t start = at_;
    into.kind = Kind::array;
    ++at_;
    while (true) {
      if (!skip_space()) return false;
      if (at_end()) return fail_at(start, "this '[' is not closed");
      if (peek() == ']') break;
      if (!value(into.elements.emplace_back()) || !skip_comma_before(']')) return false;
    }
    ++at_;
    return true;
  }

  // What comes after an element: a comma, or what closes the list.
  bool skip_comma_before(char closing) {
    if (!skip_space()) return false;
    if (peek() == ',')
      ++at_;
    else if (!at_end() && peek() != closing)
      return fail(fmt::format("expected ',' or '{}'", closing));
    return true;
  }

  bool inline_table(JsoncValue& into) {
    const std::size_t start = at_;
    into.kind = Kind::object;
    Table table;
    ++at_;
    while (true) {
      if (!skip_space()) return false;
      if (at_end()) return fail_at(start, "this '{' is not closed");
      if (peek() == '}') break;
      std::vector<std::string> key;
      const std::size_t key_start = at_;
      if (!keys(key)) return false;
      if (peek() != '=') return fail("expected '=' after the key");
      ++at_;
      skip_blanks();
      JsoncValue member;
      if (!value(member)) return false;
      if (!table.put(into, key, std::move(member))) return fail_at(key_start, "this key appears twice");
      if (!skip_comma_before('}')) return false;
    }
    ++at_;
    return true;
  }

  bool string(std::string& into) {
    const std::size_t start = at_;
    const char quote = peek();
    const bool literal = quote == '\'';
    const bool lines = looking_at(literal ? "'''" : "\"\"\"");
    const std::string_view close = text_.substr(at_, lines ? 3 : 1);
    at_ += close.size();
    if (lines && at_newline()) at_ += peek() == '\r' ? 2 : 1;
    while (!looking_at(close)) {
      if (at_end() || (!lines && at_newline())) return fail_at(start, "this string is not closed");
      const auto c = static_cast<unsigned char>(peek());
      if (!literal && c == '\\') {
        if (!escape(into, lines)) return false;
        continue;
      }
      if (at_newline()) {
        into += '\n';
        at_ += peek() == '\r' ? 2 : 1;
        continue;
      }
      if ((c < 0x20 && c != '\t') || c == 0x7F) return fail("a string has a control character");
      into += text_[at_++];
    }
    at_ += close.size();
    // One or two quotes may stand right before the closing three.
    for (int extra = 0; lines && extra < 2 && peek() == quote; ++extra) into += text_[at_++];
    return true;
  }

  bool escape(std::string& into, bool lines) {
    static constexpr std::string_view letters = "btnfre\"\\";
    static constexpr std::string_view meant = "\b\t\n\f\r\x1b\"\\";
    const char c = peek(1);
    if (const auto which = letters.find(c); c != '\0' && which != std::string_view::npos) {
      into += meant[which];
      at_ += 2;
      return true;
    }
    if (lines && (c == ' ' || c == '\t' || c == '\n' || c == '\r')) {
      const std::size_t start = at_++;
      skip_blanks();
      if (!at_newline()) return fail_at(start, "a backslash is followed by spaces that don't end the line");
      while (peek() == ' ' || peek() == '\t' || at_newline()) ++at_;
      return true;
    }
    const std::size_t digits = c == 'u' ? 4 : c == 'U' ? 8 : c == 'x' ? 2 : 0;
    if (digits == 0) return fail("TOML has no such escape");
    char32_t character = 0;
    for (std::size_t i = 2; i < 2 + digits; ++i) {
      const char digit = peek(i);
      const bool hex = is_digit(digit) || (digit >= 'a' && digit <= 'f') || (digit >= 'A' && digit <= 'F');
      if (!hex) return fail("expected hexadecimal digits after the backslash");
      character =
          character * 16 + static_cast<char32_t>(is_digit(digit) ? digit - '0' : (digit | 32) - 'a' + 10);
    }
    if (character > 0x10FFFF || (character >= 0xD800 && character <= 0xDFFF))
      return fail("there is no such character");
    append_utf8(into, character);
    at_ += 2 + digits;
    return true;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  unsigned depth_ = 0;
  std::size_t counted_ = 0;  // lines up to here
  unsigned lines_ = 0;
  std::vector<TomlTable> tables_;
  JsoncError error_;
};

// How long the line end is that the text ends with; 0: it ends otherwise.
std::size_t newline_before(std::string_view text) {
  if (text.ends_with("\r\n")) return 2;
  return text.ends_with('\n') ? 1 : 0;
}

std::string at_line(unsigned line, std::string_view words) {
  return fmt::format("line {}: {}", line, words);
}

}  // namespace

std::expected<std::vector<TomlTable>, JsoncError> parse_toml(std::string_view text) {
  return Parser(text).parse();
}

std::expected<std::vector<TomlServer>, std::string> toml_servers(std::string_view text,
                                                                 std::string_view key) {
  const auto tables = parse_toml(text);
  if (!tables)
    return std::unexpected(fmt::format("line {}, column {}: {}", tables.error().place.line,
                                       tables.error().place.column, tables.error().words));
  std::vector<TomlServer> servers;
  std::unordered_map<std::string, std::size_t> places;  // of servers, by name
  std::vector<Table> contents;                          // of each server
  auto server = [&](const std::string& name, unsigned line) -> TomlServer& {
    const auto [found, is_new] = places.try_emplace(name, servers.size());
    if (!is_new) return servers[found->second];
    TomlServer& added = servers.emplace_back();
    contents.emplace_back();
    added.name = name;
    added.line = line;
    added.value.kind = Kind::object;
    return added;
  };
  std::unordered_set<std::string> seen;  // paths
  for (const TomlTable& table : *tables) {
    if (table.path.empty()) {
      for (const TomlEntry& entry : table.entries)
        if (entry.key.front() == key)
          return std::unexpected(fmt::format(
              "\"{0}\" is set before the first table; only tables like [{0}.NAME] can be edited", key));
      continue;
    }
    if (table.path.front() != key) continue;
    if (table.is_list && table.path.size() <= 2)
      return std::unexpected(
          at_line(table.line, fmt::format("[[{}]] is a list, not a table", fmt::join(table.path, "."))));
    std::string path_text;
    for (const std::string& part : table.path) path_text += step(part);
    if (!seen.insert(path_text).second && !table.is_list)
      return std::unexpected(
          at_line(table.line, fmt::format("[{}] appears twice", fmt::join(table.path, "."))));
    if (table.path.size() == 1) {
      for (const TomlEntry& entry : table.entries) {
        TomlServer& one = server(entry.key.front(), table.line);
        one.fixed = fmt::format("it is written below [{}], not as a table of its own", key);
        if (entry.key.size() != 1) continue;
        one.value = entry.value;
        contents[places[one.name]].learn(one.value, {});
      }
      continue;
    }
    TomlServer& one = server(table.path[1], table.line);
    if (!one.text.empty()) one.text += newline_of(text);
    std::string_view spelling = text.substr(table.begin, table.end - table.begin);
    spelling.remove_suffix(newline_before(spelling));
    one.text += spelling;
    if (table.is_list) continue;
    for (const TomlEntry& entry : table.entries) {
      std::vector<std::string> path(table.path.begin() + 2, table.path.end());
      path.insert(path.end(), entry.key.begin(), entry.key.end());
      if (!contents[places[one.name]].put(one.value, path, entry.value))
        return std::unexpected(
            at_line(table.line, fmt::format("\"{}\" appears twice in [{}]", fmt::join(entry.key, "."),
                                            fmt::join(table.path, "."))));
    }
  }
  return servers;
}

std::string append_toml(std::string_view text, std::string_view tables) {
  const std::string_view newline = newline_of(text);
  std::string edited(text);
  if (text.empty()) return edited.append(tables).append(newline);
  const bool ends_line = newline_before(text) > 0;
  if (!ends_line) edited += newline;
  edited.append(newline).append(tables);
  if (ends_line) edited += newline;
  return edited;
}

std::expected<std::string, std::string> remove_toml_server(std::string_view text, std::string_view key,
                                                           std::string_view name) {
  const auto servers = toml_servers(text, key);
  if (!servers) return std::unexpected(servers.error());
  const auto server = std::ranges::find(*servers, name, &TomlServer::name);
  if (server == servers->end()) return std::unexpected(fmt::format("there is no [{}.{}]", key, name));
  if (!server->fixed.empty()) return std::unexpected(at_line(server->line, server->fixed));
  std::vector<std::pair<std::size_t, std::size_t>> cuts;
  const auto tables = parse_toml(text);
  for (const TomlTable& table : *tables) {
    if (table.path.size() < 2 || table.path[0] != key || table.path[1] != name) continue;
    if (!cuts.empty() && cuts.back().second == table.begin) {
      cuts.back().second = table.end;
    } else {
      cuts.emplace_back(table.begin, table.end);
    }
  }
  std::ranges::reverse(cuts);  // so that positions of those still to be made stay valid
  std::string edited(text);
  for (auto [begin, end] : cuts) {
    const std::size_t blank = newline_before(text.substr(0, begin));
    if (blank > 0 && (begin == blank || newline_before(text.substr(0, begin - blank)) > 0)) begin -= blank;
    if (newline_before(text.substr(0, end)) == 0) begin -= newline_before(text.substr(0, begin));
    edited.erase(begin, end - begin);
  }
  return edited;
}

std::string toml_string(std::string_view text) {
  std::string to = "\"";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      to += '\\';
      to += c;
    } else if (byte < 0x20 || byte == 0x7F) {
      to += fmt::format("\\u{:04x}", byte);
    } else {
      to += c;
    }
  }
  return to + '"';
}

std::string toml_key(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, is_bare) ? std::string(text) : toml_string(text);
}

}  // namespace mcpivot
