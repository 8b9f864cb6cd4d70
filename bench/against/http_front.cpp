// HTTP/1.1 with connections that are kept, one call on each at a time, as a client with many calls in flight
// has it. Answers are JSON or a stream of events.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <deque>
#include <map>
#include <vector>

#include "front.h"
#include "http_answer.h"

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  return address;
}

int connect_to(std::uint16_t port) {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  const sockaddr_in address = loopback(port);
  if (connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
    close(fd);
    return -1;
  }
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return fd;
}

// One connection and the answer that it is reading.
struct Connection {
  int fd = -1;
  std::int64_t id = -1;  // of the request on its way
  bool busy = false;
  bool stream = false;  // the one that carries all answers
  bool answered = false;
  HttpAnswer answer;
};

class HttpFront : public Front {
 public:
  HttpFront(const HttpAddress& address, Clock::time_point deadline)
      : address_(address), loop_(epoll_create1(EPOLL_CLOEXEC)) {
    for (;;) {
      const int fd = connect_to(address.port);
      if (fd >= 0) {
        adopt(fd);
        break;
      }
      if (Clock::now() > deadline) throw Failure("nobody listens");
      usleep(1000);
    }
    if (address.old_sse) open_stream(deadline);
  }

  ~HttpFront() override {
    for (auto& [fd, connection] : connections_) close(fd);
    close(loop_);
  }

  void send(std::int64_t id, std::string_view message) override {
    Connection* connection = idle();
    if (connection == nullptr) {
      const int fd = connect_to(address_.port);
      if (fd < 0) {
        tell(id, "no connection");
        return;
      }
      connection = &adopt(fd);
    }
    std::string request =
        "POST " + address_.path + " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(address_.port) +
        "\r\nAccept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";
    if (!session_.empty())
      request += "Mcp-Session-Id: " + session_ + "\r\nMCP-Protocol-Version: 2025-06-18\r\n";
    request += "Content-Length: " + std::to_string(message.size()) + "\r\n\r\n";
    request += message;
    begin(*connection, id);
    if (::send(connection->fd, request.data(), request.size(), MSG_NOSIGNAL) !=
        static_cast<ssize_t>(request.size()))
      lose(*connection);
  }

  std::optional<Incoming> receive(Clock::time_point deadline) override {
    while (ready_.empty()) {
      std::array<epoll_event, 64> events{};
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now()).count();
      const int count = epoll_wait(loop_, events.data(), static_cast<int>(events.size()),
                                   static_cast<int>(std::max<std::int64_t>(0, left)));
      for (int i = 0; i < count; ++i) read_from(events[static_cast<size_t>(i)].data.fd);
      if (ready_.empty() && Clock::now() >= deadline) return std::nullopt;
    }
    handed_ = std::move(ready_.front());
    ready_.pop_front();
    Incoming incoming = handed_.incoming;
    incoming.message = handed_.text;
    return incoming;
  }

 private:
  struct Ready {
    Incoming incoming;
    std::string text;
  };

  Connection& adopt(int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(loop_, EPOLL_CTL_ADD, fd, &event);
    Connection& connection = connections_[fd];
    connection = Connection{};
    connection.fd = fd;
    idle_.push_back(fd);
    return connection;
  }

  Connection* idle() {
    while (!idle_.empty()) {
      const auto found = connections_.find(idle_.back());
      if (found == connections_.end() || found->second.busy) {
        idle_.pop_back();
        continue;
      }
      // Servers may close connections that were idle for some seconds.
      char byte = 0;
      if (recv(found->first, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN) return &found->second;
      lose(found->second);
    }
    return nullptr;
  }

  void begin(Connection& connection, std::int64_t id) {
    const int fd = connection.fd;
    connection = Connection{};
    connection.fd = fd;
    connection.id = id;
    connection.busy = true;
    std::erase(idle_, fd);
  }

  void tell(std::int64_t id, std::string problem) {
    ready_.push_back({{.id = id, .message = {}, .problem = std::move(problem), .arrived = Clock::now()}, {}});
  }

  void lose(Connection& connection) {
    if (connection.stream) {
      tell(-1, "the stream was closed");
    } else if (connection.busy && !connection.answered) {
      tell(connection.id, "the connection was closed");
    }
    const int fd = connection.fd;
    close(fd);
    std::erase(idle_, fd);
    connections_.erase(fd);
  }

  void read_from(int fd) {
    const auto found = connections_.find(fd);
    if (found == connections_.end()) return;
    Connection& connection = found->second;
    const ssize_t got = recv(fd, buffer_.data(), buffer_.size(), 0);
    if (got <= 0) return lose(connection);
    connection.answer.take({buffer_.data(), static_cast<size_t>(got)});
    if (!connection.answer.has_head()) return;
    if (const std::string session = connection.answer.header("mcp-session-id"); !session.empty())
      session_ = session;
    if (connection.answer.is_stream()) read_events(connection);
    if (connection.answer.has_ended()) finish(connection);
  }

  void read_events(Connection& connection) {
    connection.answer.read_events([&](std::string_view event, std::string_view data) {
      if (connection.stream && event == "endpoint") {
        address_.path = data;
        has_endpoint_ = true;
      } else {
        deliver(connection, data);
      }
    });
  }

  void deliver(Connection& connection, std::string_view text) {
    const std::int64_t id = id_of(text);
    if (id == connection.id) connection.answered = true;
    ready_.push_back({{.id = id, .message = {}, .problem = {}, .arrived = Clock::now()}, std::string(text)});
  }

  void finish(Connection& connection) {
    const HttpAnswer& answer = connection.answer;
    if (!connection.answered && answer.status() >= 400)
      tell(connection.id, "HTTP " + std::to_string(answer.status()) + ": " + answer.body().substr(0, 200));
    else if (!answer.is_stream() && !connection.answered && !address_.old_sse && !answer.body().empty())
      deliver(connection, answer.body());
    if (answer.closes()) {
      connection.answered = true;
      return lose(connection);
    }
    connection.busy = false;
    connection.answer = HttpAnswer();
    idle_.push_back(connection.fd);
  }

  // Some listen before they can serve: their first answers are errors.
  void open_stream(Clock::time_point deadline) {
    const std::string path = address_.path;
    while (!has_endpoint_) {
      if (Clock::now() > deadline) throw Failure("the stream names no endpoint");
      Connection* connection = idle();
      if (connection == nullptr) {
        const int fd = connect_to(address_.port);
        if (fd < 0) throw Failure("nobody listens any more");
        connection = &adopt(fd);
      }
      begin(*connection, -1);
      connection->stream = true;
      const std::string request = "GET " + path +
                                  " HTTP/1.1\r\nHost: 127.0.0.1:" + std::to_string(address_.port) +
                                  "\r\nAccept: text/event-stream\r\n\r\n";
      const int fd = connection->fd;
      if (::send(fd, request.data(), request.size(), MSG_NOSIGNAL) < 0) throw Failure("no stream");
      while (!has_endpoint_ && connections_.contains(fd) && connections_[fd].busy &&
             Clock::now() < deadline) {
        epoll_event event{};
        if (epoll_wait(loop_, &event, 1, 50) > 0) read_from(event.data.fd);
      }
      if (!has_endpoint_) usleep(2000);
    }
    ready_.clear();
  }

  HttpAddress address_;
  int loop_;
  std::map<int, Connection> connections_;
  std::vector<int> idle_;
  std::string session_;
  bool has_endpoint_ = false;
  std::deque<Ready> ready_;
  Ready handed_;
  std::array<char, 1 << 18> buffer_;
};

}  // namespace

std::unique_ptr<Front> http_front(const HttpAddress& address, Clock::time_point deadline) {
  return std::make_unique<HttpFront>(address, deadline);
}
