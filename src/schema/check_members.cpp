// The parts of arrays and objects.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <boost/json.hpp>

#include "schema/check.h"
#include "schema/values.h"

namespace mcpivot::schema {
namespace {

namespace json = boost::json;

// Node of a property that is declared by name.
Index declared(const ObjectRules& rules, std::string_view name) {
  const auto found = std::ranges::lower_bound(
      rules.by_name, name, {}, [&](Index i) -> std::string_view { return rules.properties[i].first; });
  if (found == rules.by_name.end() || rules.properties[*found].first != name) return none;
  return rules.properties[*found].second;
}

Place item_at(const Place& up, std::size_t item) {
  return {.up = &up, .kind = Place::Kind::item, .member = {}, .item = item};
}

Place member_at(const Place& up, std::string_view name) {
  return {.up = &up, .kind = Place::Kind::member, .member = name, .item = 0};
}

}  // namespace

bool Check::fits_array(const ArrayRules& rules, const Task& task) {
  const json::array& array = task.value.get_array();
  bool good = true;
  const std::size_t judged = rules.rest != none ? array.size() : std::min(rules.first.size(), array.size());
  for (std::size_t i = 0; i < judged && (good || task.report != nullptr); ++i) {
    const Place place = item_at(task.place, i);
    const Index node = i < rules.first.size() ? rules.first[i] : rules.rest;
    good = fits(node, {.value = array[i], .place = place, .marks = nullptr, .report = task.report}) && good;
    if (task.marks != nullptr) (*task.marks)[i] = true;
  }
  if (rules.contains == none || (!good && task.report == nullptr)) return good;
  return contains_enough(rules, task) && good;
}

bool Check::contains_enough(const ArrayRules& rules, const Task& task) {
  const json::array& array = task.value.get_array();
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < array.size(); ++i) {
    const Place place = item_at(task.place, i);
    if (!fits(rules.contains, {.value = array[i], .place = place, .marks = nullptr, .report = nullptr}))
      continue;
    ++count;
    if (task.marks != nullptr) (*task.marks)[i] = true;
  }
  if (rules.containing.hold(count)) return true;
  if (task.report != nullptr)
    add(task,
        fmt::format("expected {} {} to be {}, but {} {}",
                    count < rules.containing.least ? "at least" : "at most",
                    fmt::format("{} of its items", count < rules.containing.least ? rules.containing.least
                                                                                  : rules.containing.most),
                    words_for(program_, rules.contains), count, count == 1 ? "is" : "are"));
  return false;
}

bool Check::fits_object(const ObjectRules& rules, const Task& task) {
  const json::object& object = task.value.get_object();
  bool good = has_what_it_needs(rules, task);
  const auto goes_on = [&] { return good || task.report != nullptr; };
  const bool judges_members =
      !rules.properties.empty() || !rules.match.empty() || rules.additional != none || rules.names != none;
  for (std::size_t i = 0; judges_members && i < object.size() && goes_on(); ++i)
    good = fits_member(rules, i, task) && good;
  for (const auto& [name, node] : rules.dependent)
    if (goes_on() && spend(1) && object.contains(name)) good = fits(node, task) && good;
  return good;
}

bool Check::has_what_it_needs(const ObjectRules& rules, const Task& task) {
  const json::object& object = task.value.get_object();
  bool good = true;
  const auto need = [&](const std::string& name, std::string_view because) {
    if ((!good && task.report == nullptr) || !spend(1) || object.contains(name)) return;
    good = false;
    if (task.report != nullptr) add_missing(rules, name, because, task);
  };
  for (const std::string& name : rules.required) need(name, {});
  for (const auto& [name, needed] : rules.needs)
    if (spend(1) && object.contains(name))
      for (const std::string& other : needed) need(other, name);
  return good && given_up_.empty();
}

bool Check::fits_member(const ObjectRules& rules, std::size_t position, const Task& task) {
  const auto& member = task.value.get_object().begin()[position];
  const std::string_view name = member.key();
  const Place place = member_at(task.place, name);
  bool good = spend(1);
  bool judged = false;
  const auto judge = [&](Index node) {
    judged = true;
    if (good || task.report != nullptr)
      good = fits(node, {.value = member.value(), .place = place, .marks = nullptr, .report = task.report}) &&
             good;
  };
  if (const Index node = declared(rules, name); node != none) judge(node);
  for (const auto& [pattern, node] : rules.match) {
    if (!program_.patterns[pattern].understood())
      judged = true;  // it may be meant
    else if (matches(pattern, name))
      judge(node);
  }
  if (!judged && rules.additional != none) {
    if (program_.nodes[rules.additional].never && task.report != nullptr) {
      add_unknown(rules, name, task);
      good = false;
    } else {
      judge(rules.additional);
    }
  }
  if (judged && task.marks != nullptr) (*task.marks)[position] = true;
  if (rules.names != none && (good || task.report != nullptr)) {
    const json::value text(name);
    const Place named{.up = &task.place, .kind = Place::Kind::name, .member = name, .item = 0};
    good =
        fits(rules.names, {.value = text, .place = named, .marks = nullptr, .report = task.report}) && good;
  }
  return good;
}

bool Check::fits_unevaluated(const Node& node, const Task& task) {
  bool good = true;
  if (const json::array* array = task.value.if_array()) {
    const Index rest = program_.arrays[node.array].unevaluated;
    for (std::size_t i = 0; i < array->size() && (good || task.report != nullptr); ++i) {
      if ((*task.marks)[i]) continue;
      const Place place = item_at(task.place, i);
      good =
          fits(rest, {.value = (*array)[i], .place = place, .marks = nullptr, .report = task.report}) && good;
    }
    return good;
  }
  const ObjectRules& rules = program_.objects[node.object];
  const json::object& object = task.value.get_object();
  for (std::size_t i = 0; i < object.size() && (good || task.report != nullptr); ++i) {
    if ((*task.marks)[i]) continue;
    const auto& member = object.begin()[i];
    const Place place = member_at(task.place, member.key());
    good = fits(rules.unevaluated,
                {.value = member.value(), .place = place, .marks = nullptr, .report = task.report}) &&
           good;
  }
  return good;
}

void Check::add_unknown(const ObjectRules& rules, std::string_view name, const Task& task) {
  if (!spend(steps_to_tell)) return;
  constexpr std::size_t most_named = 30;
  std::vector<std::string_view> known;
  for (const auto& property : rules.properties) known.emplace_back(property.first);
  const std::size_t hidden = known.size() > most_named ? known.size() - most_named : 0;
  known.resize(known.size() - hidden);
  const bool whole = task.place.kind == Place::Kind::whole;
  const Place place = member_at(task.place, name);
  task.report->add(fmt::format("{}: there is no such {}; there {}{}{}", place.text(naming_.whole),
                               whole ? naming_.member : "property", known.empty() ? "are none" : "are: ",
                               fmt::join(known, ", "), hidden > 0 ? fmt::format(" and {} more", hidden) : ""),
                   place.depth());
}

void Check::add_missing(const ObjectRules& rules, std::string_view name, std::string_view because,
                        const Task& task) {
  if (!spend(steps_to_tell)) return;
  const Place place = member_at(task.place, name);
  std::string text = place.text(naming_.whole) + ": is missing";
  if (!because.empty()) text += fmt::format(", and \"{}\" needs it", because);
  if (const Index node = declared(rules, name); node != none)
    text += fmt::format("; expected {}", words_for(program_, node));
  task.report->add(std::move(text), place.depth());
}

}  // namespace mcpivot::schema
