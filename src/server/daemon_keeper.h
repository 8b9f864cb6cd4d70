// Starts a daemon when nobody else does, and stops it when that is our job. The daemon isn't a child that
// ends with us: it outlives us. Several mcpivots may want the same daemon; only one of them starts it.
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

  // Starts it, unless another mcpivot is doing so. `nobody_listens`: check that first.
  virtual void start(bool nobody_listens) = 0;
  // It has been started, by us or another mcpivot, and still has time to come up.
  virtual bool starting() const = 0;
  // It is up.
  virtual void arrived() = 0;
  // Why the last start failed, if it did.
  virtual std::string trouble() const = 0;

  // Whether its daemon is the one that this configuration names; then the keeper can be kept.
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
