// Who asks and who answers, by id.
//
// Ids are plain data: they can be kept, written down, and used after what they stand for is gone. Then
// nothing is found, and nothing happens.
//
// Any thread.
#pragma once

#include <compare>
#include <cstdint>

#include "base/era.h"

namespace mcpivot {

// A client, or a terminal that controls mcpivot. Counts up from 1; no id is used twice in a run.
enum class ClientId : std::uint64_t { nobody = 0 };

// Whom an answer is for: a client, and an exchange with it. An exchange is what arrives together (a batch, or
// a request over HTTP); its answers go back together.
struct Asker {
  ClientId client = ClientId::nobody;
  std::uint32_t exchange = 0;  // counts up from 1; 0: the client itself
  Era era = Era::legacy;       // of the request
  bool through = false;        // by pivot_call: its answer names the server
  bool operator==(const Asker&) const = default;

  // Whether it may cancel what the other asked. A client may cancel anything of its own; an exchange, only
  // what came with it: other exchanges may use the same ids.
  bool speaks_for(const Asker& other) const {
    return client == other.client && (exchange == 0 || exchange == other.exchange);
  }
};

// A server as used by one client or, if that is nobody, by all clients that share it.
struct InstanceId {
  ClientId client = ClientId::nobody;
  std::uint32_t number = 0;
  auto operator<=>(const InstanceId&) const = default;
};

// A request for a new generation, which can be cancelled. Counts up from 1; no id is used twice in a run.
enum class ReloadId : std::uint64_t { none = 0 };

// One generation of an instance.
struct GenerationId {
  InstanceId instance{};
  std::uint64_t birth = 0;
  int number = 0;  // as shown to people: failed starts may not count
  bool operator==(const GenerationId&) const = default;
};

}  // namespace mcpivot
