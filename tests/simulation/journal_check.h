// The journal in a simulation, without its thread and its file: every call that the books know as ended must
// be in its rows, as a request and its answer.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "bookkeeper.h"
#include "journal/call_book.h"
#include "journal/journal_queue.h"
#include "oracle.h"
#include "world/journal_observer.h"

namespace simulation {

class JournalCheck final : public mcpivot::Observer {
 public:
  JournalCheck(Oracle& oracle, const Bookkeeper& books);

  void saw(const mcpivot::Seen& seen) override;
  void judge_rest();

 private:
  void ended(const mcpivot::CallBook::Ended& ended);

  Oracle& oracle_;
  const Bookkeeper& books_;
  mcpivot::JournalQueue queue_;
  mcpivot::JournalObserver observer_;
  mcpivot::CallBook book_;
  std::map<Bookkeeper::Asked, int> ended_;
};

}  // namespace simulation
