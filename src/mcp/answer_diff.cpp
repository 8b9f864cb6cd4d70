#include "mcp/answer_diff.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <optional>
#include <utility>

#include "base/text.h"
#include "base/utf8.h"
#include "rpc/json_cursor.h"
#include "schema/values.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t most_told = 20;      // of the differences of one answer
constexpr std::size_t longest_value = 60;  // of what is shown of a value, in bytes
constexpr std::size_t before_change = 20;  // of these, before the place where two texts differ
constexpr std::size_t deepest = 200;       // of what is looked into

std::optional<json::value> parsed(std::string_view text) {
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code error;
  json::value value = json::parse(text, error, {}, options);
  if (error) return {};
  return value;
}

// Text that contains JSON, as servers send it that don't support structured content.
std::optional<json::value> inner(const json::value& value) {
  const json::string* const text = value.if_string();
  if (text == nullptr) return {};
  const std::string_view body = trimmed(*text);
  if (!body.starts_with('{') && !body.starts_with('[')) return {};
  return parsed(body);
}

// The text from there on, in at most the allowed number of bytes, and without half a character.
std::string window(std::string_view text, std::size_t from) {
  while (from > 0 && continues_character(text[from])) --from;
  std::size_t size = std::min(longest_value, text.size() - from);
  while (from + size < text.size() && size > 0 && continues_character(text[from + size])) --size;
  return fmt::format("{}{}{}", from > 0 ? "…" : "", text.substr(from, size),
                     from + size < text.size() ? "…" : "");
}

std::string shown(const json::value& value) {
  const json::string* const text = value.if_string();
  if (text != nullptr) return quote(window(*text, 0));
  const std::string all = schema::shown(value);
  return window(all, 0);
}

bool is_plain(std::string_view name) {
  return !name.empty() && std::ranges::all_of(name, [](char c) {
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '-' ||
           c == '$' || c == '/' || c == '@' || static_cast<unsigned char>(c) >= 0x80;
  });
}

std::string path_text(const std::vector<IgnoredPaths::Step>& path) {
  std::string text;
  for (const auto& step : path) {
    if (step.is_element)
      text += fmt::format("[{}]", step.element);
    else if (is_plain(step.member))
      text += fmt::format("{}{}", text.empty() ? "" : ".", step.member);
    else
      text += fmt::format("[{}]", quote(step.member));
  }
  return text;
}

// Walks over both values at once.
class Comparison {
 public:
  explicit Comparison(const IgnoredPaths& ignored) : ignored_(ignored) {}

  void compare(const json::value& before, const json::value& after) {
    if (is_ignored()) return;
    if (before.is_object() && after.is_object())
      return compare_members(before.get_object(), after.get_object());
    if (before.is_array() && after.is_array()) return compare_elements(before.get_array(), after.get_array());
    if (before.is_string() && after.is_string()) return compare_texts(before, after);
    if (!schema::same(before, after)) add(shown(before), shown(after));
  }

  AnswerDiff take() { return std::move(diff_); }

 private:
  bool is_ignored() const { return !ignored_.empty() && ignored_.has(path_); }

  void add(std::string before, std::string after) {
    if (++diff_.count <= most_told)
      diff_.first.push_back({path_text(path_), std::move(before), std::move(after)});
  }

  // One of the two has it, the other doesn't.
  void lacks(const json::value* before, const json::value* after) {
    if (is_ignored()) return;
    add(before != nullptr ? shown(*before) : std::string(), after != nullptr ? shown(*after) : std::string());
  }

  void compare_members(const json::object& before, const json::object& after) {
    for (const auto& member : before) {
      path_.push_back({.member = std::string(member.key())});
      if (const json::value* const other = after.if_contains(member.key()))
        compare(member.value(), *other);
      else
        lacks(&member.value(), nullptr);
      path_.pop_back();
    }
    for (const auto& member : after) {
      if (before.contains(member.key())) continue;
      path_.push_back({.member = std::string(member.key())});
      lacks(nullptr, &member.value());
      path_.pop_back();
    }
  }

  // Insertions and deletions are reported as such if everything before and after them is the same.
  void compare_elements(const json::array& before, const json::array& after) {
    const std::size_t shorter = std::min(before.size(), after.size());
    std::size_t head = 0;
    std::size_t tail = 0;
    if (before.size() != after.size()) {
      while (head < shorter && schema::same(before[head], after[head])) ++head;
      while (tail < shorter - head &&
             schema::same(before[before.size() - 1 - tail], after[after.size() - 1 - tail]))
        ++tail;
    }
    const std::size_t both = shorter - tail;
    for (std::size_t i = head; i < both; ++i) at(i, [&] { compare(before[i], after[i]); });
    for (std::size_t i = both; i + tail < before.size(); ++i) at(i, [&] { lacks(&before[i], nullptr); });
    for (std::size_t i = both; i + tail < after.size(); ++i) at(i, [&] { lacks(nullptr, &after[i]); });
  }

  void compare_texts(const json::value& before, const json::value& after) {
    const std::string_view one = before.get_string();
    const std::string_view other = after.get_string();
    if (one == other) return;
    if (const auto inside = inner(before))
      if (const auto other_inside = inner(after)) return compare(*inside, *other_inside);
    const std::size_t differs = static_cast<std::size_t>(std::ranges::mismatch(one, other).in1 - one.begin());
    // Of long texts, the line in which they differ first.
    const std::size_t newline = one.substr(0, differs).rfind('\n');
    const std::size_t line = newline == std::string_view::npos ? 0 : newline + 1;
    const std::size_t from = differs - line > longest_value / 2 ? differs - before_change : line;
    const auto seen = [&](std::string_view text) { return quote(window(text, std::min(from, text.size()))); };
    add(seen(one), seen(other));
  }

  template <class Do>
  void at(std::size_t element, Do&& what) {
    path_.push_back({.member = {}, .element = element, .is_element = true});
    what();
    path_.pop_back();
  }

  const IgnoredPaths& ignored_;
  std::vector<IgnoredPaths::Step> path_;
  AnswerDiff diff_;
};

// What the era or the SDK adds to each result.
void drop_protocol(json::value& result) {
  json::object* const object = result.if_object();
  if (object == nullptr) return;
  if (const json::value* const type = object->if_contains("resultType");
      type != nullptr && *type == json::value("complete"))
    object->erase("resultType");
  json::value* const meta = object->if_contains("_meta");
  if (meta == nullptr || !meta->is_object()) return;
  std::vector<std::string> protocols;
  for (const auto& member : meta->get_object())
    if (std::string_view(member.key()).starts_with("io.modelcontextprotocol/"))
      protocols.emplace_back(member.key());
  for (const std::string& key : protocols) meta->get_object().erase(key);
  if (meta->get_object().empty()) object->erase("_meta");
}

// "error -32602: no such note"
std::string shown_error(const json::value& error) {
  const json::object* const object = error.if_object();
  if (object == nullptr) return shown(error);
  const json::value* const code = object->if_contains("code");
  const json::value* const message = object->if_contains("message");
  return fmt::format("error {}: {}", code != nullptr ? json::serialize(*code) : "",
                     message != nullptr ? shown(*message) : "");
}

void write_canonical(const json::value& value, std::string& out) {
  if (const json::array* const items = value.if_array()) {
    out += '[';
    for (std::size_t i = 0; i < items->size(); ++i) {
      if (i > 0) out += ',';
      write_canonical((*items)[i], out);
    }
    out += ']';
  } else if (const json::object* const members = value.if_object()) {
    std::vector<const json::key_value_pair*> sorted;
    for (const auto& member : *members) sorted.push_back(&member);
    std::ranges::sort(sorted, {}, [](const auto* member) { return std::string_view(member->key()); });
    out += '{';
    for (std::size_t i = 0; i < sorted.size(); ++i) {
      out += fmt::format("{}{}:", i > 0 ? "," : "", quote(std::string_view(sorted[i]->key())));
      write_canonical(sorted[i]->value(), out);
    }
    out += '}';
  } else if (value.is_double()) {
    const double number = value.get_double();
    // A whole one is spelled as an integer is.
    out += schema::is_whole(value) && number > -1e15 && number < 1e15 ? fmt::format("{:.0f}", number)
                                                                      : fmt::format("{}", number);
  } else if (const json::string* const text = value.if_string()) {
    out += quote(std::string_view(*text));
  } else {
    out += json::serialize(value);
  }
}

}  // namespace

// --- paths -------------------------------------------------------------------------------------------------

std::expected<IgnoredPaths, std::string> IgnoredPaths::parse(const std::vector<std::string>& paths) {
  IgnoredPaths ignored;
  for (const std::string& text : paths) {
    auto path = parse_path(text);
    if (!path)
      return std::unexpected(fmt::format("\"{}\" isn't a path in an answer: {}", text, path.error()));
    ignored.paths_.push_back(std::move(*path));
  }
  return ignored;
}

void IgnoredPaths::add(const IgnoredPaths& others) {
  paths_.insert(paths_.end(), others.paths_.begin(), others.paths_.end());
}

std::expected<IgnoredPaths::Path, std::string> IgnoredPaths::parse_path(std::string_view text) {
  Path path;
  std::string_view rest = text;
  while (!rest.empty()) {
    if (rest.starts_with('[')) {
      const bool quoted = rest.starts_with("[\"");
      std::size_t end = quoted ? rest.find("\"]", 2) : rest.find(']');
      if (end == std::string_view::npos) return std::unexpected("a \"[\" is not closed");
      if (quoted) {
        const std::string_view name = rest.substr(1, end);
        JsonCursor cursor(name);
        if (!cursor.value() || !cursor.end()) return std::unexpected("a name in quotes isn't valid JSON");
        path.push_back({Part::Kind::member, unescape(name.substr(1, name.size() - 2))});
        rest.remove_prefix(end + 2);
      } else {
        const std::string_view number = rest.substr(1, end - 1);
        std::size_t element = 0;
        const auto [last, error] = std::from_chars(number.data(), number.data() + number.size(), element);
        if (number == "*")
          path.push_back({Part::Kind::any_element});
        else if (error == std::errc() && last == number.data() + number.size())
          path.push_back({Part::Kind::element, {}, element});
        else
          return std::unexpected("between \"[\" and \"]\" must be a number, * or a name in quotes");
        rest.remove_prefix(end + 1);
      }
    } else {
      const std::size_t end = std::min(rest.find_first_of(".["), rest.size());
      const std::string_view name = rest.substr(0, end);
      if (name.empty()) return std::unexpected("a name is missing");
      path.push_back({name == "**"  ? Part::Kind::anything
                      : name == "*" ? Part::Kind::any_member
                                    : Part::Kind::member,
                      std::string(name)});
      rest.remove_prefix(end);
    }
    if (!rest.starts_with('.')) continue;
    rest.remove_prefix(1);
    if (rest.empty()) return std::unexpected("a name is missing behind the last \".\"");
  }
  if (path.empty()) return std::unexpected("it is empty");
  return path;
}

bool IgnoredPaths::Part::fits(const Step& step) const {
  switch (kind) {
    case Kind::member:
      return !step.is_element && step.member == member;
    case Kind::element:
      return step.is_element && step.element == element;
    case Kind::any_member:
      return !step.is_element;
    case Kind::any_element:
      return step.is_element;
    case Kind::anything:
      return true;
  }
  return false;
}

// Whether the path leads to these steps, or to something above them.
bool IgnoredPaths::covers(const Path& path, std::size_t part, const std::vector<Step>& steps,
                          std::size_t step) {
  if (part == path.size()) return true;
  if (path[part].kind == Part::Kind::anything) {
    for (std::size_t i = step; i <= steps.size(); ++i)
      if (covers(path, part + 1, steps, i)) return true;
    return false;
  }
  return step < steps.size() && path[part].fits(steps[step]) && covers(path, part + 1, steps, step + 1);
}

bool IgnoredPaths::has(const std::vector<Step>& path) const {
  return std::ranges::any_of(paths_, [&](const Path& ignored) { return covers(ignored, 0, path, 0); });
}

// --- answers -----------------------------------------------------------------------------------------------

std::string AnswerDifference::text() const {
  const std::string where = path.empty() ? std::string() : path + ": ";
  if (before.empty()) return fmt::format("{}+ {}", where, after);
  if (after.empty()) return fmt::format("{}- {}", where, before);
  return fmt::format("{}{} → {}", where, before, after);
}

AnswerDiff compare_answers(const Answer& before, const Answer& after, const IgnoredPaths& ignored) {
  if (before == after) return {};
  auto one = parsed(before.json);
  auto other = parsed(after.json);
  if (!one || !other) {  // too deep: as it is spelled
    if (before.is_error == after.is_error && before.json == after.json) return {};
    return {{{{}, window(before.json, 0), window(after.json, 0)}}, 1};
  }
  if (before.is_error != after.is_error) {
    const auto words = [](bool is_error, const json::value& value) {
      return is_error ? shown_error(value) : fmt::format("a result: {}", shown(value));
    };
    return {{{{}, words(before.is_error, *one), words(after.is_error, *other)}}, 1};
  }
  if (before.is_error) {  // so that its paths begin with "error"
    one = json::object{{"error", *one}};
    other = json::object{{"error", *other}};
  } else {
    drop_protocol(*one);
    drop_protocol(*other);
  }
  Comparison comparison(ignored);
  comparison.compare(*one, *other);
  return comparison.take();
}

std::string canonical_json(std::string_view text) {
  const auto value = parsed(text);
  if (!value) return std::string(text);
  std::string out;
  write_canonical(*value, out);
  return out;
}

}  // namespace mcpivot
