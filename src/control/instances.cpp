#include "control/instances.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "proc/user_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// Whether somebody listens; errno tells why not.
bool answers(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return false;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return false;
  const bool connected = ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  const int error = errno;
  ::close(probe);
  errno = error;
  return connected || error == EAGAIN;
}

}  // namespace

std::vector<Instance> running_instances() {
  std::vector<Instance> found;
  std::error_code error;
  for (fs::directory_iterator entry(runtime_folder(), error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().stem();
    Instance instance{.pid = 0, .socket = entry->path()};
    std::from_chars(name.data(), name.data() + name.size(), instance.pid);
    if (entry->path().extension() != ".sock" || instance.pid <= 0) continue;
    if (answers(instance.socket)) {
      found.push_back(std::move(instance));
    } else if (errno == ECONNREFUSED) {
      std::error_code ignored;
      fs::remove(entry->path(), ignored);
    }
  }
  std::ranges::sort(found, {}, &Instance::pid);
  return found;
}

}  // namespace mcpivot
