// Watches the files that a server is made of: its sources, or without globs its own executable or script; for
// a CLI that is a script, also what lies next to it.
//
// The owner says when a reload begins and ends, so that what a build writes does not start another. One
// thread.
#pragma once

#include <functional>
#include <string>

namespace mcpivot {

class SourceWatch {
 public:
  // `reason` reads like "after a change to src/main.cpp". What was built elsewhere needs no build.
  using OnChange = std::function<void(std::string reason)>;
  struct Handlers {
    OnChange on_sources;
    OnChange on_program;
  };

  virtual ~SourceWatch() = default;
  virtual void reload_begins() = 0;
  virtual void reload_ends() = 0;
};

}  // namespace mcpivot
