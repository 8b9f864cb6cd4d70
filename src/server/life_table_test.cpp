// Every step that an instance's life can take, for docs/life.md.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <array>
#include <map>
#include <set>
#include <string>

#include "host/written_docs.h"
#include "life_steps.h"
#include "server/life.h"

namespace mcpivot {
namespace {

using Do = Life::Do;
using Facts = Life::Facts;
using life_steps::NamedEvent;

std::string name_of(Do what) {
  constexpr auto names = std::to_array<const char*>(
      {"start",          "join birth",    "end birth",   "check",        "end current",     "detach current",
       "drain current",  "end others",    "build",       "stop build",   "begin round",     "renew",
       "fail round",     "give up round", "back off",    "look again",   "cancel back-off", "release",
       "refuse waiting", "settle",        "stop daemon", "tell stopped", "tell gone"});
  static_assert(names.size() == static_cast<std::size_t>(Do::tell_gone) + 1);
  return names[static_cast<std::size_t>(what)];
}

std::string step(Life life, const NamedEvent& event, Facts facts) {
  facts.round = event.round;
  std::string done;
  for (const Life::Effect& effect : life.on(life_steps::about(life, event.event), facts))
    done += fmt::format("{}{}", done.empty() ? "" : ", ", name_of(effect.what));
  return fmt::format("{} | {}", life_steps::name_of(life), done);
}

std::string table() {
  std::string text = "| it is | and this happens | it becomes | and this is done |\n|---|---|---|---|\n";
  std::array<std::map<std::string, Life>, life_steps::kind_count> lives;
  std::set<std::string> names;
  for (std::size_t kind = 0; kind < lives.size(); ++kind)
    for (const auto& [place, life] : life_steps::reachable(life_steps::kinds().at(kind).facts)) {
      lives.at(kind).emplace(life_steps::name_of(place), life);
      names.insert(life_steps::name_of(place));
    }
  for (const std::string& name : names)
    for (const NamedEvent& event : life_steps::all_events()) {
      std::string usual;
      for (std::size_t kind = 0; kind < lives.size(); ++kind) {
        const auto& [mark, facts] = life_steps::kinds().at(kind);
        const auto found = lives.at(kind).find(name);
        if (found == lives.at(kind).end() || !life_steps::can_happen(found->second, event.event, facts))
          continue;
        const std::string then = step(found->second, event, facts);
        if (kind == 0) usual = then;
        if ((kind == 0 || then != usual) && life_steps::changes(found->second, event, facts))
          text += fmt::format("| {} | {}{} | {} |\n", name, event.name, mark, then);
      }
    }
  return text;
}

TEST(LifeTable, in_the_repository_is_up_to_date) {
  host::expect_written_part("life.md", "steps", table());
}

}  // namespace
}  // namespace mcpivot
