// Plays a plan: mcpivot's gateway, session and servers between a simulated client and a simulated world, and
// an oracle that watches. mcpivot may end in the middle and be started again: that is another life, in the
// same world.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "plan.h"
#include "visits.h"

namespace simulation {

struct Verdict {
  std::vector<std::string> broken;
  std::uint64_t events = 0;
  std::uint64_t hash = 0;    // of everything that was sent
  std::string transcript{};  // of the client, if Client::keeps_transcript
  bool ok() const { return broken.empty(); }
};

Verdict play(const Plan& plan, Visits& visits);

}  // namespace simulation
