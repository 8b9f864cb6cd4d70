// A timer that rings once for each time it is set, and never after it was cancelled, set again or destroyed.
// Asio's own may: one that has run out calls its handler without an error, even if it is cancelled between.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

namespace mcpivot {

class Alarm {
 public:
  explicit Alarm(boost::asio::io_context& loop) : timer_(loop) {}
  ~Alarm() { cancel(); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(std::chrono::steady_clock::time_point when, std::function<void()> ring) {
    const std::uint64_t time = ++*last_;
    timer_.expires_at(when);
    timer_.async_wait([last = last_, time, ring = std::move(ring)](const boost::system::error_code& error) {
      if (!error && *last == time) ring();
    });
  }
  void set(std::chrono::milliseconds after, std::function<void()> ring) {
    set(std::chrono::steady_clock::now() + after, std::move(ring));
  }
  void cancel() {
    ++*last_;
    timer_.cancel();
  }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<std::uint64_t> last_ = std::make_shared<std::uint64_t>(0);  // which setting counts
};

}  // namespace mcpivot
