#include "control/control_client.h"

#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <utility>

#include "control/running_mcpivots.h"

namespace mcpivot {

namespace json = boost::json;

namespace {

constexpr std::size_t deepest = 1024;  // as in the messages that mcpivot accepts
constexpr const char* no_answer = "it doesn't answer";

json::object parsed(const std::string& line) {
  json::parse_options options;
  options.max_depth = deepest;
  boost::system::error_code error;
  json::value message = json::parse(line, error, {}, options);
  if (error || !message.is_object())
    throw ControlError("its answer can't be read: " + (error ? error.message() : "it isn't an object"));
  return std::move(message.get_object());
}

}  // namespace

std::vector<ControlClient> ControlClient::connect_all() {
  std::vector<ControlClient> clients;
  for (const RunningMcpivot& mcpivot : running_mcpivots()) {
    const int socket = connect_to(mcpivot.socket, 0);
    if (socket >= 0 || errno == EAGAIN) clients.push_back(ControlClient(socket));
  }
  return clients;
}

ControlClient::ControlClient(ControlClient&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)),
      last_id_(other.last_id_),
      received_(std::move(other.received_)) {}

ControlClient& ControlClient::operator=(ControlClient&& other) noexcept {
  std::swap(socket_, other.socket_);
  std::swap(last_id_, other.last_id_);
  std::swap(received_, other.received_);
  return *this;
}

ControlClient::~ControlClient() {
  if (socket_ >= 0) ::close(socket_);
}

json::value ControlClient::ask(std::string_view method, const json::value& params,
                               const OnNotification& on_notification) {
  if (socket_ < 0) throw ControlError(no_answer);
  json::object request{{"jsonrpc", "2.0"}, {"id", ++last_id_}, {"method", method}};
  if (!params.is_null()) request["params"] = params;
  const std::string line = json::serialize(request) + "\n";
  for (std::size_t sent = 0; sent < line.size();) {
    const ssize_t written = ::send(socket_, line.data() + sent, line.size() - sent, MSG_NOSIGNAL);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) throw ControlEnded("it has ended");
    sent += static_cast<std::size_t>(written);
  }
  while (true) {
    json::object message = parsed(read_line());
    if (message.contains("method")) {
      if (on_notification) on_notification(message);
      continue;
    }
    // A late answer to an abandoned request may come. An error may name no request.
    if (const json::value* id = message.if_contains("id"); id != nullptr && *id != last_id_) continue;
    if (const json::value* error = message.if_contains("error")) {
      const json::value* words = error->is_object() ? error->get_object().if_contains("message") : nullptr;
      throw ControlError(words != nullptr && words->is_string() ? std::string(words->get_string())
                                                                : json::serialize(*error));
    }
    if (const json::value* result = message.if_contains("result")) return *result;
  }
}

void ControlClient::wait_at_most(std::chrono::milliseconds time) {
  const auto seconds = std::chrono::floor<std::chrono::seconds>(time);
  const timeval limit{.tv_sec = seconds.count(),
                      .tv_usec = std::chrono::microseconds(time - seconds).count()};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
}

std::string ControlClient::read_line() {
  while (true) {
    if (const auto newline = received_.find('\n'); newline != std::string::npos) {
      std::string line = received_.substr(0, newline);
      received_.erase(0, newline + 1);
      return line;
    }
    std::array<char, 65536> piece;
    const ssize_t count = ::read(socket_, piece.data(), piece.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) throw ControlError(no_answer);
    if (count <= 0) throw ControlEnded("it ended before it answered");
    received_.append(piece.data(), static_cast<std::size_t>(count));
  }
}

}  // namespace mcpivot
