// Keeps a call's progress increasing when it takes several rounds at the server: a round may count from its
// own beginning, while the client sees one call.
//
// One thread.
#pragma once

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

class ProgressShift {
 public:
  // Progress from now on belongs to the next round.
  void next_round() { begins_ = reported_; }

  // Raises the numbers of a progress notification above those of earlier rounds. False: that isn't possible,
  // and it is better dropped.
  bool lift(const Message& progress, Edits& edits);

 private:
  bool reported_ = false;  // anything at all
  bool begins_ = false;    // a later round, of which nothing has been reported yet
  double highest_ = 0;
  double base_ = 0;  // of this round
};

}  // namespace mcpivot
