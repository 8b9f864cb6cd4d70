#include "schema/check.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <ctime>

#include "base/contains.h"
#include "schema/values.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;

// Some tenths of a second, and more for large values. How many alternatives are named when a value fits none
// of them.
constexpr std::size_t most_alternatives = 8;
constexpr std::uint64_t fewest_steps = 1'000'000;
constexpr std::uint64_t steps_per_value = 20;
// A pattern's steps are measured by processor time, since the engine doesn't report them.
constexpr std::uint64_t steps_per_second = 10'000'000;
// Schemas within schemas, at one time; each takes a few hundred bytes of the stack.
constexpr int deepest_check = 1500;
// How deep in nested alternatives the closest one is looked for.
constexpr int deepest_choice = 3;

std::string step_text(std::string_view name) {
  const bool plain = !name.empty() && name.size() <= 100 && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '$';
  });
  return plain ? std::string(name) : shown(json::value(name));
}

}  // namespace

std::string Place::text(std::string_view whole) const {
  if (kind == Kind::whole) return std::string(whole);
  std::string step = kind == Kind::item ? std::to_string(item) : step_text(member);
  if (kind == Kind::name) step.insert(0, "the name ");
  if (up->kind == Kind::whole) return step;
  return up->text(whole) + (kind == Kind::name ? ", " : ".") + step;
}

void Report::add(std::string text, int depth) {
  if (std::ranges::any_of(problems, [&](const Problem& problem) { return problem.text == text; })) return;
  if (problems.size() < most)
    problems.push_back({.text = std::move(text), .depth = depth});
  else
    ++more;
}

Verdict Check::run(const json::value& value) {
  Verdict verdict;
  const auto size = count_values(value, deepest_value);
  if (!size) {
    verdict.given_up = true;
    verdict.problems.push_back(
        fmt::format("{} cannot be checked: more than {} levels deep", naming_.whole, deepest_value));
    return verdict;
  }
  most_steps_ = fewest_steps + steps_per_value * *size;
  const Place whole;
  if (fits(program_.root, {.value = value, .place = whole, .marks = nullptr, .report = nullptr}) &&
      given_up_.empty())
    return verdict;
  if (!given_up_.empty()) {
    verdict.given_up = true;
    verdict.problems.push_back(fmt::format("{} cannot be checked: {}", naming_.whole, given_up_));
    return verdict;
  }
  steps_ = 0;
  Report report;
  fits(program_.root, {.value = value, .place = whole, .marks = nullptr, .report = &report});
  for (Report::Problem& problem : report.problems) verdict.problems.push_back(std::move(problem.text));
  verdict.more = report.more;
  if (verdict.problems.empty())  // finding out why would take too long
    verdict.problems.push_back(fmt::format("{}: doesn't match the schema", naming_.whole));
  return verdict;
}

bool Check::spend(std::uint64_t steps) {
  steps_ += steps;
  if (steps_ > most_steps_) give_up("checking it takes too long");
  return given_up_.empty();
}

void Check::give_up(std::string_view why) {
  if (given_up_.empty()) given_up_ = why;
}

void Check::add(const Task& task, std::string_view what) {
  if (!spend(steps_to_tell)) return;
  task.report->add(fmt::format("{}: {}", task.place.text(naming_.whole), what), task.place.depth());
}

bool Check::fits(Index index, const Task& task) {
  if (!spend(1)) return false;
  if (depth_ >= deepest_check) {
    give_up("the schema refers to itself too often");
    return false;
  }
  ++depth_;
  const bool good = fits_node(program_.nodes[index], task);
  --depth_;
  return good;
}

bool Check::fits_node(const Node& node, const Task& task) {
  if (node.never) {
    if (task.report != nullptr) add(task, "is not allowed here");
    return false;
  }
  bool good = fits_itself(node, task.value);
  if (!good) {
    if (task.report == nullptr) return false;
    add(task, fmt::format("expected {}, got {}",
                          words_for(program_, static_cast<Index>(&node - program_.nodes.data())),
                          shown(task.value)));
  }
  // "unevaluated…" considers what this node and those below it have evaluated, and nothing else.
  const bool in_array = node.array != none && task.value.is_array();
  const bool in_object = node.object != none && task.value.is_object();
  const bool asks = (in_array && program_.arrays[node.array].unevaluated != none) ||
                    (in_object && program_.objects[node.object].unevaluated != none);
  Marks own;
  if (asks) own.resize(in_array ? task.value.get_array().size() : task.value.get_object().size());
  const Task inner{
      .value = task.value, .place = task.place, .marks = asks ? &own : task.marks, .report = task.report};
  const auto go_on = [&](auto&& look) {
    if (good || task.report != nullptr) good = look() && good;
  };
  if (in_array) go_on([&] { return fits_array(program_.arrays[node.array], inner); });
  if (in_object) go_on([&] { return fits_object(program_.objects[node.object], inner); });
  if (node.logic != none) go_on([&] { return fits_logic(program_.logic[node.logic], inner); });
  if (!asks) return good;
  go_on([&] { return fits_unevaluated(node, inner); });
  if (good && task.marks != nullptr) task.marks->assign(task.marks->size(), true);
  return good;
}

bool Check::fits_itself(const Node& node, const json::value& value) {
  if (node.types != 0 && !has_type(node.types, value)) return false;
  if (node.constant && !same(*node.constant, value)) return false;
  if (node.choices) {
    if (!spend(node.choices->size() / 8)) return false;
    if (std::ranges::none_of(*node.choices, [&](const json::value& one) { return same(one, value); }))
      return false;
  }
  if (value.is_number()) return node.number == none || fits_number(program_.numbers[node.number], value);
  if (const json::string* text = value.if_string()) {
    if (node.string == none) return true;
    const StringRules& rules = program_.strings[node.string];
    return (!rules.length.limit() || rules.length.hold(count_code_points(*text))) &&
           (rules.pattern == none || matches(rules.pattern, *text));
  }
  if (const json::array* array = value.if_array()) {
    if (node.array == none) return true;
    const ArrayRules& rules = program_.arrays[node.array];
    return rules.size.hold(array->size()) && (!rules.unique || is_unique(value));
  }
  if (const json::object* object = value.if_object())
    return node.object == none || program_.objects[node.object].size.hold(object->size());
  return true;
}

bool Check::has_type(Types types, const json::value& value) const {
  switch (value.kind()) {
    case json::kind::null:
      return (types & null_type) != 0;
    case json::kind::bool_:
      return (types & boolean_type) != 0;
    case json::kind::object:
      return (types & object_type) != 0;
    case json::kind::array:
      return (types & array_type) != 0;
    case json::kind::string:
      return (types & string_type) != 0;
    default:
      break;
  }
  if ((types & number_type) != 0) return true;
  constexpr double too_big_for_others = 0x1p63;
  return (types & integer_type) != 0 && is_whole(value) &&
         (naming_.whole_is_integer || !value.is_double() ||
          std::abs(value.get_double()) >= too_big_for_others);
}

bool Check::fits_number(const NumberRules& rules, const json::value& value) const {
  const long double number = number_of(value);
  return (rules.at_least.is_null() || number >= number_of(rules.at_least)) &&
         (rules.at_most.is_null() || number <= number_of(rules.at_most)) &&
         (rules.above.is_null() || number > number_of(rules.above)) &&
         (rules.below.is_null() || number < number_of(rules.below)) &&
         (rules.multiple_of.is_null() || is_multiple(value, rules.multiple_of));
}

bool Check::is_unique(const json::value& value) {
  const json::array& array = value.get_array();
  std::vector<std::pair<std::size_t, const json::value*>> hashes;
  hashes.reserve(array.size());
  for (const json::value& item : array) hashes.emplace_back(hash_of(item), &item);
  std::ranges::sort(hashes, {}, [](const auto& one) { return one.first; });
  // Values with the same hash are nearly always equal; if somebody makes them differ, the budget ends this.
  for (std::size_t i = 0; i < hashes.size(); ++i)
    for (std::size_t j = i + 1; j < hashes.size() && hashes[j].first == hashes[i].first; ++j)
      if (!spend(1) || same(*hashes[i].second, *hashes[j].second)) return false;
  return spend(array.size());
}

bool Check::matches(Index index, std::string_view text) {
  const std::clock_t start = std::clock();
  const Pattern::Match match = program_.patterns[index].find_in(text);
  const std::clock_t taken = std::clock() - start;
  if (match == Pattern::Match::given_up) give_up("matching one of its patterns takes too long");
  spend(static_cast<std::uint64_t>(taken) * (steps_per_second / CLOCKS_PER_SEC));
  return match == Pattern::Match::yes;
}

bool Check::fits_logic(const LogicRules& rules, const Task& task) {
  bool good = true;
  const auto goes_on = [&] { return good || task.report != nullptr; };
  if (rules.reference != none) good = fits(rules.reference, task);
  for (const Index one : rules.all)
    if (goes_on()) good = fits(one, task) && good;
  if (!rules.any.empty() && goes_on()) good = fits_one_of(rules.any, false, task) && good;
  if (!rules.one.empty() && goes_on()) good = fits_one_of(rules.one, true, task) && good;
  if (rules.negated != none && goes_on() &&
      fits(rules.negated, {.value = task.value, .place = task.place, .marks = nullptr, .report = nullptr})) {
    good = false;
    if (task.report != nullptr)
      add(task, fmt::format("expected anything but {}, got {}", words_for(program_, rules.negated),
                            shown(task.value)));
  }
  if (rules.condition != none && goes_on()) {
    const Index then = fits_aside(rules.condition, task) ? rules.consequence : rules.alternative;
    if (then != none) good = fits(then, task) && good;
  }
  return good;
}

// Whether the value fits a node that it needn't fit; the marks count only if it does.
bool Check::fits_aside(Index node, const Task& task) {
  if (task.marks == nullptr)
    return fits(node, {.value = task.value, .place = task.place, .marks = nullptr, .report = nullptr});
  Marks marks(task.marks->size());
  if (!spend(marks.size() / 8)) return false;
  if (!fits(node, {.value = task.value, .place = task.place, .marks = &marks, .report = nullptr}))
    return false;
  for (std::size_t i = 0; i < marks.size(); ++i)
    if (marks[i]) (*task.marks)[i] = true;
  return true;
}

bool Check::fits_one_of(const std::vector<Index>& nodes, bool exactly_one, const Task& task) {
  std::size_t fitting = 0;
  for (const Index node : nodes) {
    fitting += fits_aside(node, task) ? 1U : 0U;
    if (exactly_one ? fitting == 2 : fitting == 1 && task.marks == nullptr) break;
  }
  if (fitting == 1 || (fitting > 0 && !exactly_one)) return true;
  if (task.report == nullptr || !given_up_.empty()) return false;
  if (fitting == 0)
    report_choice(nodes, task);
  else
    add(task, fmt::format("matches more than one of {} alternatives, and must match exactly one; got {}",
                          nodes.size(), shown(task.value)));
  return false;
}

// The closest alternative, if the value is of its kind; otherwise a description of all of them.
void Check::report_choice(const std::vector<Index>& nodes, const Task& task) {
  const int depth = task.place.depth();
  std::size_t nearest = nodes.size();
  Report best;
  ++choices_;
  for (std::size_t i = 0; i < nodes.size() && choices_ <= deepest_choice && given_up_.empty(); ++i) {
    Report report;
    fits(nodes[i], {.value = task.value, .place = task.place, .marks = nullptr, .report = &report});
    if (report.problems.empty()) continue;
    if (std::ranges::any_of(report.problems, [&](const auto& problem) { return problem.depth <= depth; }))
      continue;
    if (nearest < nodes.size() && best.problems.size() <= report.problems.size()) continue;
    nearest = i;
    best = std::move(report);
  }
  --choices_;
  if (!given_up_.empty()) return;
  if (nearest == nodes.size()) {
    std::vector<std::string> words;
    std::size_t named = 0;
    for (; named < nodes.size() && words.size() < most_alternatives; ++named) {
      std::string one = words_for(program_, nodes[named]);
      if (!contains(words, one)) words.push_back(std::move(one));
    }
    const std::string more =
        named < nodes.size() ? fmt::format(" or one of {} more alternatives", nodes.size() - named) : "";
    return add(task, fmt::format("expected {}{}, got {}", fmt::join(words, " or "), more, shown(task.value)));
  }
  for (Report::Problem& problem : best.problems)
    task.report->add(fmt::format("{} (or match another of the {} alternatives for {})", problem.text,
                                 nodes.size(), task.place.text(naming_.whole)),
                     problem.depth);
  task.report->more += best.more;
}

}  // namespace mcpivot::schema
