#include "watch/watched_tree.h"

#include <dirent.h>

#include <boost/asio/post.hpp>
#include <cerrno>
#include <filesystem>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::uint32_t gone = IN_DELETE | IN_MOVED_FROM;
constexpr std::uint32_t wanted_events = IN_CLOSE_WRITE | IN_CREATE | IN_MOVED_TO | gone;
constexpr std::size_t entries_per_turn = 2'000;

std::string join(std::string_view folder, std::string_view name) {
  if (folder.empty()) return std::string(name);
  return std::string(folder) + "/" + std::string(name);
}

std::string real_path(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path real = std::filesystem::canonical(path, failed);
  return failed ? path : real.string();
}

}  // namespace

WatchedTree::WatchedTree(boost::asio::io_context& loop, std::string root, std::vector<Glob> globs,
                         Handlers handlers)
    : loop_(loop),
      inotify_(Inotify::of(loop)),
      root_(std::move(root)),
      handlers_(std::move(handlers)),
      selection_("", std::move(globs)) {
  trail_ = std::make_unique<PathTrail>(
      loop, root_, 0, [this](std::uint32_t) { root_may_have_moved(); }, handlers_.problem);
  start_at_root();
}

WatchedTree::~WatchedTree() {
  unwatch_all();
}

std::string WatchedTree::absolute(std::string_view path) const {
  return join(root_, path);
}

std::optional<Stamp> WatchedTree::known(const std::string& path) const {
  const auto found = files_.find(path);
  return found == files_.end() ? std::nullopt : std::optional(found->second);
}

void WatchedTree::learn(const std::string& path, const std::optional<Stamp>& stamp) {
  if (!stamp)
    files_.erase(path);
  else if (files_.size() < most_files || files_.contains(path))
    files_.insert_or_assign(path, *stamp);
}

bool WatchedTree::wants(const std::string& path) const {
  const std::size_t slash = path.rfind('/');
  const auto watch = watches_.find(slash == std::string::npos ? "" : path.substr(0, slash));
  return watch != watches_.end() && selection_.wants(folders_.at(watch->second).scope, path);
}

void WatchedTree::rescan() {
  unwatch_all();
  start_at_root();
}

void WatchedTree::start_at_root() {
  struct stat info{};
  const bool exists = ::stat(root_.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  root_identity_ = exists ? std::optional(std::pair(info.st_dev, info.st_ino)) : std::nullopt;
  if (!exists) {
    first_scan_ = false;
    return;
  }
  jobs_.push_back({"", selection_.start(real_path(root_)), first_scan_});
  if (!working_) work();
}

void WatchedTree::root_may_have_moved() {
  struct stat info{};
  const bool exists = ::stat(root_.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
  if (exists && root_identity_ == std::pair(info.st_dev, info.st_ino)) return;
  if (!exists && !root_identity_) return;
  jobs_.clear();
  leave("");
  start_at_root();
}

void WatchedTree::unwatch_all() {
  jobs_.clear();
  for (const auto& [watch, folder] : folders_) inotify_.remove(*this, watch);
  folders_.clear();
  watches_.clear();
}

// The folder, with everything in it, is no longer where it was.
void WatchedTree::leave(const std::string& path) {
  const std::string within = path.empty() ? "" : path + "/";
  const auto forget = [this](std::map<std::string, int>::iterator at) {
    inotify_.remove(*this, at->second);
    folders_.erase(at->second);
    return watches_.erase(at);
  };
  if (const auto itself = watches_.find(path); itself != watches_.end()) forget(itself);
  for (auto at = watches_.lower_bound(within); at != watches_.end() && at->first.starts_with(within);)
    at = forget(at);
  for (auto at = files_.lower_bound(within); at != files_.end() && at->first.starts_with(within); ++at)
    handlers_.touched(at->first, false);
}

void WatchedTree::work() {
  working_ = true;
  std::size_t entries = 0;
  while (!jobs_.empty() && entries < entries_per_turn) {
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    if (watch(job)) entries += list(job);
    ++entries;
  }
  if (jobs_.empty()) {
    first_scan_ = working_ = false;
    return;
  }
  boost::asio::post(loop_, [weak = std::weak_ptr(self_)] {
    if (const auto self = weak.lock()) (*self)->work();
  });
}

bool WatchedTree::watch(const Job& job) {
  if (folders_.size() >= most_folders && !watches_.contains(job.path)) {
    if (reported_.insert(-1).second)
      handlers_.problem(
          "more than " + std::to_string(most_folders) + " folders are to be watched; '" + absolute(job.path) +
          "' and what comes after it is not. Write a narrower --watch, or list folders in .gitignore");
    return false;
  }
  const bool follow = job.path.empty() || selection_.names(job.path);
  const auto added = inotify_.add(
      *this, absolute(job.path), wanted_events | IN_ONLYDIR | IN_EXCL_UNLINK | (follow ? 0 : IN_DONT_FOLLOW));
  if (!added) {
    if (added.error() != ENOENT && added.error() != ENOTDIR && added.error() != ELOOP)
      report(added.error(), absolute(job.path));
    return false;
  }
  if (const auto other = folders_.find(*added); other != folders_.end() && other->second.path != job.path) {
    struct stat here{};
    struct stat there{};
    if (::stat(absolute(job.path).c_str(), &here) != 0) return false;
    const bool reached_twice = ::stat(absolute(other->second.path).c_str(), &there) == 0 &&
                               here.st_dev == there.st_dev && here.st_ino == there.st_ino;
    if (reached_twice) return false;
    leave(std::string(other->second.path));  // it was moved here, and the event about that is still to come
    return watch(job);
  }
  if (const auto before = watches_.find(job.path); before != watches_.end() && before->second != *added) {
    inotify_.remove(*this, before->second);
    folders_.erase(before->second);
  }
  folders_.insert_or_assign(*added, Folder{job.path, job.scope});
  watches_.insert_or_assign(job.path, *added);
  return true;
}

std::size_t WatchedTree::list(const Job& job) {
  selection_.read_rules(job.path);
  DIR* const entries = ::opendir(absolute(job.path).c_str());
  if (entries == nullptr) return 0;
  std::size_t count = 0;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    ++count;
    const std::string path = join(job.path, name);
    bool folder = entry->d_type == DT_DIR;
    if (entry->d_type == DT_UNKNOWN || entry->d_type == DT_LNK) folder = leads_to_folder(path);
    if (folder) {
      if (auto scope = selection_.enter(job.scope, path))
        jobs_.push_back({path, std::move(*scope), job.known_before});
      continue;
    }
    if (!selection_.wants(job.scope, path)) continue;
    const auto now = Stamp::of(absolute(path));
    if (!now) continue;
    if (job.known_before) {
      learn(path, now);
    } else {
      const auto before = known(path);
      if (!before || !now->looks_like(*before)) handlers_.touched(path, false);
    }
  }
  ::closedir(entries);
  return count;
}

// A folder, or a symbolic link to one whose name a glob spells out.
bool WatchedTree::leads_to_folder(const std::string& path) const {
  struct stat info{};
  if (::lstat(absolute(path).c_str(), &info) != 0) return false;
  if (!S_ISLNK(info.st_mode)) return S_ISDIR(info.st_mode);
  return selection_.names(path) && ::stat(absolute(path).c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void WatchedTree::on_event(int watch, std::uint32_t mask, std::string_view name) {
  const auto found = folders_.find(watch);
  if (found == folders_.end()) return;
  if ((mask & IN_IGNORED) != 0) {  // its content is gone too; its parent gets an event
    watches_.erase(found->second.path);
    folders_.erase(found);
    return;
  }
  const Folder& folder = found->second;
  if (name == ".gitignore") handlers_.stale();
  const std::string path = join(folder.path, name);
  if ((mask & gone) != 0)
    went(folder, path, mask);
  else
    came(folder, path, mask);
}

void WatchedTree::went(const Folder& folder, const std::string& path, std::uint32_t mask) {
  if ((mask & IN_ISDIR) != 0 || watches_.contains(path))
    leave(path);
  else if (selection_.wants(folder.scope, path))
    handlers_.touched(path, false);
}

void WatchedTree::came(const Folder& folder, const std::string& path, std::uint32_t mask) {
  const bool new_name = (mask & (IN_CREATE | IN_MOVED_TO)) != 0;
  if ((mask & IN_ISDIR) != 0 || (new_name && leads_to_folder(path))) {
    auto scope = selection_.enter(folder.scope, path);
    if (!scope) return;
    jobs_.push_back({path, std::move(*scope), false});
    if (!working_) work();
    return;
  }
  if (!selection_.wants(folder.scope, path)) return;
  // A new file is first created, then written, then closed. A link, hard or symbolic, is complete at once.
  struct stat info{};
  const bool open = (mask & IN_CREATE) != 0 && ::lstat(absolute(path).c_str(), &info) == 0 &&
                    S_ISREG(info.st_mode) && info.st_nlink == 1;
  handlers_.touched(path, open);
}

void WatchedTree::report(int error, const std::string& path) {
  if (reported_.insert(error).second) handlers_.problem(Inotify::problem(error, path));
}

}  // namespace mcpivot
