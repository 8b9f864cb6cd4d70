#include "front/acceptor.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {
namespace {

constexpr std::chrono::milliseconds accept_pause{100};
// In one turn of the loop, to be fair to others.
constexpr int most_at_once = 64;

std::string peer_name(const sockaddr_storage& from) {
  char text[INET6_ADDRSTRLEN] = "";
  if (from.ss_family == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, text, sizeof(text));
  } else if (from.ss_family == AF_INET6) {
    const in6_addr& six = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&six)) {  // IPv4 on a dual-stack socket
      ::inet_ntop(AF_INET, six.s6_addr + 12, text, sizeof(text));
    } else {
      ::inet_ntop(AF_INET6, &six, text, sizeof(text));
    }
  } else {
    return "unix";
  }
  return text;
}

}  // namespace

Acceptor::Acceptor(boost::asio::io_context& loop, ListeningSocket socket, OnPeer on_peer)
    : socket_(std::move(socket)),
      descriptor_(loop, socket_.release()),
      pause_(loop),
      on_peer_(std::move(on_peer)) {}

void Acceptor::start() {
  wait();
}

void Acceptor::close() {
  on_peer_ = nullptr;
  pause_.cancel();
  if (descriptor_.is_open()) descriptor_.close();
  socket_.close();
}

void Acceptor::wait() {
  if (!descriptor_.is_open()) return;
  descriptor_.async_wait(descriptor_.wait_read,
                         [weak = weak_from_this()](const boost::system::error_code& error) {
                           const auto self = weak.lock();
                           if (!error && self && self->descriptor_.is_open()) self->accept();
                         });
}

void Acceptor::accept() {
  for (int count = 0; count < most_at_once && descriptor_.is_open(); ++count) {
    sockaddr_storage from{};
    socklen_t size = sizeof(from);
    const int made = ::accept4(descriptor_.native_handle(), reinterpret_cast<sockaddr*>(&from), &size,
                               SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (made >= 0) {
      refusing_ = false;
      const OnPeer on_peer = on_peer_;  // the call may close us
      survive("HTTP listener", [&] { on_peer(made, peer_name(from)); });
    } else if (errno == EAGAIN) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      return pause(std::strerror(errno));
    } else if (errno == EBADF || errno == EINVAL || errno == ENOTSOCK) {
      return pause(std::strerror(errno));  // a bug of ours; don't repeat it endlessly
    }
    // Anything else concerns only one client, which is gone.
  }
  wait();
}

void Acceptor::pause(const char* why) {
  if (!std::exchange(refusing_, true)) log_warn("can't accept clients at {}: {}", address(), why);
  pause_.expires_after(accept_pause);
  pause_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!error && self && self->descriptor_.is_open()) self->accept();
  });
}

}  // namespace mcpivot
