// For generated JSON with comments: adding a member to any object and removing it again leaves the same
// bytes, and in between everything else keeps its meaning.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>

#include "install/json_edit.h"

namespace mcpivot {
namespace {

using Kind = JsoncValue::Kind;

rc::Gen<std::string> space() {
  return rc::gen::weightedElement<std::string>({{8, ""},
                                                {2, " "},
                                                {3, "\n"},
                                                {2, "\n  "},
                                                {1, "\r\n\t"},
                                                {1, "\r"},
                                                {1, " // a, b }\n"},
                                                {1, "//\r\n"},
                                                {1, "/* , } \n ** / */"},
                                                {1, "/**/ "}});
}

rc::Gen<std::string> value_text(int depth, bool trailing) {
  auto scalar = rc::gen::element<std::string>("true", "null", "-1.5", "\"a, // }\"", "\"\"");
  if (depth == 0) return scalar;
  const auto inner = value_text(depth - 1, trailing);
  const auto spaced = rc::gen::map(rc::gen::tuple(space(), inner, space()), [](const auto& parts) {
    return std::get<0>(parts) + std::get<1>(parts) + std::get<2>(parts);
  });
  auto list = [=](const rc::Gen<std::string>& item, char open, char close) {
    return rc::gen::map(
        rc::gen::pair(rc::gen::resize(4, rc::gen::container<std::vector<std::string>>(item)), space()),
        [=](const auto& made) {
          std::string text(1, open);
          for (std::size_t i = 0; i < made.first.size(); ++i) {
            std::string one = made.first[i];
            // Keys are made unique by their position.
            if (const auto mark = one.find('@'); mark != std::string::npos)
              one.replace(mark, 1, std::to_string(i));
            text += (i == 0 ? "" : ",") + one;
          }
          if (trailing && !made.first.empty()) text += ",";
          return text + made.second + close;
        });
  };
  const auto member = rc::gen::map(rc::gen::tuple(space(), space(), spaced), [](const auto& parts) {
    return std::get<0>(parts) + "\"k@\"" + std::get<1>(parts) + ":" + std::get<2>(parts);
  });
  return rc::gen::weightedOneOf<std::string>(
      {{1, scalar}, {2, list(spaced, '[', ']')}, {6, list(member, '{', '}')}});
}

void collect(const JsoncValue& value, const JsonPath& path, std::vector<JsonPath>& into) {
  if (value.kind != Kind::object) return;
  into.push_back(path);
  for (const JsoncMember& member : value.members) {
    JsonPath deeper = path;
    deeper.push_back(member.key);
    collect(member.value, deeper, into);
  }
}

struct Case {
  std::string text;
  JsonPath path;
};

Case any_case() {
  const std::string around = *space();
  const std::string text = around + *value_text(3, *rc::gen::arbitrary<bool>()) + *space();
  const auto tree = parse_jsonc(text);
  RC_ASSERT(tree.has_value());
  std::vector<JsonPath> objects;
  collect(*tree, {}, objects);
  if (objects.empty()) RC_DISCARD("no object in it");
  return {text, *rc::gen::elementOf(objects)};
}

RC_GTEST_PROP(JsonEditProperty, inserting_and_removing_a_member_restores_the_bytes, ()) {
  const Case given = any_case();
  const auto layout = *rc::gen::element(JsonLayout::as_is, JsonLayout::fitting);
  const auto value = *rc::gen::element<std::string>(
      "1", "{}", R"({"command": "x", "args": ["a"], "e": {"f": 1}})", "{\n // odd\n}");
  const auto with = insert_member(given.text, given.path, "new", value, layout);
  RC_ASSERT(with.has_value());

  const auto tree = parse_jsonc(*with);
  RC_ASSERT(tree.has_value());
  const JsoncValue* object = find_value(*tree, given.path);
  RC_ASSERT(object != nullptr);
  RC_ASSERT(object->members.back().key == "new");
  RC_ASSERT(same_value(object->members.back().value, *parse_jsonc(value)));

  const auto without = remove_member(*with, given.path, "new");
  RC_ASSERT(without.has_value());
  RC_ASSERT(*without == given.text);
}

RC_GTEST_PROP(JsonEditProperty, removing_a_member_removes_nothing_else, ()) {
  const Case given = any_case();
  const auto tree = parse_jsonc(given.text);
  const JsoncValue* object = find_value(*tree, given.path);
  if (object->members.empty()) RC_DISCARD("nothing to take out");
  const auto which = *rc::gen::inRange<std::size_t>(0, object->members.size());
  const auto without = remove_member(given.text, given.path, object->members[which].key);
  RC_ASSERT(without.has_value());

  JsoncValue expected = *tree;
  JsoncValue* target = &expected;
  for (const std::string& key : given.path)
    target = &std::ranges::find(target->members, key, &JsoncMember::key)->value;
  target->members.erase(target->members.begin() + static_cast<std::ptrdiff_t>(which));
  const auto left = parse_jsonc(*without);
  RC_ASSERT(left.has_value());
  RC_ASSERT(same_value(*left, expected));
}

RC_GTEST_PROP(JsonEditProperty, replacing_a_value_changes_nothing_else, ()) {
  const Case given = any_case();
  const auto with = insert_member(given.text, given.path, "new", "{\n}", JsonLayout::as_is);
  RC_ASSERT(with.has_value());
  const auto other = replace_member(*with, given.path, "new", "[1]", JsonLayout::fitting);
  RC_ASSERT(other.has_value());
  RC_ASSERT(*replace_member(*other, given.path, "new", "{\n}", JsonLayout::as_is) == *with);
}

}  // namespace
}  // namespace mcpivot
