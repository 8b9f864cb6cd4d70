// For generated JSON: what parse_jsonc() reads is what Boost.JSON reads, with and without comments in it; and
// no damage to a text makes it crash or point outside of it.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/json.hpp>

#include "config/jsonc.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using Kind = JsoncValue::Kind;

rc::Gen<std::string> plain_space() {
  return rc::gen::weightedElement<std::string>({{8, ""}, {1, " "}, {1, "\t "}, {1, "\r\n"}});
}
rc::Gen<std::string> space_with_comments() {
  return rc::gen::weightedElement<std::string>(
      {{8, ""}, {1, " "}, {1, "\n"}, {1, "// \"a\": [\n"}, {1, "/* } \n ** / */"}, {1, "/**/"}, {1, "//\n"}});
}

rc::Gen<std::string> string_text() {
  const auto piece = rc::gen::weightedOneOf<std::string>(
      {{6,
        rc::gen::element<std::string>("a", "key", "x y", "é", "漢字", "😀", "/", "//", "/*", "${A}", ",]")},
       {2, rc::gen::element<std::string>("\\\"", "\\\\", "\\/", "\\n", "\\b", "\\f", "\\r", "\\t", "\\u0069",
                                         "\\u00E9", "\\u0000", "\\ud83d\\ude00", "\\uFFFF")}});
  return rc::gen::map(rc::gen::resize(5, rc::gen::container<std::vector<std::string>>(piece)),
                      [](const auto& pieces) {
                        std::string text = "\"";
                        for (const auto& part : pieces) text += part;
                        return text + "\"";
                      });
}

rc::Gen<std::string> scalar_text() {
  return rc::gen::oneOf(string_text(), rc::gen::element<std::string>(
                                           "true", "false", "null", "0", "-1", "1.50", "2e3", "-0.0E-2",
                                           "9007199254740993", "-0", "1E+2", "18446744073709551615"));
}

struct Style {
  rc::Gen<std::string> space;
  std::string trailing;  // what follows the last element of a list
};

std::string join(const std::vector<std::string>& parts, const std::string& trailing) {
  std::string text;
  for (const auto& part : parts) text += (text.empty() ? "" : ",") + part;
  return parts.empty() ? text : text + trailing;
}

rc::Gen<std::string> value_text(int depth, const Style& style) {
  auto spaced = [&](const rc::Gen<std::string>& inner) {
    return rc::gen::map(rc::gen::tuple(style.space, inner, style.space), [](const auto& parts) {
      return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts);
    });
  };
  if (depth == 0) return spaced(scalar_text());
  const auto element = value_text(depth - 1, style);
  const auto member = rc::gen::map(rc::gen::pair(spaced(string_text()), element),
                                   [](const auto& parts) { return parts.first + ":" + parts.second; });
  auto few = [](const auto& item) {
    return rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(item));
  };
  const std::string trailing = style.trailing;
  return spaced(rc::gen::oneOf(
      scalar_text(),
      rc::gen::map(few(element), [=](const auto& parts) { return "[" + join(parts, trailing) + "]"; }),
      rc::gen::map(few(member), [=](const auto& parts) { return "{" + join(parts, trailing) + "}"; })));
}

// Numbers are compared by what Boost.JSON makes of their spelling.
json::value tree_of(const JsoncValue& value) {
  switch (value.kind) {
    case Kind::null:
      return nullptr;
    case Kind::boolean:
      return value.boolean;
    case Kind::number:
      return json::parse(value.text);
    case Kind::string:
      return json::string(value.text);
    case Kind::array: {
      json::array array;
      for (const JsoncValue& element : value.elements) array.push_back(tree_of(element));
      return array;
    }
    case Kind::object: {
      json::object object;
      for (const JsoncMember& member : value.members)
        object.insert_or_assign(member.key, tree_of(member.value));
      return object;
    }
  }
  return nullptr;
}

// Every key and value is within the text and within its parent, and its spelling alone parses to the same.
void check_places(const std::string& text, const JsoncValue& value) {
  RC_ASSERT(value.place.begin < value.place.end);
  RC_ASSERT(value.place.end <= text.size());
  const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<long>(value.place.begin), '\n');
  RC_ASSERT(value.place.line == static_cast<unsigned>(line));
  const std::string spelling = text.substr(value.place.begin, value.place.end - value.place.begin);
  const auto alone = parse_jsonc(spelling);
  RC_ASSERT(alone.has_value());
  RC_ASSERT(tree_of(*alone) == tree_of(value));
  for (const JsoncValue& element : value.elements) check_places(text, element);
  for (const JsoncMember& member : value.members) {
    const auto key = parse_jsonc(text.substr(member.place.begin, member.place.end - member.place.begin));
    RC_ASSERT(key.has_value());
    RC_ASSERT(key->text == member.key);
    check_places(text, member.value);
  }
}

RC_GTEST_PROP(JsoncProperty, json_is_read_as_boost_reads_it, ()) {
  const std::string text = *value_text(3, {plain_space(), ""});
  const auto value = parse_jsonc(text);
  RC_ASSERT(value.has_value());
  RC_ASSERT(tree_of(*value) == json::parse(text));
  check_places(text, *value);
}

RC_GTEST_PROP(JsoncProperty, comments_and_trailing_commas_are_read_as_boost_reads_them, ()) {
  const std::string text = *value_text(3, {space_with_comments(), *rc::gen::element<std::string>("", ",")});
  const auto value = parse_jsonc(text);
  RC_ASSERT(value.has_value());
  RC_ASSERT(tree_of(*value) ==
            json::parse(text, {}, {.max_depth = 32, .allow_comments = true, .allow_trailing_commas = true}));
  check_places(text, *value);
}

RC_GTEST_PROP(JsoncProperty, rejects_what_boost_rejects_and_errors_point_into_the_text, ()) {
  std::string text = *value_text(2, {plain_space(), ""});
  const auto hits = *rc::gen::inRange(1, 4);
  for (int i = 0; i < hits && !text.empty(); ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    switch (*rc::gen::inRange(0, 4)) {
      case 0:
        text.erase(at, 1);
        break;
      case 1:
        text[at] = *rc::gen::arbitrary<char>();
        break;
      case 2:
        text.insert(at, 1, *rc::gen::element('{', '}', '[', ']', '"', ',', ':', '\\', '\n', '\0', '-'));
        break;
      default:
        text.resize(at);
    }
  }
  boost::system::error_code error;
  const json::value boost =
      json::parse(text, error, {}, {.max_depth = 32, .allow_comments = true, .allow_trailing_commas = true});
  if (error == json::error::exponent_overflow) RC_DISCARD("a number too large for Boost, not for a text");
  const auto ours = parse_jsonc(text);
  RC_ASSERT(ours.has_value() == !error);
  if (ours) {
    RC_ASSERT(tree_of(*ours) == boost);
  } else {
    RC_ASSERT(!ours.error().words.empty());
    RC_ASSERT(ours.error().place.begin <= text.size());
  }
}

RC_GTEST_PROP(JsoncProperty, survives_any_bytes, (const std::string& text)) {
  const auto value = parse_jsonc(text);
  if (!value) RC_ASSERT(value.error().place.begin <= text.size());
}

}  // namespace
}  // namespace mcpivot
