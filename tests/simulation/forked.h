// Plays plans in child processes, so that a crash, a sanitizer's complaint or an endless loop is a failure
// like any other; and shrinks a failing plan until every action that is left is needed.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "plan.h"
#include "stage.h"

namespace simulation {

// Why a plan fails, in a sentence; empty: it does not.
std::string failure_of(const Plan& plan);

// A plan with fewer actions that fails for the same reason. `tell` is called with each smaller number.
Plan shrunk(const Plan& plan, const std::string& failure, const std::function<void(std::size_t)>& tell);

// What children have done so far.
struct Progress {
  std::uint64_t seed = 0;  // under way, or the last one
  std::uint64_t seeds = 0;
  std::uint64_t events = 0;
  double seconds = 0;
  bool failed = false;
  Visits visits;
};
// Plays seed after seed, starting with this one, for this long. False: progress.seed failed.
bool play_seeds(std::uint64_t first, int events, double seconds, Progress& progress);

}  // namespace simulation
