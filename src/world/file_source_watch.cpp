#include "world/file_source_watch.h"

#include <fmt/format.h>

#include <filesystem>

#include "log/log.h"
#include "server/executable.h"
#include "world/script_files.h"

namespace mcpivot {
namespace {

std::string list_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths.front();
  return fmt::format("{} and {} more", paths.front(), paths.size() - 1);
}

}  // namespace

FileSourceWatch::FileSourceWatch(boost::asio::io_context& loop, const ServerConfig& config,
                                 Handlers handlers) {
  auto on_problem = [name = config.name](const std::string& problem) { log_warn("{}: {}", name, problem); };
  const auto script = config.cli && config.watch.empty() ? script_files(config.command) : std::nullopt;
  if (!config.watch.empty() || script) {
    std::vector<Glob> globs;
    for (const std::string& pattern : script ? script->globs : config.watch) {
      auto glob = Glob::compile(pattern);
      if (glob) {
        globs.push_back(std::move(*glob));
      } else {
        on_problem(glob.error());
      }
    }
    files_ = std::make_unique<FileWatcher>(
        loop, script ? script->folder : in_folder(config.command, ".").lexically_normal().string(),
        std::move(globs), FileWatcher::Options(),
        [name = config.name,
         on_change = std::move(handlers.on_sources)](const std::vector<std::string>& changed) {
          log_info("{}: changed: {}", name, list_of(changed));
          on_change("after a change to " + list_of(changed));
        },
        on_problem, handlers.on_settled,
        [name = config.name, on_left_out = std::move(handlers.on_left_out)](const std::string& path) {
          log_warn("{}: {} keeps changing during builds, and no longer triggers one", name, path);
          on_left_out(path);
        });
    return;
  }
  const std::string file = own_file(config.command);
  if (file.empty()) return;
  executable_ = std::make_unique<ReplacementWatcher>(
      loop, file, ReplacementWatcher::Options(),
      [name = config.name, file, on_change = std::move(handlers.on_program)] {
        log_info("{}: replaced: {}", name, file);
        on_change(file + " was replaced");
      },
      on_problem, handlers.on_settled);
}

bool FileSourceWatch::unsettled(bool look) {
  if (files_) return files_->unsettled(look);
  return executable_ && executable_->unsettled(look);
}

// Without globs, nothing is known about sources.
std::optional<std::chrono::system_clock::time_point> FileSourceWatch::last_touched() const {
  if (!files_) return std::nullopt;
  return files_->last_touched();
}

void FileSourceWatch::reload_begins() {
  if (files_) files_->begin_build();
  if (executable_) executable_->take_up();
}

void FileSourceWatch::reload_ends() {
  if (files_) files_->end_build();
}

}  // namespace mcpivot
