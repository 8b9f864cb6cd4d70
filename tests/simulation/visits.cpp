#include "visits.h"

#include <fmt/format.h>

namespace simulation {
namespace {

constexpr std::array<std::string_view, Visits::states> names{"stopped", "starting", "ready", "failed"};

}  // namespace

void Visits::add(const Visits& other) {
  for (std::size_t i = 0; i < steps_.size(); ++i)
    for (std::size_t j = 0; j < states; ++j) steps_[i][j] += other.steps_[i][j];
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    for (std::size_t j = 0; j < states; ++j) deeds_[i][j] += other.deeds_[i][j];
}

std::string Visits::table() const {
  std::string text = "steps of servers' states:\n";
  for (std::size_t i = 0; i < states; ++i)
    for (std::size_t j = 0; j < states; ++j)
      if (i != j && steps_[i][j] > 0)
        text += fmt::format("  {:>8} -> {:<8} {:>10}\n", names[i], names[j], steps_[i][j]);
  text +=
      fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10}\n", "deed in", names[0], names[1], names[2], names[3]);
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    text += fmt::format("{:>10} {:>10} {:>10} {:>10} {:>10}\n", name_of(static_cast<Deed>(i)), deeds_[i][0],
                        deeds_[i][1], deeds_[i][2], deeds_[i][3]);
  return text;
}

std::string Visits::never() const {
  std::string text;
  for (std::size_t i = 0; i < states; ++i)
    for (std::size_t j = 0; j < states; ++j)
      if (i != j && steps_[i][j] == 0) text += fmt::format("  never: {} -> {}\n", names[i], names[j]);
  for (std::size_t i = 0; i < deeds_.size(); ++i)
    for (std::size_t j = 0; j < states; ++j)
      if (deeds_[i][j] == 0)
        text += fmt::format("  never: {} while {}\n", name_of(static_cast<Deed>(i)), names[j]);
  return text;
}

}  // namespace simulation
