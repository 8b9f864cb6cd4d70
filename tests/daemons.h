// For tests with HTTP daemons: the fake one, real ones, and ports that stay the same across restarts.
#pragma once

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "lives.h"

namespace harness {

inline bool listens(int port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<std::uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool connected = ::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  ::close(fd);
  return connected;
}

// A process that listens on a port, and can be killed and started again.
class Daemon {
 public:
  Daemon(int port, Strings command, Environment environment = {})
      : port_(port), command_(std::move(command)), environment_(std::move(environment)) {}

  int port() const { return port_; }
  std::string url(const std::string& path = "/mcp") const {
    return "http://127.0.0.1:" + std::to_string(port_) + path;
  }
  void start(const Strings& more = {}) {
    Strings command = command_;
    command.insert(command.end(), more.begin(), more.end());
    child_ = std::make_unique<Child>(command, environment_);
    if (!wait_until([&] { return listens(port_); }, in(std::chrono::seconds(20))))
      throw std::runtime_error("the daemon does not listen: " + child_->stderr_text());
  }
  void kill() { child_.reset(); }
  Child& child() { return *child_; }

 private:
  int port_;
  Strings command_;
  Environment environment_;
  std::unique_ptr<Child> child_;
};

// The fake daemon, which counts its lives.
class FakeDaemon {
 public:
  explicit FakeDaemon(Strings options = {}) : FakeDaemon(free_port(), std::move(options)) {}
  FakeDaemon(int port, Strings options)
      : options_(std::move(options)),
        daemon_(port, {fake_daemon_binary(), "--port", std::to_string(port), "--journal", journal_path()}) {
    start();
  }

  void start(const Strings& more = {}) {
    Strings options = options_;
    options.insert(options.end(), {"--life", std::to_string(++life_)});
    options.insert(options.end(), more.begin(), more.end());
    daemon_.start(options);
  }
  void kill() { daemon_.kill(); }
  void restart(const Strings& more = {}) {
    kill();
    start(more);
  }
  int port() const { return daemon_.port(); }
  std::string url(const std::string& path = "/mcp") const { return daemon_.url(path); }
  pid_t pid() { return daemon_.child().pid(); }

  // The requests it received, as "LIFE WHAT DETAILS".
  Strings journal() const { return lines_of(journal_path()); }
  std::size_t times(const std::string& line) const {
    const Strings all = journal();
    return static_cast<std::size_t>(std::ranges::count(all, line));
  }
  bool wait_journal(const std::string& line) const {
    return wait_until([&] { return times(line) > 0; }, soon());
  }

 private:
  std::string journal_path() const { return directory_.path() / "journal"; }

  TemporaryDirectory directory_;
  Strings options_;
  Daemon daemon_;
  int life_ = 0;
};

// A client of the daemon that listens on this URL.
inline ClientOptions to(const std::string& url, Strings more = {}) {
  Strings options = {"--url", url, "--name", "app"};
  options.insert(options.end(), more.begin(), more.end());
  return {.options = std::move(options)};
}

}  // namespace harness
