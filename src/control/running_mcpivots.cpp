#include "control/running_mcpivots.h"

#include <sys/socket.h>
#include <sys/time.h>
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

constexpr timeval longest_connect{.tv_sec = 1, .tv_usec = 0};
constexpr timeval without_limit{};

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
  if (made < 0) return -1;
  ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &longest_connect, sizeof(longest_connect));
  if (::connect(made, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0) {
    ::setsockopt(made, SOL_SOCKET, SO_SNDTIMEO, &without_limit, sizeof(without_limit));
    return made;
  }
  const int error = errno;
  ::close(made);
  errno = error;
  return -1;
}

bool is_listening(const std::string& socket) {
  const int probe = connect_to(socket, SOCK_NONBLOCK);
  if (probe < 0) return errno == EAGAIN;
  ::close(probe);
  return true;
}

std::vector<RunningMcpivot> running_mcpivots() {
  std::vector<RunningMcpivot> found;
  const std::string folder = runtime_folder();
  if (!is_ours_alone(folder)) return found;  // what answers there may be another user's
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().stem();
    RunningMcpivot mcpivot{.pid = 0, .socket = entry->path()};
    std::from_chars(name.data(), name.data() + name.size(), mcpivot.pid);
    if (entry->path().extension() != ".sock" || mcpivot.pid <= 0) continue;
    if (is_listening(mcpivot.socket)) {
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
