// A build that no other mcpivot runs at the same time: two windows on one folder have the same sources, the
// same build and the same output. The second mcpivot waits; if the first build was not cut short and began
// after the last save, the second one uses its result.
//
// The lock is a file per folder, command line and environment, in the runtime folder;
// it ends with its holder. If it can't be created, the build runs without it. One
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <memory>
#include <optional>
#include <string>

#include "base/lock_file.h"
#include "config/server_config.h"
#include "proc/build_runner.h"
#include "server/world.h"

namespace mcpivot {

class LockedBuild final : public Build, public std::enable_shared_from_this<LockedBuild> {
 public:
  LockedBuild(boost::asio::io_context& loop, Guard& guard, const ServerConfig& config, Handlers handlers,
              LastSave last_save);
  ~LockedBuild() override;
  LockedBuild(const LockedBuild&) = delete;
  LockedBuild& operator=(const LockedBuild&) = delete;

  void start();
  void stop(const std::string& why) override;

 private:
  LockFile::Taken take_lock();
  void look();
  void look_later(std::chrono::milliseconds time);
  void run();
  void finish(const Result& result);
  // What the previous holder of the lock has built, if we can use it.
  std::optional<Result> result_of_other();
  void leave_result(const Result& result) const;

  boost::asio::io_context& loop_;
  Guard& guard_;
  std::string line_;
  Command where_;
  std::chrono::milliseconds limit_;
  Handlers handlers_;
  LastSave last_save_;
  LockFile lock_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point asked_;
  std::chrono::system_clock::time_point began_;
  bool told_ = false;                   // that it waits
  std::optional<std::string> stopped_;  // while it waits: why
  std::shared_ptr<BuildRunner> runner_;
};

}  // namespace mcpivot
