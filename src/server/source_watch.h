// Swaps a server when its sources, or without globs its own executable or script, change on disk; for a CLI
// that is a script, also what lies beside it.
//
// The owner must say when a reload begins and ends, so that what a build writes does not start another. One
// thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/config.h"
#include "watch/executable_watcher.h"
#include "watch/file_watcher.h"

namespace mcpivot {

class SourceWatch {
 public:
  // `reason` reads like "after a change of src/main.cpp". What was built elsewhere needs no build.
  using OnChange = std::function<void(std::string reason)>;
  struct Handlers {
    OnChange on_sources;
    OnChange on_program;
  };
  SourceWatch(boost::asio::io_context& loop, const ServerConfig& config, Handlers handlers);

  void reload_begins();
  void reload_ends();

 private:
  std::unique_ptr<FileWatcher> files_;
  std::unique_ptr<ExecutableWatcher> executable_;
};

}  // namespace mcpivot
