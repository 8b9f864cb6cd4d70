#include "visits.h"

#include <fmt/format.h>

namespace simulation {
namespace {

constexpr std::array<std::string_view, Visits::states> names{"stopped", "starting", "ready", "failed"};

// Those in docs/life.md.
using Steps = std::array<std::array<bool, life_steps::event_count>, life_steps::place_count>;
Steps possible_steps() {
  Steps steps{};
  for (const auto& kind : life_steps::kinds())
    for (const auto& [place, life] : life_steps::reachable(kind.facts))
      for (std::size_t j = 0; j < life_steps::event_count; ++j)
        if (const auto& event = life_steps::all_events().at(j);
            life_steps::can_happen(life, event.event, kind.facts) &&
            life_steps::changes(life, event, kind.facts))
          steps.at(place).at(j) = true;
  return steps;
}
const Steps& possible() {
  static const Steps steps = possible_steps();
  return steps;
}

}  // namespace

void Visits::add(const Visits& other) {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::size_t j = 0; j < steps_[i].size(); ++j) steps_[i][j] += other.steps_[i][j];
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    for (std::size_t j = 0; j < states; ++j) deeds_[i][j] += other.deeds_[i][j];
}

std::string Visits::table() const {
  std::string text = "steps of servers' lives:\n";
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::size_t j = 0; j < steps_[i].size(); ++j)
      if (steps_[i][j] > 0)
        text += fmt::format("  {:>10} {}: {}\n", steps_[i][j], life_steps::name_of(i),
                            life_steps::all_events().at(j).name);
  text +=
      fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10}\n", "deed in", names[0], names[1], names[2], names[3]);
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    text += fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10}\n", name_of(static_cast<Deed>(i)), deeds_[i][0],
                        deeds_[i][1], deeds_[i][2], deeds_[i][3]);
  return text;
}

std::string Visits::never() const {
  std::string text;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::size_t j = 0; j < steps_[i].size(); ++j)
      if (steps_[i][j] == 0 && possible()[i][j])
        text += fmt::format("  never: {}: {}\n", life_steps::name_of(i), life_steps::all_events().at(j).name);
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    for (std::size_t j = 0; j < states; ++j)
      if (deeds_[i][j] == 0)
        text += fmt::format("  never: {} while {}\n", name_of(static_cast<Deed>(i)), names[j]);
  return text;
}

std::string Visits::summary() const {
  int all = 0;
  int taken = 0;
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::size_t j = 0; j < steps_[i].size(); ++j) {
      if (!possible()[i][j]) continue;
      ++all;
      taken += steps_[i][j] > 0 ? 1 : 0;
    }
  return fmt::format("{} of the {} steps in docs/life.md were taken (--visits tells which)\n", taken, all);
}

}  // namespace simulation
