// All steps that the life of an instance can take: where it is, and what happens there. docs/life.md shows
// them, and the simulation counts which of them it takes.
//
// A place is a state with what comes next, as far as the life goes on differently from there.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/life.h"

namespace life_steps {

using mcpivot::Life;

// An event of each kind that has consequences of its own, and the round of reloads that it belongs to.
struct NamedEvent {
  const char* name;
  Life::Event event;
  Life::Round round = Life::Round::none;
};
constexpr std::size_t event_count = 24;
const std::array<NamedEvent, event_count>& all_events();
// Which of them this is.
std::size_t index_of(const Life::Event& event);

constexpr std::size_t place_count = 9 * 5;
std::size_t place_of(const Life& life);
std::string name_of(std::size_t place);
inline std::string name_of(const Life& life) {
  return name_of(place_of(life));
}

// Servers that live differently: what they have in common is said of the first.
struct Kind {
  const char* mark;
  Life::Facts facts;
};
constexpr std::size_t kind_count = 3;
const std::array<Kind, kind_count>& kinds();

// The event, about the last birth of this life.
Life::Event about(const Life& life, Life::Event event);
// Whether it can happen: nothing that doesn't exist can be lost, and no round begins before what is ending
// has ended.
bool can_happen(const Life& life, const Life::Event& event, const Life::Facts& facts);
// Whether anything comes of it.
bool changes(Life life, const NamedEvent& event, Life::Facts facts);
// A life for each place that a server of this kind can reach.
std::map<std::size_t, Life> reachable(const Life::Facts& kind);

}  // namespace life_steps
