// Watches a server's files with inotify: its globs, or its own executable or script. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "server/config.h"
#include "server/source_watch.h"
#include "watch/executable_watcher.h"
#include "watch/file_watcher.h"

namespace mcpivot {

class FileSourceWatch final : public SourceWatch {
 public:
  FileSourceWatch(boost::asio::io_context& loop, const ServerConfig& config, Handlers handlers);

  void reload_begins() override;
  void reload_ends() override;

 private:
  std::unique_ptr<FileWatcher> files_;
  std::unique_ptr<ExecutableWatcher> executable_;
};

}  // namespace mcpivot
