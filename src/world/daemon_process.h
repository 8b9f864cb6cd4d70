// A daemon that mcpivot starts, in a session of its own, and stops. A lock file makes sure that only one of
// several mcpivots starts it. Its output goes to a file under $XDG_STATE_HOME/mcpivot, which is truncated at
// each start.
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

#include "base/lock_file.h"
#include "base/url.h"
#include "proc/build_runner.h"
#include "server/daemon_keeper.h"
#include "server/timers.h"

namespace mcpivot {

class DaemonProcess final : public DaemonKeeper {
 public:
  DaemonProcess(boost::asio::io_context& loop, Guard& guard, Timers& timers, ConfigRef config);
  ~DaemonProcess() override;
  DaemonProcess(const DaemonProcess&) = delete;
  DaemonProcess& operator=(const DaemonProcess&) = delete;

  void start(bool nobody_listens) override;
  bool starting() const override;
  void arrived() override;
  std::string trouble() const override;
  bool fits(const ServerConfig& config) const override;
  void configure(ConfigRef config) override { config_ = std::move(config); }
  bool can_start() const override { return !config_->http.start.empty(); }
  bool can_stop() const override { return !config_->http.stop.empty() || pid_ != 0; }
  void stop(OnStopped on_stopped) override;
  pid_t pid() const override { return pid_; }
  std::string output(std::size_t lines) const override;

 private:
  bool take_lock();
  bool spawn();
  bool watch();
  void wait_for_exit();
  void on_exit();

  boost::asio::io_context& loop_;
  Guard& guard_;
  ConfigRef config_;
  Url url_;
  std::string output_file_;
  LockFile lock_;
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
