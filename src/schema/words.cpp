#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <boost/json.hpp>

#include "schema/program.h"
#include "schema/values.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;

constexpr int deepest_words = 3;
constexpr std::size_t longest_words = 400;

// " of 1 to 5 characters"; empty if there is no limit.
std::string counted(const Limits& limits, std::string_view one, std::string_view many) {
  if (!limits.limit()) return {};
  const auto unit = [&](std::uint64_t count) { return count == 1 ? one : many; };
  if (limits.least == limits.most) return fmt::format(" of exactly {} {}", limits.least, unit(limits.least));
  if (limits.most == Limits().most)
    return fmt::format(" of at least {} {}", limits.least, unit(limits.least));
  if (limits.least == 0) return fmt::format(" of at most {} {}", limits.most, unit(limits.most));
  return fmt::format(" of {} to {} {}", limits.least, limits.most, many);
}

class Words {
 public:
  explicit Words(const Program& program) : program_(program) {}

  std::string of(Index index, int depth) const {
    const Node& node = program_.nodes[index];
    if (node.never) return "nothing";
    if (node.constant) return shown(*node.constant);
    if (node.choices) return of_choices(*node.choices);
    std::string text;
    const auto either = [&](const std::string& one) { text += (text.empty() ? "" : " or ") + one; };
    for (const auto& [type, noun] : nouns)
      if ((types(node) & type) != 0) either(std::string(noun) + of_type(node, type, depth));
    if (text.empty() && node.logic != none && depth < deepest_words)
      text = of_logic(program_.logic[node.logic], depth);
    return text.empty() ? "something else" : text;
  }

 private:
  static constexpr std::array<std::pair<Types, std::string_view>, 7> nouns{{{string_type, "a string"},
                                                                            {integer_type, "an integer"},
                                                                            {number_type, "a number"},
                                                                            {boolean_type, "true or false"},
                                                                            {array_type, "an array"},
                                                                            {object_type, "an object"},
                                                                            {null_type, "null"}}};

  // Without a "type", the types that the other rules are about.
  static Types types(const Node& node) {
    if (node.types != 0) return node.types;
    return (node.string != none ? string_type : 0U) | (node.number != none ? number_type : 0U) |
           (node.array != none ? array_type : 0U) | (node.object != none ? object_type : 0U);
  }

  static std::string of_choices(const std::vector<json::value>& choices) {
    std::string text;
    for (const json::value& choice : choices) {
      text += (text.empty() ? "" : ", ") + shown(choice);
      if (text.size() > longest_words) return fmt::format("one of {}, … ({} in all)", text, choices.size());
    }
    return choices.size() == 1 ? text : "one of " + text;
  }

  std::string of_type(const Node& node, Types type, int depth) const {
    if (type == string_type && node.string != none) return of_string(program_.strings[node.string]);
    if ((type == number_type || type == integer_type) && node.number != none)
      return of_number(program_.numbers[node.number]);
    if (type == array_type && node.array != none) return of_array(program_.arrays[node.array], depth);
    if (type == object_type && node.object != none) return of_object(program_.objects[node.object]);
    return {};
  }

  std::string of_string(const StringRules& rules) const {
    std::string text = counted(rules.length, "character", "characters");
    if (rules.pattern != none)
      text += " that matches the pattern " + shown(json::value(program_.patterns[rules.pattern].text()));
    return text;
  }

  static std::string of_number(const NumberRules& rules) {
    std::string text;
    const auto add = [&](std::string_view what, const json::value& bound) {
      if (!bound.is_null()) text += fmt::format("{} {} {}", text.empty() ? "" : " and", what, shown(bound));
    };
    if (!rules.at_least.is_null() && !rules.at_most.is_null()) {
      text = fmt::format(" from {} to {}", shown(rules.at_least), shown(rules.at_most));
    } else {
      add("of at least", rules.at_least);
      add("of at most", rules.at_most);
    }
    add("greater than", rules.above);
    add("less than", rules.below);
    add("that is a multiple of", rules.multiple_of);
    return text;
  }

  std::string of_array(const ArrayRules& rules, int depth) const {
    std::string text = counted(rules.size, "item", "items");
    if (rules.unique) text += ", without duplicates";
    if (rules.rest != none && rules.first.empty() && !program_.nodes[rules.rest].never &&
        depth < deepest_words)
      text += ", each " + of(rules.rest, depth + 1);
    return text;
  }

  static std::string of_object(const ObjectRules& rules) {
    std::string text = counted(rules.size, "property", "properties");
    for (std::size_t i = 0; i < rules.required.size() && text.size() < longest_words; ++i)
      text += (i == 0 ? " with " : ", ") + shown(json::value(rules.required[i]));
    return text;
  }

  std::string of_logic(const LogicRules& rules, int depth) const {
    if (rules.reference != none) return of(rules.reference, depth + 1);
    if (rules.all.size() == 1) return of(rules.all.front(), depth + 1);
    if (rules.negated != none) return "anything but " + of(rules.negated, depth + 1);
    std::string text;
    for (const auto* list : {&rules.any, &rules.one})
      for (const Index one : *list)
        if (text.size() < longest_words) text += (text.empty() ? "" : " or ") + of(one, depth + 1);
    return text;
  }

  const Program& program_;
};

}  // namespace

std::string words_for(const Program& program, Index node) {
  return Words(program).of(node, 0);
}

}  // namespace mcpivot::schema
