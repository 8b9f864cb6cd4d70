// How often a request was sent, and whether a server may have got it: what a report of its loss has to say.
//
// Plain data; any thread.
#pragma once

namespace mcpivot {

struct Attempts {
  int count = 0;
  bool reached = false;
  Attempts after(bool this_one_reached) const { return {count + 1, reached || this_one_reached}; }
};

}  // namespace mcpivot
