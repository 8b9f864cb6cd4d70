// Starts a daemon when nobody else does, and stops it when that is ours to do. The daemon is no child that we
// care for: it outlives us. Several mcpivots may want the same daemon; only one of them starts it.
//
// One thread.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>

#include "config/server_config.h"

namespace mcpivot {

class DaemonKeeper {
 public:
  virtual ~DaemonKeeper() = default;

  // Starts it, unless another mcpivot is at it. `nobody_listens`: make sure of that first.
  virtual void start(bool nobody_listens) = 0;
  // It has been started, by us or another, and has still time to come up.
  virtual bool starting() const = 0;
  // It is there.
  virtual void arrived() = 0;
  // What became of the last start, if it came to nothing.
  virtual std::string trouble() const = 0;

  // Whether the daemon that it keeps is the one that this configuration names; then it may have it.
  virtual bool fits(const ServerConfig& config) const = 0;
  virtual void configure(ConfigRef config) = 0;
  virtual bool can_start() const = 0;
  virtual bool can_stop() const = 0;
  // `how` says what was done, or why that failed.
  using OnStopped = std::function<void(bool ok, const std::string& how)>;
  virtual void stop(OnStopped on_stopped) = 0;

  // The process that we started, if it runs.
  virtual pid_t pid() const = 0;
  // The last lines that it printed.
  virtual std::string output(std::size_t lines) const = 0;
};

}  // namespace mcpivot
