// Starts a daemon when nobody else does, and stops it when that is ours to do. The daemon is no child that we
// care for: it stands in a session of its own and outlives us.
//
// Several mcpivots may want the same daemon; a lock file lets only one of them start it. What the daemon
// prints goes to a file under $XDG_STATE_HOME/mcpivot, which begins anew with each start.
//
// One thread.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "link/url.h"
#include "proc/build_runner.h"
#include "server/alarm.h"
#include "server/config.h"

namespace mcpivot {

class DaemonKeeper {
 public:
  DaemonKeeper(boost::asio::io_context& loop, Guard& guard, ConfigRef config);
  ~DaemonKeeper();
  DaemonKeeper(const DaemonKeeper&) = delete;
  DaemonKeeper& operator=(const DaemonKeeper&) = delete;

  // Starts it, unless another mcpivot is at it. `nobody_listens`: make sure of that first.
  void start(bool nobody_listens);
  // It has been started, by us or another, and has still time to come up.
  bool starting() const;
  // It is there.
  void arrived();
  // What became of the last start, if it came to nothing.
  std::string trouble() const;

  // Whether the daemon that it keeps is the one that this configuration names; then it may have it.
  bool fits(const ServerConfig& config) const;
  void configure(ConfigRef config) { config_ = std::move(config); }
  bool can_start() const { return !config_->http.start.empty(); }
  bool can_stop() const { return !config_->http.stop.empty() || pid_ != 0; }
  // `how` says what was done, or why that failed.
  using OnStopped = std::function<void(bool ok, const std::string& how)>;
  void stop(OnStopped on_stopped);

  // The process that we started, if it runs.
  pid_t pid() const { return pid_; }
  // The last lines that it printed.
  std::string output(std::size_t lines) const;

 private:
  bool take_lock();
  void release_lock();
  bool spawn();
  void watch();
  void wait_for_exit();
  void on_exit();

  boost::asio::io_context& loop_;
  Guard& guard_;
  ConfigRef config_;
  Url url_;
  std::string output_file_;
  std::string lock_file_;
  int lock_ = -1;
  pid_t pid_ = 0;
  boost::asio::posix::stream_descriptor pidfd_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>();  // gone with us
  Alarm patience_;
  std::shared_ptr<BuildRunner> stopper_;
  OnStopped on_stopped_;
  std::chrono::steady_clock::time_point began_{};
  bool waiting_ = false;  // for it to come up
  std::string trouble_;
};

}  // namespace mcpivot
