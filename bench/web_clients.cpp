#include "web_clients.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t at_once = 64;  // handshakes
constexpr size_t small = 1000;  // texts up to this size travel both ways
constexpr auto patience = seconds(20);

int connect_to(std::uint16_t port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || connect(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0)
    throw Failure(std::string("can't connect: ") + std::strerror(errno));
  const int one = 1;
  setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
  return fd;
}

}  // namespace

size_t WebClients::Calls::lost() const {
  return static_cast<size_t>(std::ranges::count_if(all, [](const Call& call) { return call.us < 0; }));
}

double WebClients::Calls::per_second() const {
  return static_cast<double>(all.size() - lost()) / seconds;
}

std::vector<double> WebClients::Calls::times_us() const {
  std::vector<double> times;
  for (const Call& call : all)
    if (call.us >= 0) times.push_back(call.us);
  return times;
}

WebClients::WebClients(const HttpAddress& address)
    : address_(address), loop_(epoll_create1(EPOLL_CLOEXEC)), buffer_(1 << 16) {}

WebClients::~WebClients() {
  for (const auto& [fd, connection] : connections_) close(fd);
  close(loop_);
}

// --- connections -------------------------------------------------------------------------------------------

WebClients::Connection& WebClients::idle() {
  while (!idle_.empty()) {
    const int fd = idle_.back();
    idle_.pop_back();
    // Servers may close connections that were idle for some seconds.
    char byte = 0;
    if (recv(fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) < 0 && errno == EAGAIN) return connections_.at(fd);
    drop(fd);
  }
  const int fd = connect_to(address_.port);
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(loop_, EPOLL_CTL_ADD, fd, &event);
  Connection& connection = connections_[fd];
  connection.fd = fd;
  return connection;
}

void WebClients::drop(int fd) {
  std::erase(idle_, fd);
  connections_.erase(fd);
  close(fd);
}

void WebClients::send(Connection& connection, For use, size_t client, std::string_view method,
                      std::string_view headers, std::string_view body) {
  connection.use = use;
  connection.client = client;
  connection.answer = HttpAnswer();
  connection.said.clear();
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: 127.0.0.1:{}\r\n{}{}", method, address_.path,
                                    address_.port, headers, clients_[client].headers);
  if (!body.empty()) request += fmt::format("Content-Length: {}\r\n", body.size());
  request.append("\r\n").append(body);
  if (::send(connection.fd, request.data(), request.size(), MSG_NOSIGNAL) !=
      static_cast<ssize_t>(request.size()))
    on_lost(connection, "the connection was closed");
}

constexpr std::string_view post_headers =
    "Accept: application/json, text/event-stream\r\nContent-Type: application/json\r\n";

void WebClients::read_until(Clock::time_point until) {
  const auto left = std::max(until - Clock::now(), Clock::duration::zero());
  const timespec time{.tv_sec = std::chrono::duration_cast<seconds>(left).count(),
                      .tv_nsec = std::chrono::nanoseconds(left % seconds(1)).count()};
  pollfd ready{.fd = loop_, .events = POLLIN, .revents = 0};
  if (ppoll(&ready, 1, &time, nullptr) != 1) return;
  std::array<epoll_event, 256> events{};
  const int count = epoll_wait(loop_, events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) read_from(events[static_cast<size_t>(i)].data.fd);
}

void WebClients::read_from(int fd) {
  const auto found = connections_.find(fd);
  if (found == connections_.end()) return;
  Connection& connection = found->second;
  const ssize_t got = recv(fd, buffer_.data(), buffer_.size(), 0);
  if (got <= 0) return on_lost(connection, "the connection was closed");
  const bool began = connection.answer.has_head();
  connection.answer.take({buffer_.data(), static_cast<size_t>(got)});
  if (!connection.answer.has_head()) return;
  if (!began && connection.use == For::stream) {
    --opening_;
    if (connection.answer.status() == 200)
      clients_[connection.client].listens = true;
    else if (trouble_.empty())
      trouble_ = fmt::format("a stream: HTTP {}", connection.answer.status());
  }
  if (connection.answer.is_stream()) {
    connection.answer.read_events([&](std::string_view, std::string_view data) {
      if (connection.use != For::stream) connection.said = data;
      if (data.find("notifications/tools/list_changed") != std::string_view::npos)
        ++clients_[connection.client].list_changes;
    });
  }
  if (connection.answer.has_ended()) on_ended(connection);
}

void WebClients::on_ended(Connection& connection) {
  const HttpAnswer& answer = connection.answer;
  if (connection.said.empty()) connection.said = answer.body();
  const std::string problem =
      answer.status() >= 400 ? fmt::format("HTTP {}: {}", answer.status(), connection.said.substr(0, 200))
                             : std::string();
  const For use = std::exchange(connection.use, For::nothing);
  Client& client = clients_[connection.client];
  const size_t number = connection.client;
  if (!problem.empty() && use != For::call && trouble_.empty()) trouble_ = problem;
  std::string session = answer.header("mcp-session-id");
  if (use == For::stream) client.listens = false;
  if (use == For::list) --shaking_hands_;
  if (answer.closes()) {
    if (use == For::call) on_call_ended(connection, problem);
    drop(connection.fd);
  } else {
    idle_.push_back(connection.fd);
    if (use == For::call) on_call_ended(connection, problem);
  }
  if (use == For::initialized)
    send(idle(), For::list, number, "POST", post_headers,
         R"({"jsonrpc":"2.0","id":1,"method":"tools/list"})");
  if (use != For::initialize) return;
  client.headers = "MCP-Protocol-Version: 2025-06-18\r\n";
  if (!session.empty()) client.headers += "Mcp-Session-Id: " + session + "\r\n";
  send(idle(), For::initialized, number, "POST", post_headers,
       R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
}

void WebClients::on_lost(Connection& connection, const std::string& why) {
  const For use = std::exchange(connection.use, For::nothing);
  if (use == For::call) on_call_ended(connection, why);
  if (use == For::stream) {
    if (!connection.answer.has_head()) --opening_;
    clients_[connection.client].listens = false;
  }
  if (use == For::initialize || use == For::initialized || use == For::list) --shaking_hands_;
  if (use != For::nothing && use != For::call && trouble_.empty()) trouble_ = why;
  drop(connection.fd);
}

void WebClients::await(const std::function<bool()>& done, std::string_view what) {
  const auto deadline = Clock::now() + patience;
  while (!done()) {
    if (!trouble_.empty()) throw Failure(fmt::format("{}: {}", what, trouble_));
    if (Clock::now() > deadline) throw Failure(fmt::format("{}: not within {} s", what, patience.count()));
    read_until(deadline);
  }
}

// --- clients -----------------------------------------------------------------------------------------------

void WebClients::open(size_t count) {
  for (size_t i = 0; i < count; ++i) {
    await([&] { return shaking_hands_ < at_once; }, "handshakes");
    clients_.emplace_back();
    shake_hands(clients_.size() - 1);
  }
  await([&] { return shaking_hands_ == 0; }, "handshakes");
}

void WebClients::shake_hands(size_t client) {
  ++shaking_hands_;
  send(idle(), For::initialize, client, "POST", post_headers,
       R"({"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",)"
       R"("capabilities":{},"clientInfo":{"name":"bench","version":"1"}}})");
}

void WebClients::listen(size_t count) {
  const size_t first = clients_.size() - std::min(count, clients_.size());
  for (size_t i = first; i < clients_.size(); ++i) {
    await([&] { return opening_ < at_once; }, "streams");
    ++opening_;
    send(idle(), For::stream, i, "GET", "Accept: text/event-stream\r\n", {});
  }
  await([&] { return opening_ == 0; }, "streams");
}

void WebClients::wait(Clock::duration time) {
  const auto until = Clock::now() + time;
  while (Clock::now() < until) read_until(until);
}

void WebClients::leave(Farewell farewell) {
  for (const auto& [fd, connection] : connections_) {
    const int on = 1;
    // In this state a socket is closed without the kernel telling its peer.
    const bool silent =
        farewell == Farewell::silent && setsockopt(fd, IPPROTO_TCP, TCP_REPAIR, &on, sizeof(on)) == 0;
    const linger at_once_{.l_onoff = 1, .l_linger = 0};
    if (!silent && farewell != Farewell::proper)
      setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once_, sizeof(at_once_));
    close(fd);
  }
  connections_.clear();
  idle_.clear();
  clients_.clear();
}

size_t WebClients::streams() const {
  return static_cast<size_t>(std::ranges::count_if(clients_, &Client::listens));
}

std::vector<size_t> WebClients::take_list_changes() {
  std::vector<size_t> all;
  for (Client& client : clients_) all.push_back(std::exchange(client.list_changes, 0));
  return all;
}

// --- calls -------------------------------------------------------------------------------------------------

void WebClients::begin_call(Calls& calls, size_t client, size_t answer_size, Clock::time_point due) {
  const std::int64_t id = ++clients_[client].last_id;
  const std::string own = fmt::format("client {} call {} ", client, id);
  Connection& connection = idle();
  connection.id = id;
  connection.call = calls.all.size();
  connection.expected = answer_size > small
                            ? std::string()
                            : own + std::string(answer_size - std::min(answer_size, own.size()), 'x');
  connection.least = answer_size;
  const std::string arguments = connection.expected.empty()
                                    ? fmt::format(R"({{"size":{}}})", answer_size)
                                    : fmt::format(R"({{"text":"{}"}})", connection.expected);
  calls.all.push_back({.begun = due});
  ++calls_open_;
  send(connection, For::call, client, "POST", post_headers,
       fmt::format(
           R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{}}}}})",
           id, arguments));
}

void WebClients::on_call_ended(Connection& connection, const std::string& problem) {
  if (calls_ == nullptr) return;
  --calls_open_;
  const bool good = problem.empty() && id_of(connection.said) == connection.id &&
                    connection.said.find(connection.expected) != std::string::npos &&
                    connection.said.size() >= connection.least;
  if (good) {
    Call& call = calls_->all[connection.call];
    call.us = microseconds(Clock::now() - call.begun);
  } else if (calls_->problem.empty()) {
    calls_->problem = problem.empty() ? connection.said.substr(0, 300) : problem;
  }
  if (on_answered_) on_answered_(connection.client);
}

WebClients::Calls WebClients::call_in_turn(Clock::duration time, size_t answer_size) {
  Calls calls;
  calls_ = &calls;
  calls_open_ = 0;
  std::vector<size_t> free;
  on_answered_ = [&](size_t client) { free.push_back(client); };
  for (size_t i = 0; i < clients_.size(); ++i) free.push_back(i);
  const auto begin = Clock::now();
  const auto deadline = begin + time + patience;
  do {
    const bool more = Clock::now() - begin < time;
    for (const size_t client : std::exchange(free, {}))
      if (more) begin_call(calls, client, answer_size, Clock::now());
    if (calls_open_ > 0) read_until(deadline);
  } while (calls_open_ > 0 && Clock::now() < deadline);
  calls.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  on_answered_ = {};
  calls_ = nullptr;
  return calls;
}

WebClients::Calls WebClients::call_at_pace(double per_second, Clock::duration time,
                                           std::vector<Event> events) {
  Calls calls;
  calls_ = &calls;
  calls_open_ = 0;
  const auto begin = Clock::now();
  const auto due = [&] {
    return begin + std::chrono::duration_cast<Clock::duration>(
                       std::chrono::duration<double>(static_cast<double>(calls.all.size()) / per_second));
  };
  auto event = events.begin();
  for (; Clock::now() - begin < time; read_until(due())) {
    for (; event != events.end() && Clock::now() - begin >= event->after; ++event) event->happens();
    while (due() <= Clock::now()) begin_call(calls, calls.all.size() % clients_.size(), 100, due());
  }
  for (const auto deadline = Clock::now() + patience; calls_open_ > 0 && Clock::now() < deadline;)
    read_until(deadline);
  calls.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  calls_ = nullptr;
  return calls;
}
