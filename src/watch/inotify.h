// The kernel's file events, for all watchers on one event loop: the system allows a user 128 inotify
// instances and a limited number of watched folders, so all watchers of a process share one instance, and a
// folder that two of them want is watched once.
//
//   Inotify& inotify = Inotify::of(loop);
//
// Lives as long as the loop, and keeps it running only while something is watched. One thread.
#pragma once

#include <sys/inotify.h>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

class Inotify : public boost::asio::execution_context::service {
 public:
  // Must remove its watches before it is destroyed. Listeners and watches may be added and removed during a
  // call.
  class Listener {
   public:
    // IN_IGNORED: the watch is gone. An event has at least one flag that was asked for.
    virtual void on_event(int watch, std::uint32_t mask, std::string_view name) = 0;
    // Events were lost: anything may have happened.
    virtual void on_overflow() = 0;

   protected:
    ~Listener() = default;
  };

  static Inotify& of(boost::asio::io_context& loop);

  // The number of the watch, which is the same for one folder, for every caller and path; or an
  // errno.
  std::expected<int, int> add(Listener& listener, const std::string& path, std::uint32_t mask);
  void remove(Listener& listener, int watch);
  // Delivers what the kernel has by now.
  void drain();

  // What to tell a person when add() failed for this path, and what they can do.
  static std::string problem(int error, const std::string& path);

  // Only for the loop.
  static inline boost::asio::execution_context::id id;
  explicit Inotify(boost::asio::io_context& loop);

 private:
  struct Subscription {
    Listener* listener;
    std::uint32_t mask;
  };

  void shutdown() override;
  bool open();
  void wait();
  void deliver(const inotify_event& event);
  Subscription* find(int watch, const Listener* listener);
  void stop_if_unused();

  boost::asio::posix::stream_descriptor descriptor_;
  std::map<int, std::vector<Subscription>> watches_;
  bool waiting_ = false;
  unsigned opened_ = 0;  // how many times: watch numbers start over each time
};

}  // namespace mcpivot
