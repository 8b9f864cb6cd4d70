#include "front/wire.h"

#include <sys/socket.h>

#include <cerrno>

namespace mcpivot {
namespace {

class PlainWire final : public Wire {
 public:
  explicit PlainWire(int descriptor) : descriptor_(descriptor) {}

  Result shake_hands() override { return {}; }

  Result read(std::span<char> room) override {
    for (;;) {
      const ssize_t count = ::recv(descriptor_, room.data(), room.size(), 0);
      if (count > 0) return {.count = static_cast<std::size_t>(count)};
      if (count == 0) return {.now = Now::ended};
      if (errno == EAGAIN) return {.now = Now::when_readable};
      if (errno != EINTR) return {.now = Now::broken};
    }
  }

  Result write(std::span<const iovec> pieces) override {
    msghdr message{};
    message.msg_iov = const_cast<iovec*>(pieces.data());
    message.msg_iovlen = pieces.size();
    for (;;) {
      const ssize_t count = ::sendmsg(descriptor_, &message, MSG_NOSIGNAL);
      if (count >= 0) return {.count = static_cast<std::size_t>(count)};
      if (errno == EAGAIN) return {.now = Now::when_writable};
      if (errno != EINTR) return {.now = Now::broken};
    }
  }

  bool holds_bytes() const override { return false; }
  void finish() override { ::shutdown(descriptor_, SHUT_WR); }

 private:
  int descriptor_;
};

}  // namespace

std::unique_ptr<Wire> plain_wire(int descriptor) {
  return std::make_unique<PlainWire>(descriptor);
}

}  // namespace mcpivot
