// Which steps of servers' lives a simulation has taken, and what was done in which state. What was never
// visited was not tested.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "life_steps.h"
#include "plan.h"
#include "script.h"
#include "server/instance.h"

namespace simulation {

class Visits {
 public:
  static constexpr std::size_t states = 4;

  void step(const mcpivot::Life& life, const mcpivot::Life::Event& event) {
    ++steps_[life_steps::place_of(life)][life_steps::index_of(event)];
  }
  void act(Deed deed, mcpivot::Instance::State in) { ++deeds_[static_cast<std::size_t>(deed)][index(in)]; }

  void add(const Visits& other);
  // Everything that was visited, and how often.
  std::string table() const;
  // What was never visited; and how much was.
  std::string never() const;
  std::string summary() const;

 private:
  static std::size_t index(mcpivot::Instance::State state) { return static_cast<std::size_t>(state); }

  std::array<std::array<std::uint64_t, life_steps::event_count>, life_steps::place_count> steps_{};
  std::array<std::array<std::uint64_t, states>, static_cast<std::size_t>(Deed::count)> deeds_{};
};

}  // namespace simulation
