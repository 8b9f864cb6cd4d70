// Watches a server's files with inotify: its globs, or its own executable or script. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <memory>

#include "config/server_config.h"
#include "server/source_watch.h"
#include "watch/file_watcher.h"
#include "watch/replacement_watcher.h"

namespace mcpivot {

class FileSourceWatch final : public SourceWatch {
 public:
  FileSourceWatch(boost::asio::io_context& loop, const ServerConfig& config, Handlers handlers);

  bool unsettled(bool look) override;
  std::optional<std::chrono::system_clock::time_point> last_touched() const override;
  void reload_begins() override;
  void reload_ends() override;

 private:
  std::unique_ptr<FileWatcher> files_;
  std::unique_ptr<ReplacementWatcher> executable_;
};

}  // namespace mcpivot
