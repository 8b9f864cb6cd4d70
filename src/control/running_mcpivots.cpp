#include "control/running_mcpivots.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "base/user_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// Whether somebody listens; errno tells why not.
bool answers(const std::string& path) {
  const int probe = connect_to(path, SOCK_NONBLOCK);
  if (probe < 0) return errno == EAGAIN;
  ::close(probe);
  return true;
}

}  // namespace

int connect_to(const std::string& socket, int flags) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (socket.size() >= sizeof(address.sun_path)) {
    errno = ENAMETOOLONG;
    return -1;
  }
  std::memcpy(address.sun_path, socket.c_str(), socket.size());
  const int made = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0);
  if (made < 0 || ::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0)
    return made;
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

std::vector<RunningMcpivot> running_mcpivots() {
  std::vector<RunningMcpivot> found;
  std::error_code error;
  for (fs::directory_iterator entry(runtime_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().stem();
    RunningMcpivot mcpivot{.pid = 0, .socket = entry->path()};
    std::from_chars(name.data(), name.data() + name.size(), mcpivot.pid);
    if (entry->path().extension() != ".sock" || mcpivot.pid <= 0) continue;
    if (answers(mcpivot.socket)) {
      found.push_back(std::move(mcpivot));
    } else if (errno == ECONNREFUSED) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
    }
  }
  std::ranges::sort(found, {}, &RunningMcpivot::pid);
  return found;
}

}  // namespace mcpivot
