// Watches the files that make up a server: its sources or, without globs, its own executable or script; for a
// CLI that is a script, also the files next to it.
//
// The owner says when a reload begins and ends, so that what a build writes doesn't trigger another. One
// thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>

namespace mcpivot {

class SourceWatch {
 public:
  // `reason`: "after a change to src/main.cpp". What was built elsewhere needs no build.
  using OnChange = std::function<void(std::string reason)>;
  struct Handlers {
    OnChange on_sources;
    OnChange on_program;
    // Things are settled: changes have been reported, or there were none. May be called more than once.
    std::function<void()> on_settled;
    // This file changed again while something was built, and is no longer built for that; it may have been
    // edited, though.
    std::function<void(const std::string& path)> on_left_out;
  };

  virtual ~SourceWatch() = default;
  // Something was written, and it isn't known yet whether that is a change. `look`: also count what the
  // kernel has not delivered yet.
  virtual bool unsettled(bool look) = 0;
  // When one of the sources was last written, created or removed, as far as known.
  virtual std::optional<std::chrono::system_clock::time_point> last_touched() const = 0;
  virtual void reload_begins() = 0;
  virtual void reload_ends() = 0;
};

}  // namespace mcpivot
