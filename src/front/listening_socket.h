// A bound socket for clients, with an explanation if it can't be bound.
//
// One thread.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <expected>
#include <string>
#include <utility>
#include <vector>

#include "front/listen_address.h"

namespace mcpivot {

// Owns the descriptor, and the file of a Unix socket.
class ListeningSocket {
 public:
  ListeningSocket() = default;
  explicit ListeningSocket(int descriptor) : descriptor_(descriptor) {}
  ListeningSocket(ListeningSocket&& other) noexcept
      : port(other.port),
        address(std::move(other.address)),
        descriptor_(std::exchange(other.descriptor_, -1)),
        path_(std::exchange(other.path_, {})),
        device_(other.device_),
        inode_(other.inode_) {}
  ListeningSocket& operator=(ListeningSocket&& other) noexcept;
  ~ListeningSocket() { close(); }

  int descriptor() const { return descriptor_; }
  // The caller must close the descriptor. The file stays ours.
  int release() { return std::exchange(descriptor_, -1); }
  // The file is deleted with it, if it is still the one that we created.
  void owns_file(const std::string& path);
  void close();

  std::uint16_t port = 0;
  std::string address;  // "127.0.0.1:7420", "unix:/run/mcpivot.sock"

 private:
  int descriptor_ = -1;
  std::string path_;
  dev_t device_ = 0;
  ino_t inode_ = 0;
};

// "localhost" may need two. The error says why not, and what to do.
std::expected<std::vector<ListeningSocket>, std::string> open_listening_sockets(const ListenAddress& address);

}  // namespace mcpivot
