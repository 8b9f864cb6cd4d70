// Who asks and who answers, by id.
//
// Ids are plain data: they can be kept, written down, and used when whoever they stand for has gone. Then
// nobody is found, and nothing happens.
#pragma once

#include <compare>
#include <cstdint>

#include "base/era.h"

namespace mcpivot {

// A client, or a terminal that steers from elsewhere. Counts up from 1; none is used twice in a run.
enum class ClientId : std::uint64_t { nobody = 0 };

// Whom an answer is for: a client, and which exchange with it. What comes together is one exchange (a batch,
// or a request over HTTP), and what answers it goes back together.
struct Asker {
  ClientId client = ClientId::nobody;
  std::uint32_t exchange = 0;  // counts up from 1; 0: the client itself
  Era era = Era::legacy;       // of the request
  bool through = false;        // by pivot_call: its answer says whose it is
  bool operator==(const Asker&) const = default;

  // Whether it may take back what that one asked. In a client's name anything of it may be taken back; in an
  // exchange's, what came with it: others may have used the same ids.
  bool speaks_for(const Asker& other) const {
    return client == other.client && (exchange == 0 || exchange == other.exchange);
  }
};

// A server as one client uses it; or, if that is nobody, as all clients who share it do.
struct InstanceId {
  ClientId client = ClientId::nobody;
  std::uint32_t number = 0;
  auto operator<=>(const InstanceId&) const = default;
};

// One of an instance's lives.
struct GenerationId {
  InstanceId instance{};
  std::uint64_t birth = 0;
  int number = 0;  // as people count them: births that came to nothing may not count
  bool operator==(const GenerationId&) const = default;
};

}  // namespace mcpivot
