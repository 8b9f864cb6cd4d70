// The core's observer in a simulation. It keeps its own books of what it sees, and checks that they
// balance: an answer belongs to a request that was sent under its id, every request of a client ends once, a
// client's answer reaches the generation that asked, and time doesn't run backwards.
#pragma once

#include <map>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "oracle.h"
#include "server/observer.h"
#include "visits.h"

namespace simulation {

// An id, however it was spelled.
std::string plain_id(std::string_view id);

class Bookkeeper final : public mcpivot::Observer {
 public:
  Bookkeeper(Oracle& oracle, Visits& visits) : oracle_(oracle), visits_(visits) {}

  void saw(const mcpivot::Seen& seen) override;
  void happens(const mcpivot::Life& life, const mcpivot::Life::Event& event) override {
    visits_.step(life, event);
  }
  // No one waits for this client's requests anymore.
  void gone(mcpivot::ClientId client);
  // Every request must have ended by now.
  void judge_rest();

  using Asked = std::pair<mcpivot::ClientId, std::string>;  // by whom, under which id
  // How often a request with that id has ended, because it was answered or cancelled.
  const std::map<Asked, int>& ended() const { return ended_; }
  bool is_gone(mcpivot::ClientId client) const { return gone_.contains(client); }

 private:
  using Generation = std::tuple<mcpivot::ClientId, std::uint32_t, std::uint64_t>;

  void request_came(const mcpivot::Seen& seen);
  void sent_to_server(const mcpivot::Seen& seen);
  void told(const mcpivot::Seen& seen);
  void answered(const mcpivot::Seen& seen, const mcpivot::Message& answer);
  void wrong(const mcpivot::Seen& seen, const std::string& what);

  Oracle& oracle_;
  Visits& visits_;
  mcpivot::Clock::Time last_{};
  std::map<Asked, int> open_;
  std::map<Asked, int> ended_;
  std::set<Asked> listens_;                                                 // which stay open
  std::map<std::pair<Generation, std::int64_t>, Asked> sent_;               // what servers work on
  std::map<std::pair<mcpivot::ClientId, std::int64_t>, Generation> asked_;  // what clients are asked
  std::set<mcpivot::ClientId> gone_;
};

}  // namespace simulation
