// Reports, once things are quiet, which files under a folder have changed, of those that globs select: what
// starts a rebuild when somebody saves.
//
// A change is a file that is new, is gone, or has another inode, size or modification time than before the
// burst of events: so a rename-over save is one change, and an editor's file that comes and goes is none.
// Attributes (chmod) don't count. What .gitignore files hide is not even watched (see IgnoreRules for the
// exceptions); what builds write is left out (see BuildOutput for the rule). If the kernel loses events,
// everything is compared again.
//
//   watcher.begin_build();  run the build;  watcher.end_build();
//
// Changes that are still unreported when a build begins are part of it, and are not reported. Changes from
// then until things are quiet after end_build() are sorted, and those that call for another build are
// reported then. What the kernel has by end_build() counts as written during the build.
//
// Handlers are called from the event loop, never from within a function here, and may destroy the watcher.
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "glob/glob.h"

namespace mcpivot {

class FileWatcher {
 public:
  struct Options {
    std::chrono::milliseconds quiet{200};  // how long nothing must happen before changes are reported
    std::chrono::milliseconds longest_burst{10'000};  // after which they are reported anyway
  };
  // Paths relative to the root, sorted; never empty.
  using OnChange = std::function<void(std::vector<std::string> changed)>;
  // What is not watched, why, and what to do. Once for each kind of problem; the rest goes on.
  using OnProblem = std::function<void(std::string)>;
  // Things are quiet: every change has been reported.
  using OnSettled = std::function<void()>;
  // This file changes in every build, so it no longer triggers one; the last change may be an edit, though.
  using OnLeftOut = std::function<void(const std::string& path)>;

  // The root may be missing: it is watched once it appears. What is there now doesn't count as a change.
  FileWatcher(boost::asio::io_context& loop, const std::string& root, std::vector<Glob> globs,
              Options options, OnChange on_change, OnProblem on_problem, OnSettled on_settled = {},
              OnLeftOut on_left_out = {});
  ~FileWatcher();
  FileWatcher(const FileWatcher&) = delete;
  FileWatcher& operator=(const FileWatcher&) = delete;

  // One build at a time; a second begin_build() implies that the first is over.
  void begin_build();
  void end_build();

  // Files were touched, and things aren't quiet yet. `look`: also count what the kernel has not delivered
  // yet.
  bool unsettled(bool look);
  // When a file was last touched, whether that was a change or not; before that, when we began to watch.
  std::chrono::system_clock::time_point last_touched() const;

 private:
  class Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace mcpivot
