// Which mcpivots are running: each has a control socket in one folder, where commands find
// it.
//
// Any thread.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace mcpivot {

struct RunningMcpivot {
  pid_t pid;
  std::string socket;
};

// A connection to a socket, or -1 and errno. `flags` go with SOCK_STREAM. EAGAIN: the queue of connections is
// full; unless SOCK_NONBLOCK is among the flags, that takes some time to be reported.
int connect_to(const std::string& socket, int flags);
// Whether a process listens there; errno says why not.
bool is_listening(const std::string& socket);

// The ones that answer, oldest first. The sockets of the others are removed.
std::vector<RunningMcpivot> running_mcpivots();

}  // namespace mcpivot
