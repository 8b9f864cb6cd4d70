// The folders of a tree that are watched and the files in them that are wanted, kept up to date as folders
// come, go and move. It reports which files something happened to; FileWatcher decides what that means.
//
// Large trees are scanned in slices, so that the event loop isn't held up. A folder is watched before it is
// listed, so a file that was created in a new folder before we knew of it is found. A symbolic link to a
// folder is followed only if a glob spells out its name, and a folder that can be reached in two ways is
// watched under the first.
//
// Handlers are called from the event loop or from functions here. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/stamp.h"
#include "watch/inotify.h"
#include "watch/path_trail.h"
#include "watch/selection.h"

namespace mcpivot {

class WatchedTree final : private Inotify::Listener {
 public:
  static constexpr std::size_t most_folders = 64 * 1024;
  static constexpr std::size_t most_files = 256 * 1024;  // whose stamps we keep

  struct Handlers {
    // Something happened to this file. `open`: it was created, and its creator may still be writing.
    std::function<void(const std::string& path, bool open)> touched;
    // Events were lost, or the ignore rules have changed: call rescan().
    std::function<void()> stale;
    std::function<void(std::string)> problem;
  };

  // `root` is absolute; it need not exist yet, and may be a symbolic link.
  WatchedTree(boost::asio::io_context& loop, std::string root, std::vector<Glob> globs, Handlers handlers);
  ~WatchedTree();
  WatchedTree(const WatchedTree&) = delete;
  WatchedTree& operator=(const WatchedTree&) = delete;

  // Processes what the kernel has by now.
  void drain() { inotify_.drain(); }
  // Whether folders are still waiting to be scanned.
  bool scanning() const { return !jobs_.empty(); }
  // Scans everything again, with the ignore rules as they are now.
  void rescan();

  using Files = std::map<std::string, Stamp>;
  // The wanted files, as last seen.
  const Files& files() const { return files_; }
  std::optional<Stamp> known(const std::string& path) const;
  void learn(const std::string& path, const std::optional<Stamp>& stamp);
  // Whether this file, if it exists, should still be reported.
  bool wants(const std::string& path) const;
  std::string absolute(std::string_view path) const;

 private:
  struct Folder {
    std::string path;
    Selection::Scope scope;
  };
  struct Job {
    std::string path;
    Selection::Scope scope;
    bool known_before;  // what is found there isn't a change
  };

  void on_event(int watch, std::uint32_t mask, std::string_view name) override;
  void on_overflow() override { handlers_.stale(); }
  void came(const Folder& folder, const std::string& path, std::uint32_t mask);
  void went(const Folder& folder, const std::string& path, std::uint32_t mask);
  void root_may_have_moved();
  void start_at_root();
  void leave(const std::string& path);
  void unwatch_all();
  void work();
  bool watch(const Job& job);
  std::size_t list(const Job& job);
  bool leads_to_folder(const std::string& path) const;
  void report(int error, const std::string& path);

  boost::asio::io_context& loop_;
  Inotify& inotify_;
  std::string root_;
  Handlers handlers_;
  Selection selection_;
  std::optional<std::pair<dev_t, ino_t>> root_identity_;
  std::unordered_map<int, Folder> folders_;  // by watch
  std::map<std::string, int> watches_;       // by path
  Files files_;
  std::deque<Job> jobs_;
  bool first_scan_ = true;  // is not over yet
  bool working_ = false;
  std::set<int> reported_;  // each problem is reported once
  std::shared_ptr<WatchedTree*> self_ = std::make_shared<WatchedTree*>(this);
  std::unique_ptr<PathTrail> trail_;
};

}  // namespace mcpivot
