#include "front/listening_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/files.h"

namespace mcpivot {
namespace {

// A peer that vanishes silently is noticed after idle + count * interval = 120 s.
constexpr int keep_alive_idle = 60;
constexpr int keep_alive_interval = 15;
constexpr int keep_alive_count = 4;
// How often the system may choose a port that is free on one loopback address and not on the other.
constexpr int most_tries = 20;

constexpr const char* loopback_4 = "127.0.0.1";
constexpr const char* loopback_6 = "::1";

template <class Value>
void set_option(int descriptor, int level, int name, Value value) {
  ::setsockopt(descriptor, level, name, &value, sizeof(value));  // best effort
}

// Connections inherit these from the listening socket.
void set_options(int descriptor) {
  set_option(descriptor, SOL_SOCKET, SO_REUSEADDR, 1);  // connections of a predecessor may linger
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_idle);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, keep_alive_interval);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, keep_alive_count);
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
}

// The error is an errno.
std::expected<ListeningSocket, int> open_tcp(const std::string& host, std::uint16_t port,
                                             bool both_families) {
  sockaddr_in6 six{};
  sockaddr_in four{};
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  four.sin_family = AF_INET;
  four.sin_port = htons(port);
  const bool is_six = ::inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1;
  if (!is_six && ::inet_pton(AF_INET, host.c_str(), &four.sin_addr) != 1) return std::unexpected(EINVAL);
  ListeningSocket made(::socket(is_six ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.descriptor() < 0) return std::unexpected(errno);
  set_options(made.descriptor());
  if (is_six) set_option(made.descriptor(), IPPROTO_IPV6, IPV6_V6ONLY, both_families ? 0 : 1);
  const auto* name =
      is_six ? reinterpret_cast<const sockaddr*>(&six) : reinterpret_cast<const sockaddr*>(&four);
  const socklen_t size = is_six ? sizeof(six) : sizeof(four);
  if (::bind(made.descriptor(), name, size) != 0) return std::unexpected(errno);
  if (::listen(made.descriptor(), SOMAXCONN) != 0) return std::unexpected(errno);
  sockaddr_storage bound{};
  socklen_t bound_size = sizeof(bound);
  if (::getsockname(made.descriptor(), reinterpret_cast<sockaddr*>(&bound), &bound_size) != 0)
    return std::unexpected(errno);
  made.port = ntohs(is_six ? reinterpret_cast<const sockaddr_in6&>(bound).sin6_port
                           : reinterpret_cast<const sockaddr_in&>(bound).sin_port);
  made.address = with_port(host, made.port);
  return made;
}

// This machine has no addresses of that kind.
bool is_missing(int error) {
  return error == EAFNOSUPPORT || error == EADDRNOTAVAIL;
}

std::string words(const ListenAddress& address, int error) {
  const auto why = [&]() -> std::string {
    switch (error) {
      case EADDRINUSE:
        return "another program listens on that port. Stop it, or choose another port.";
      case EACCES:
        return address.port < 1024
                   ? "a port below 1024 needs root or CAP_NET_BIND_SERVICE. Choose a higher one."
                   : "the system doesn't permit it.";
      case EADDRNOTAVAIL:
        return "this machine has no such address. Use one of its own, localhost, or * for all of them.";
      case EAFNOSUPPORT:
        return "this machine has no addresses of that kind.";
      default:
        return std::string(std::strerror(error)) + ".";
    }
  }();
  return fmt::format("can't listen on {}: {}", address.text(), why);
}

using Sockets = std::vector<ListeningSocket>;

std::expected<Sockets, int> open_localhost(std::uint16_t port) {
  for (int tries = 1;; ++tries) {
    Sockets sockets;
    auto four = open_tcp(loopback_4, port, false);
    if (!four && !is_missing(four.error())) return std::unexpected(four.error());
    auto six = open_tcp(loopback_6, four ? four->port : port, false);
    if (!six && !is_missing(six.error())) {
      if (port == 0 && four && six.error() == EADDRINUSE && tries < most_tries) continue;
      return std::unexpected(six.error());
    }
    if (!four && !six) return std::unexpected(four.error());
    if (four) sockets.push_back(std::move(*four));
    if (six) sockets.push_back(std::move(*six));
    return sockets;
  }
}

std::expected<Sockets, int> open_everywhere(std::uint16_t port) {
  auto made = open_tcp("::", port, true);
  if (!made && is_missing(made.error())) made = open_tcp("0.0.0.0", port, false);
  if (!made) return std::unexpected(made.error());
  made->address = fmt::format("*:{}", made->port);
  Sockets sockets;
  sockets.push_back(std::move(*made));
  return sockets;
}

std::expected<Sockets, std::string> open_unix(const ListenAddress& address) {
  const std::string& path = address.path;
  auto fail = [&](const std::string& why) {
    return std::unexpected(fmt::format("can't listen on {}: {}", address.text(), why));
  };
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path))
    return fail(
        fmt::format("the path is too long for a socket; it may have {} bytes.", sizeof(name.sun_path) - 1));
  std::memcpy(name.sun_path, path.c_str(), path.size());
  const auto* generic = reinterpret_cast<const sockaddr*>(&name);

  struct stat file{};
  if (::lstat(path.c_str(), &file) == 0) {
    if (!S_ISSOCK(file.st_mode))
      return fail("a file with that name already exists. Remove it, or choose another path.");
    const ListeningSocket probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    const bool connected = ::connect(probe.descriptor(), generic, sizeof(name)) == 0;
    if (connected || errno == EAGAIN)
      return fail("another process listens on that socket. Stop it, or choose another path.");
    if (errno != ECONNREFUSED)
      return fail(
          fmt::format("a socket with that name exists, and can't be tested: {}.", std::strerror(errno)));
    ::unlink(path.c_str());  // of a process that is gone
  }

  ListeningSocket made(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (made.descriptor() < 0) return fail(std::string(std::strerror(errno)) + ".");
  const mode_t mask = ::umask(0177);  // nobody else may connect, even for a moment
  const int bound = ::bind(made.descriptor(), generic, sizeof(name));
  const int error = errno;
  ::umask(mask);
  if (bound != 0) {
    if (error == ENOENT) return fail("its folder doesn't exist.");
    if (error == EADDRINUSE)
      return fail("another process has just created a socket there. Choose another path.");
    return fail(std::string(std::strerror(error)) + ".");
  }
  made.owns_file(absolute_path(path).string());
  if (::listen(made.descriptor(), SOMAXCONN) != 0) return fail(std::string(std::strerror(errno)) + ".");
  made.address = address.text();
  Sockets sockets;
  sockets.push_back(std::move(made));
  return sockets;
}

}  // namespace

ListeningSocket& ListeningSocket::operator=(ListeningSocket&& other) noexcept {
  if (this == &other) return *this;
  close();
  port = other.port;
  address = std::move(other.address);
  descriptor_ = std::exchange(other.descriptor_, -1);
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

void ListeningSocket::owns_file(const std::string& path) {
  struct stat file{};
  if (::lstat(path.c_str(), &file) != 0) return;
  path_ = path;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

void ListeningSocket::close() {
  struct stat file{};
  if (!path_.empty() && ::lstat(path_.c_str(), &file) == 0 && file.st_dev == device_ && file.st_ino == inode_)
    ::unlink(path_.c_str());
  path_.clear();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

std::expected<Sockets, std::string> open_listening_sockets(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::unix_socket) return open_unix(address);
  std::expected<Sockets, int> opened;
  if (address.kind == ListenAddress::Kind::localhost) {
    opened = open_localhost(address.port);
  } else if (address.kind == ListenAddress::Kind::everywhere) {
    opened = open_everywhere(address.port);
  } else if (auto one = open_tcp(address.host, address.port, address.host == "::")) {
    opened->push_back(std::move(*one));
  } else {
    opened = std::unexpected(one.error());
  }
  if (!opened) return std::unexpected(words(address, opened.error()));
  return std::move(*opened);
}

}  // namespace mcpivot
