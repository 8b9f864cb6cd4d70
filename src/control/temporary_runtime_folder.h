// A folder for the control sockets of one test: while this lives, mcpivot looks for them here.
//
// One thread: it sets a variable.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

#include "host/temporary_directory.h"

namespace mcpivot {

class TemporaryRuntimeFolder {
 public:
  // Another place, for as long as this lives.
  class Elsewhere {
   public:
    explicit Elsewhere(const std::string& place) {
      if (const char* before = std::getenv(variable); before != nullptr) before_ = before;
      ::setenv(variable, place.c_str(), 1);
    }
    ~Elsewhere() {
      if (before_.empty())
        ::unsetenv(variable);
      else
        ::setenv(variable, before_.c_str(), 1);
    }
    Elsewhere(const Elsewhere&) = delete;
    Elsewhere& operator=(const Elsewhere&) = delete;

   private:
    static constexpr const char* variable = "XDG_RUNTIME_DIR";
    std::string before_;
  };

  TemporaryRuntimeFolder() { folder_.folder("mcpivot"); }

  std::string path() const { return folder_.path(); }
  std::string socket(const std::string& pid) const { return folder_ / ("mcpivot/" + pid + ".sock"); }
  void write(const std::string& name) const { folder_.write("mcpivot/" + name, ""); }

  // Listens there, with this many connections in the queue. The caller owns the descriptor.
  int listen(const std::string& pid, int waiting = 8) const {
    const std::string path = socket(pid);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.size() >= sizeof(address.sun_path)) throw std::runtime_error(path + " is too long");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0 ||
        ::listen(listener, waiting) != 0)
      throw std::runtime_error("cannot listen at " + path);
    return listener;
  }
  // The socket file of an mcpivot that was killed.
  void dead_socket(const std::string& pid) const { ::close(listen(pid)); }

 private:
  host::TemporaryDirectory folder_;
  Elsewhere here_{folder_.path()};
};

}  // namespace mcpivot
