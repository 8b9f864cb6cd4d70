// The latest calls of each client, in memory: one line per call, for the client's own model.
//
// Bounded. Any thread: the journal's adds, the loop's reads.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "journal/journal_rows.h"

namespace mcpivot {

class RecentCalls {
 public:
  // `arguments`: or how they begin. `answer`: the whole message. Secrets are gone from both.
  void add(const CallRow& call, std::string_view arguments, std::string_view answer);
  // Only this client's, the newest last.
  std::vector<std::string> last(std::uint64_t client, std::size_t most) const;

 private:
  mutable std::mutex mutex_;
  struct Lines {
    std::deque<std::string> lines{};
    std::uint64_t last = 0;  // its newest call, of all that were ever added
  };
  std::map<std::uint64_t, Lines> clients_;  // the client whose last call is the oldest is forgotten first
  std::uint64_t added_ = 0;
};

}  // namespace mcpivot
