// Lines on pipes.
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "front.h"

namespace {

timespec until(Clock::time_point deadline) {
  const auto left = std::max<std::int64_t>(
      0, std::chrono::duration_cast<std::chrono::nanoseconds>(deadline - Clock::now()).count());
  return {.tv_sec = left / 1'000'000'000, .tv_nsec = left % 1'000'000'000};
}

class StdioFront : public Front {
 public:
  explicit StdioFront(ProcessTree& process) : process_(process) { buffer_.resize(1 << 16); }

  void send(std::int64_t, std::string_view message) override {
    pending_ += message;
    pending_ += '\n';
    flush();
  }

  std::optional<Incoming> receive(Clock::time_point deadline) override {
    begin_ = next_;
    for (;;) {
      const void* newline = std::memchr(buffer_.data() + searched_, '\n', filled_ - searched_);
      if (newline != nullptr) {
        const auto end = static_cast<size_t>(static_cast<const char*>(newline) - buffer_.data());
        const std::string_view line(buffer_.data() + begin_, end - begin_);
        next_ = searched_ = end + 1;
        return Incoming{.id = id_of(line), .message = line, .problem = {}, .arrived = arrived_};
      }
      searched_ = filled_;
      if (!read_some(deadline)) return std::nullopt;
    }
  }

 private:
  void flush() {
    while (written_ < pending_.size()) {
      const ssize_t step = write(process_.to(), pending_.data() + written_, pending_.size() - written_);
      if (step < 0 && errno == EAGAIN) return;
      if (step < 0) throw Failure("it stopped reading");
      written_ += static_cast<size_t>(step);
    }
    pending_.clear();
    written_ = 0;
  }

  bool read_some(Clock::time_point deadline) {
    make_room();
    for (;;) {
      pollfd ends[2] = {{.fd = process_.from(), .events = POLLIN, .revents = 0},
                        {.fd = process_.to(), .events = POLLOUT, .revents = 0}};
      const timespec patience = until(deadline);
      const int ready = ppoll(ends, pending_.empty() ? 1 : 2, &patience, nullptr);
      if (ready == 0) return false;
      if (ends[1].revents != 0) flush();
      if (ends[0].revents == 0) continue;
      const ssize_t got = read(process_.from(), buffer_.data() + filled_, buffer_.size() - filled_);
      if (got == 0) throw Failure("it closed its output");
      if (got < 0) continue;
      arrived_ = Clock::now();
      filled_ += static_cast<size_t>(got);
      return true;
    }
  }

  // What was handed out is removed; the incomplete line moves to the front.
  void make_room() {
    if (begin_ > 0) {
      std::memmove(buffer_.data(), buffer_.data() + begin_, filled_ - begin_);
      filled_ -= begin_;
      searched_ -= begin_;
      begin_ = next_ = 0;
    }
    if (filled_ == buffer_.size()) buffer_.resize(2 * buffer_.size());
  }

  ProcessTree& process_;
  std::string pending_;
  size_t written_ = 0;  // of what is waiting
  std::string buffer_;
  size_t begin_ = 0;     // of the line that is being read
  size_t next_ = 0;      // of the line after the one that was handed out
  size_t searched_ = 0;  // no newline before this
  size_t filled_ = 0;
  Clock::time_point arrived_;
};

// After `"id":` at this position there is a number.
std::optional<std::int64_t> number_at(std::string_view message, size_t at) {
  if (at == std::string_view::npos) return std::nullopt;
  std::int64_t id = -1;
  const auto [end, problem] = std::from_chars(message.data() + at + 5, message.data() + message.size(), id);
  return problem == std::errc{} ? std::optional(id) : std::nullopt;
}

}  // namespace

std::unique_ptr<Front> stdio_front(ProcessTree& process) {
  return std::make_unique<StdioFront>(process);
}

// Every subject writes the id within the first or the last bytes of a message. Quotes in any text between
// them are escaped.
std::int64_t id_of(std::string_view message) {
  if (message.substr(0, 80).find("\"method\":") != std::string_view::npos) return -1;
  if (const auto id = number_at(message, message.substr(0, 60).find("\"id\":"))) return *id;
  const std::string_view end = message.substr(message.size() - std::min<size_t>(message.size(), 60));
  return number_at(end, end.rfind("\"id\":")).value_or(-1);
}
