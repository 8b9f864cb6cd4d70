// Which process listens on a TCP port of this machine, according to /proc.
//
// Plain functions. Any thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace mcpivot {

struct PortHolder {
  pid_t pid = 0;          // 0: it belongs to another user, so we can't know
  std::string command{};  // its command line, perhaps shortened
};

// Nothing if nobody listens.
std::optional<PortHolder> port_holder(std::uint16_t port);

}  // namespace mcpivot
