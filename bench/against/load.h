// Calls of one size with this many in flight, timed one by one, and checked.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "subjects.h"

struct Load {
  std::string name;  // "200 B"
  size_t size = 0;   // of the returned text
  size_t in_flight = 1;
};

struct Turn {
  std::vector<double> times_us;  // from the request's write to the answer's arrival
  double per_second = 0;
};

// As many calls as fit into `budget`, at least as many as are in flight and ten, at most 20,000. One call
// before is checked in full. Throws Failure when the subject falls silent.
Turn run_load(Running& running, const Load& load, Clock::duration budget);
