// While it exists, only this many more descriptors can be opened.
//
// Sanitizers also need descriptors when they see a class for the first time. So an event loop runs once
// before, and anything else that happens in the meantime should have happened before.
//
// One thread.
#pragma once

#include <sys/resource.h>
#include <unistd.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>

namespace host {

class FewDescriptors {
 public:
  explicit FewDescriptors(int more) {
    poll_a_loop();
    ::getrlimit(RLIMIT_NOFILE, &usual_);
    const int next = ::dup(0);
    ::close(next);
    const rlimit few{static_cast<rlim_t>(next + more), usual_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &few);
  }
  ~FewDescriptors() { ::setrlimit(RLIMIT_NOFILE, &usual_); }
  FewDescriptors(const FewDescriptors&) = delete;
  FewDescriptors& operator=(const FewDescriptors&) = delete;

 private:
  static void poll_a_loop() {
    boost::asio::io_context loop;
    boost::asio::steady_timer timer(loop, std::chrono::hours(1));
    timer.async_wait([](const boost::system::error_code&) {});
    loop.poll();
  }

  rlimit usual_{};
};

}  // namespace host
