#include "issuers.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>

namespace harness {

namespace json = boost::json;

std::int64_t epoch_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Issuer::Issuer() : port_(free_port()), url_("http://127.0.0.1:" + std::to_string(port_)) {
  put("/.well-known/oauth-authorization-server",
      json::serialize(json::object{{"issuer", url_}, {"jwks_uri", url_ + keys_path()}}));
  put(keys_path(), SigningKey::set(key_.jwk(R"(,"use":"sig")")));
  start();
}

void Issuer::put(const std::string& path, const std::string& body, int status) {
  const std::lock_guard lock(mutex_);
  documents_[path] = {status, body};
}

int Issuer::asked(const std::string& path) const {
  const std::lock_guard lock(mutex_);
  int all = 0;
  for (const auto& [place, count] : asked_)
    if (path.empty() || path == place) all += count;
  return all;
}

void Issuer::hold(bool held) {
  const std::lock_guard lock(mutex_);
  held_ = held;
  changed_.notify_all();
}

void Issuer::start() {
  listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const int yes = 1;
  ::setsockopt(listener_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(static_cast<std::uint16_t>(port_));
  if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0 ||
      ::listen(listener_, 64) != 0)
    throw std::runtime_error("the issuer can't listen: " + std::string(std::strerror(errno)));
  stops_ = false;
  thread_ = std::thread([this] { serve(); });
}

void Issuer::stop() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
    changed_.notify_all();
  }
  ::shutdown(listener_, SHUT_RDWR);
  thread_.join();
  ::close(listener_);
}

void Issuer::serve() {
  for (;;) {
    const int connection = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    if (connection < 0) return;
    answer(connection);
    ::close(connection);
  }
}

void Issuer::answer(int connection) {
  std::string request;
  while (request.find("\r\n\r\n") == std::string::npos) {
    char room[4096];
    pollfd wait{.fd = connection, .events = POLLIN, .revents = 0};
    const ssize_t count = ::poll(&wait, 1, 5000) == 1 ? ::recv(connection, room, sizeof(room), 0) : 0;
    if (count <= 0) return;
    request.append(room, static_cast<std::size_t>(count));
  }
  const std::string path = request.substr(4, request.find(' ', 4) - 4);
  std::unique_lock lock(mutex_);
  ++asked_[path];
  changed_.wait(lock, [this] { return !held_ || stops_; });
  const auto found = documents_.find(path);
  const int status = found == documents_.end() ? 404 : found->second.first;
  const std::string body = found == documents_.end() ? "" : found->second.second;
  lock.unlock();
  const std::string text =
      "HTTP/1.1 " + std::to_string(status) +
      " Fake\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: " +
      std::to_string(body.size()) + "\r\n\r\n" + body;
  for (std::string_view rest = text; !rest.empty();) {
    const ssize_t count = ::send(connection, rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count <= 0) return;
    rest.remove_prefix(static_cast<std::size_t>(count));
  }
}

std::string Issuer::claims(const json::object& others) const {
  const std::int64_t now = epoch_now();
  json::object all = {{"iss", url_}, {"sub", "alice"},      {"aud", audience}, {"exp", now + 600},
                      {"iat", now},  {"client_id", "test"}, {"scope", "read"}, {"jti", "some-jti"}};
  for (const auto& [name, value] : others)
    if (value.is_null()) {
      all.erase(name);
    } else {
      all[name] = value;
    }
  return json::serialize(all);
}

}  // namespace harness
