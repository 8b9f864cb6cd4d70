#include "watch/file_watcher.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <map>
#include <optional>
#include <utility>

#include "base/files.h"
#include "watch/build_output.h"
#include "watch/watched_tree.h"

namespace mcpivot {
namespace {

// Beyond this many files in one burst, the rest is found by comparing all known files.
constexpr std::size_t most_touched = 64 * 1024;

// A file that was created and not closed is waited for while it changes, and this many more times.
constexpr int most_looks = 5;

std::string absolute_folder(const std::string& path) {
  std::string text = absolute_path(path);
  while (text.size() > 1 && text.ends_with('/')) text.pop_back();
  return text;
}

}  // namespace

class FileWatcher::Impl : public std::enable_shared_from_this<Impl> {
 public:
  Impl(boost::asio::io_context& loop, Options options, OnChange on_change, OnProblem on_problem,
       OnSettled on_settled, OnLeftOut on_left_out)
      : loop_(loop),
        timer_(loop),
        options_(options),
        on_change_(std::move(on_change)),
        on_problem_(std::move(on_problem)),
        on_settled_(std::move(on_settled)),
        on_left_out_(std::move(on_left_out)) {}

  void start(const std::string& root, std::vector<Glob> globs);
  void stop();
  void begin_build();
  void end_build();
  bool unsettled(bool look);
  std::chrono::system_clock::time_point last_touched() const { return last_touched_; }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Phase : unsigned char { between_builds, building, after_build };

  struct Touch {
    bool open = false;
    Phase since = Phase::between_builds;  // when it was touched first
    bool only_compared = false;           // nothing is known to have happened to it
    int looks = 0;
    std::optional<Stamp> seen{};  // at the last look
  };

  void touched(const std::string& path, bool open);
  void expect_quiet();
  void wait();
  void settle();
  std::vector<std::string> take_changes();
  bool is_still_open(Touch& touch, const std::optional<Stamp>& now) const;
  bool is_change(const std::string& path, const Touch& touch, const std::optional<Stamp>& now);

  boost::asio::io_context& loop_;
  boost::asio::steady_timer timer_;
  Options options_;
  OnChange on_change_;
  OnProblem on_problem_;
  OnSettled on_settled_;
  OnLeftOut on_left_out_;
  std::unique_ptr<WatchedTree> tree_;
  BuildOutput output_;
  Phase phase_ = Phase::between_builds;
  std::map<std::string, Touch> touched_;  // since the last report
  std::vector<std::string> left_out_;     // to be told
  std::chrono::system_clock::time_point last_touched_ = std::chrono::system_clock::now();
  std::optional<Clock::time_point> burst_began_;
  Clock::time_point quiet_at_;
  bool waiting_ = false;      // for the timer
  bool stale_ = false;        // the tree must be rescanned
  bool compare_all_ = false;  // not only what was touched
};

void FileWatcher::Impl::start(const std::string& root, std::vector<Glob> globs) {
  WatchedTree::Handlers handlers;
  handlers.touched = [this](const std::string& path, bool open) { touched(path, open); };
  handlers.stale = [this] {
    stale_ = true;
    last_touched_ = std::chrono::system_clock::now();
    expect_quiet();
  };
  handlers.problem = [this](std::string what) {
    boost::asio::post(loop_, [weak = weak_from_this(), what = std::move(what)] {
      const auto self = weak.lock();
      if (self && self->on_problem_) self->on_problem_(what);
    });
  };
  tree_ = std::make_unique<WatchedTree>(loop_, absolute_folder(root), std::move(globs), std::move(handlers));
}

void FileWatcher::Impl::stop() {
  timer_.cancel();
  tree_.reset();
  on_change_ = nullptr;
  on_problem_ = nullptr;
  on_settled_ = nullptr;
  on_left_out_ = nullptr;
}

void FileWatcher::Impl::touched(const std::string& path, bool open) {
  last_touched_ = std::chrono::system_clock::now();
  const auto found = touched_.find(path);
  if (found != touched_.end())  // what counts is when it began
    found->second = {.open = open, .since = found->second.since};
  else if (touched_.size() < most_touched)
    touched_[path] = {.open = open, .since = phase_};
  else
    compare_all_ = true;
  expect_quiet();
}

void FileWatcher::Impl::expect_quiet() {
  if (phase_ == Phase::building) return;
  const Clock::time_point now = Clock::now();
  if (!burst_began_) burst_began_ = now;
  quiet_at_ = std::min(now + options_.quiet, *burst_began_ + options_.longest_burst);
  if (!waiting_) wait();
}

// Events come by the thousand: they only move the deadline, and the timer checks it when it expires.
void FileWatcher::Impl::wait() {
  waiting_ = true;
  timer_.expires_at(quiet_at_);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code&) {
    const auto self = weak.lock();
    if (!self || !self->tree_) return;
    self->waiting_ = false;
    self->settle();
  });
}

void FileWatcher::Impl::settle() {
  if (phase_ == Phase::building) return;
  tree_->drain();
  if (quiet_at_ > Clock::now()) {
    if (!waiting_) wait();
    return;
  }
  if (std::exchange(stale_, false)) {
    compare_all_ = true;
    tree_->rescan();
  }
  if (tree_->scanning()) return expect_quiet();
  burst_began_.reset();
  std::vector<std::string> changes = take_changes();
  phase_ = Phase::between_builds;
  if (!touched_.empty()) expect_quiet();
  const auto keep = shared_from_this();  // the handlers may destroy the watcher
  const OnChange on_change = on_change_;
  if (!changes.empty() && on_change) on_change(std::move(changes));
  const std::vector<std::string> left_out = std::exchange(left_out_, {});
  for (const std::string& path : left_out)
    if (const OnLeftOut on_left_out = on_left_out_) on_left_out(path);
  const OnSettled on_settled = on_settled_;
  if (on_settled && !unsettled(false)) on_settled();
}

// What a build writes, and what is saved during it, is examined when the build is over. A file that somebody
// keeps open, and that was examined, is not a save: it may be a log that grows forever.
bool FileWatcher::Impl::unsettled(bool look) {
  if (phase_ == Phase::building) return false;
  if (look) tree_->drain();
  return stale_ || compare_all_ || std::ranges::any_of(touched_, [](const auto& entry) {
           return !entry.second.open || !entry.second.seen;
         });
}

// What changed and should be reported. Files that are still being written are left for the next time.
std::vector<std::string> FileWatcher::Impl::take_changes() {
  std::map<std::string, Touch> candidates = std::exchange(touched_, {});
  if (std::exchange(compare_all_, false))
    for (const auto& [path, stamp] : tree_->files())
      candidates.try_emplace(path, Touch{.since = phase_, .only_compared = true});
  std::vector<std::string> changes;
  for (auto& [path, touch] : candidates) {
    const std::optional<Stamp> now = Stamp::of(tree_->absolute(path));
    if (touch.open && is_still_open(touch, now))
      touched_.emplace(path, touch);
    else if (is_change(path, touch, now))
      changes.push_back(path);
  }
  return changes;
}

bool FileWatcher::Impl::is_still_open(Touch& touch, const std::optional<Stamp>& now) const {
  if (!now) return false;
  const bool grew = !touch.seen || !now->looks_like(*touch.seen);
  touch.seen = now;
  touch.looks = grew ? 0 : touch.looks + 1;
  return touch.looks < most_looks;
}

bool FileWatcher::Impl::is_change(const std::string& path, const Touch& touch,
                                  const std::optional<Stamp>& now) {
  const std::optional<Stamp> before = tree_->known(path);
  if (!now && !before) return false;
  if (now && before && now->looks_like(*before) && (touch.only_compared || !before->fresh)) return false;
  if (now && !tree_->wants(path)) {  // a .gitignore has hidden it in the meantime
    tree_->learn(path, std::nullopt);
    return false;
  }
  tree_->learn(path, now);
  BuildOutput::Change change{};
  switch (touch.since) {
    case Phase::between_builds:
      change = output_.changed_between_builds(path, now.has_value());
      break;
    case Phase::building:
      change = output_.changed_during_build(path, tree_->absolute(path), before.has_value());
      break;
    case Phase::after_build:
      change = output_.changed_after_build(path, tree_->absolute(path), before.has_value());
      break;
  }
  if (change == BuildOutput::Change::left_out) left_out_.push_back(path);
  return change == BuildOutput::Change::source;
}

void FileWatcher::Impl::begin_build() {
  tree_->drain();
  take_changes();
  for (const std::string& path : std::exchange(left_out_, {})) output_.is_built_now(path);
  output_.build_began();
  phase_ = Phase::building;
  burst_began_.reset();
}

void FileWatcher::Impl::end_build() {
  if (phase_ != Phase::building) return;
  tree_->drain();
  phase_ = Phase::after_build;
  expect_quiet();
}

FileWatcher::FileWatcher(boost::asio::io_context& loop, const std::string& root, std::vector<Glob> globs,
                         Options options, OnChange on_change, OnProblem on_problem, OnSettled on_settled,
                         OnLeftOut on_left_out)
    : impl_(std::make_shared<Impl>(loop, options, std::move(on_change), std::move(on_problem),
                                   std::move(on_settled), std::move(on_left_out))) {
  impl_->start(root, std::move(globs));
}

FileWatcher::~FileWatcher() {
  impl_->stop();
}
void FileWatcher::begin_build() {
  impl_->begin_build();
}
void FileWatcher::end_build() {
  impl_->end_build();
}
bool FileWatcher::unsettled(bool look) {
  return impl_->unsettled(look);
}
std::chrono::system_clock::time_point FileWatcher::last_touched() const {
  return impl_->last_touched();
}

}  // namespace mcpivot
