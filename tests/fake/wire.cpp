// Reading by poll, and writing with the id where the options want it.
#include "wire.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <vector>

namespace fake {
namespace {

namespace json = boost::json;
using Clock = std::chrono::steady_clock;

int open_or_die(const std::string& file, int flags) {
  const int fd = open(file.c_str(), flags | O_CLOEXEC, 0600);
  if (fd < 0) {
    std::perror(file.c_str());
    _exit(2);
  }
  return fd;
}

void write_all(int fd, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t wrote = write(fd, bytes.data(), bytes.size());
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote < 0) return;  // nobody is listening anymore; EOF on stdin will show that
    bytes.remove_prefix(static_cast<std::size_t>(wrote));
  }
}

int poll_timeout(std::optional<Clock::time_point> wake) {
  if (!wake) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*wake - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 60'000));
}

}  // namespace

bool Lines::read_from(int fd) {
  std::array<char, 65536> chunk{};
  const ssize_t got = read(fd, chunk.data(), chunk.size());
  if (got < 0) return errno == EINTR || errno == EAGAIN;
  buffer_.append(chunk.data(), static_cast<std::size_t>(got));
  return got > 0;
}

void Lines::take(const std::function<void(std::string_view)>& on_line) {
  std::size_t start = 0;
  for (std::size_t end = 0; (end = buffer_.find('\n', searched_)) != std::string::npos;) {
    on_line(std::string_view(buffer_).substr(start, end - start));
    start = searched_ = end + 1;
  }
  buffer_.erase(0, start);
  searched_ = buffer_.size();
}

Wire::Wire(const Options& options) : options_(options) {
  if (!options.tap.empty()) tap_ = open_or_die(options.tap, O_WRONLY | O_CREAT | O_APPEND);
  // Opened for both, so that it never ends when a test closes its side.
  if (!options.inject.empty()) inject_ = open_or_die(options.inject, O_RDWR | O_NONBLOCK);
}

std::string Wire::id_text(const json::value& id) const {
  std::string text = json::serialize(id);
  if (options_.float_ids && (id.is_int64() || id.is_uint64())) text += ".0";
  return text;
}

void Wire::line(std::string text) {
  text += options_.crlf ? "\r\n" : "\n";
  raw(text);
}

void Wire::raw(std::string_view bytes) {
  write_all(STDOUT_FILENO, bytes);
}

void Wire::close_stdout() {
  close(STDOUT_FILENO);
}

void Wire::result(const json::value& id, const json::value& result) {
  const std::string body = "\"result\":" + json::serialize(result);
  line(options_.id_last ? "{" + body + R"(,"jsonrpc":"2.0","id":)" + id_text(id) + "}"
                        : R"({"jsonrpc":"2.0","id":)" + id_text(id) + "," + body + "}");
}

void Wire::error(const json::value& id, int code, std::string_view message, const json::value& data) {
  json::object error = {{"code", code}, {"message", message}};
  if (!data.is_null()) error["data"] = data;
  const std::string body = "\"error\":" + json::serialize(error);
  const std::string id_field = id.is_null() ? "" : R"("id":)" + id_text(id);
  if (id.is_null()) {
    line(R"({"jsonrpc":"2.0",)" + body + "}");
  } else {
    line(options_.id_last ? "{" + body + R"(,"jsonrpc":"2.0",)" + id_field + "}"
                          : R"({"jsonrpc":"2.0",)" + id_field + "," + body + "}");
  }
}

void Wire::request(const json::value& id, std::string_view method, const json::value& params) {
  const std::string body = "\"method\":" + json::serialize(method) +
                           (params.is_null() ? "" : ",\"params\":" + json::serialize(params));
  const std::string text = json::serialize(id);
  line(options_.id_last ? "{" + body + R"(,"jsonrpc":"2.0","id":)" + text + "}"
                        : R"({"jsonrpc":"2.0","id":)" + text + "," + body + "}");
}

void Wire::notify(std::string_view method, const json::value& params) {
  line(R"({"jsonrpc":"2.0","method":)" + json::serialize(method) +
       (params.is_null() ? "" : ",\"params\":" + json::serialize(params)) + "}");
}

bool Wire::wait(std::optional<Clock::time_point> wake, const std::function<void(std::string_view)>& on_line) {
  std::array<pollfd, 2> fds = {
      {{ended_ || stopped_ ? -1 : STDIN_FILENO, POLLIN, 0}, {inject_, POLLIN, 0}}};  // -1 is skipped
  if (poll(fds.data(), fds.size(), poll_timeout(wake)) <= 0) return true;
  if (fds[1].revents != 0) read_inject();
  return fds[0].revents == 0 || read_stdin(on_line);
}

bool Wire::read_stdin(const std::function<void(std::string_view)>& on_line) {
  ended_ = !received_.read_from(STDIN_FILENO);
  if (ended_ && !options_.ignore_eof) return false;
  received_.take([&](std::string_view text) {
    if (stopped_) return;
    if (tap_ >= 0) write_all(tap_, std::string(text) + "\n");
    on_line(text);
  });
  return true;
}

void Wire::read_inject() {
  injected_.read_from(inject_);
  injected_.take([&](std::string_view text) { raw(std::string(text) + "\n"); });
}

}  // namespace fake
