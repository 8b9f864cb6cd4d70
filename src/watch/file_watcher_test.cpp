#include "watch/file_watcher.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <optional>
#include <random>
#include <utility>

#include "host/temporary_directory.h"
#include "watch/inotify.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using Paths = std::vector<std::string>;
namespace fs = std::filesystem;

// A watched folder, and the reports about it. "Nothing is reported" is shown by a change of the file
// "marker" afterwards: reports come in order, so what doesn't come before or with the marker doesn't come at
// all.
class FileWatcherIn : public testing::Test {
 protected:
  void watch(const Paths& globs, const std::string& root = "", std::function<void()> on_change = [] {}) {
    std::vector<Glob> compiled;
    for (const std::string& text : globs) compiled.push_back(*Glob::compile(text));
    compiled.push_back(*Glob::compile("marker"));
    watcher_.reset();
    watcher_.emplace(
        loop_, root.empty() ? folder_.path().string() : root, std::move(compiled),
        FileWatcher::Options{.quiet = quiet},
        [this, on_change = std::move(on_change)](Paths changed) {
          reports_.push_back(std::move(changed));
          on_change();
        },
        [this](std::string what) { problems_.push_back(std::move(what)); }, [] {},
        [this](const std::string& path) { left_out_.push_back(path); });
    loop_.poll();
    loop_.restart();
  }

  template <class Condition>
  bool run_until(Condition&& condition) {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (!condition() && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_one_for(milliseconds(100));
    }
    return condition();
  }

  // The next report.
  Paths next() {
    if (!run_until([this] { return !reports_.empty(); })) return {"(nothing)"};
    Paths first = reports_.front();
    reports_.erase(reports_.begin());
    return first;
  }

  // Everything reported up to a change that is certainly reported.
  Paths all_up_to_a_marker() {
    folder_.write("marker", std::to_string(++markers_));
    Paths all;
    do
      for (const std::string& path : next()) all.push_back(path);
    while (std::ranges::find(all, "marker") == all.end() && std::ranges::find(all, "(nothing)") == all.end());
    std::erase(all, "marker");
    return all;
  }

  static constexpr milliseconds quiet{40};
  host::TemporaryDirectory folder_;
  boost::asio::io_context loop_;
  std::vector<Paths> reports_;
  std::vector<std::string> problems_;
  Paths left_out_;
  std::optional<FileWatcher> watcher_;
  int markers_ = 0;
};

TEST_F(FileWatcherIn, reports_each_saved_file_that_a_glob_matches_once) {
  folder_.write("src/a.rs", "1");
  folder_.write("src/deep/b.rs", "1");
  watch({"src/**/*.rs"});
  folder_.write("src/a.rs", "22");
  folder_.write("src/a.rs", "333");
  folder_.write("src/deep/b.rs", "22");
  folder_.write("src/c.txt", "no");
  folder_.write("other.rs", "no");
  EXPECT_EQ(next(), (Paths{"src/a.rs", "src/deep/b.rs"}));
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, a_rename_over_save_is_one_change) {
  folder_.write("src/a.c", "old");
  watch({"src/**"});
  folder_.write("src/a.c.tmp123", "new");
  folder_.rename("src/a.c.tmp123", "src/a.c");
  EXPECT_EQ(next(), Paths{"src/a.c"});
  folder_.rename("src/a.c", "src/a.c.bak");  // as some editors save
  folder_.write("src/a.c", "newer");
  folder_.remove("src/a.c.bak");
  EXPECT_EQ(next(), Paths{"src/a.c"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, a_file_that_comes_and_goes_is_no_change) {
  watch({"**"});
  folder_.write("src/4914", "");
  folder_.remove("src/4914");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, reports_files_that_are_created_deleted_moved_and_recreated) {
  folder_.write("a.c", "1");
  folder_.write("b.c", "1");
  watch({"*.c"});
  folder_.write("new.c", "1");
  EXPECT_EQ(next(), Paths{"new.c"});
  folder_.remove("a.c");
  EXPECT_EQ(next(), Paths{"a.c"});
  folder_.write("a.c", "1");
  EXPECT_EQ(next(), Paths{"a.c"});
  folder_.rename("a.c", "b.c");
  EXPECT_EQ(next(), (Paths{"a.c", "b.c"}));
  fs::create_symlink("b.c", folder_ / "link.c");
  EXPECT_EQ(next(), Paths{"link.c"});
  fs::create_hard_link(folder_ / "b.c", folder_ / "hard.c");
  EXPECT_EQ(next(), Paths{"hard.c"});
}

TEST_F(FileWatcherIn, attributes_and_reading_are_no_change) {
  folder_.write("a.c", "1");
  watch({"*.c"});
  ::chmod((folder_ / "a.c").c_str(), 0600);
  std::string text;
  std::ifstream(folder_ / "a.c") >> text;
  const std::ofstream opened(folder_ / "a.c", std::ios::app);  // for writing, without writing
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, sees_files_in_new_folders_even_if_created_before_it_looked) {
  watch({"src/**/*.c"});
  folder_.write("src/x/y/z/a.c", "made in one go");
  EXPECT_EQ(next(), Paths{"src/x/y/z/a.c"});
  folder_.write("src/x/y/z/a.c", "made later");
  folder_.write("src/x/b.c", "");
  EXPECT_EQ(next(), (Paths{"src/x/b.c", "src/x/y/z/a.c"}));
}

TEST_F(FileWatcherIn, sees_folders_that_move_in_out_and_within) {
  const host::TemporaryDirectory elsewhere;
  elsewhere.write("lib/deep/a.c", "");
  watch({"**/*.c"});
  fs::rename(elsewhere / "lib", folder_ / "lib");
  EXPECT_EQ(next(), Paths{"lib/deep/a.c"});
  folder_.rename("lib", "moved");
  EXPECT_EQ(next(), (Paths{"lib/deep/a.c", "moved/deep/a.c"}));
  folder_.write("moved/deep/a.c", "changed under its new name");
  EXPECT_EQ(next(), Paths{"moved/deep/a.c"});
  fs::rename(folder_ / "moved", elsewhere / "lib");
  EXPECT_EQ(next(), Paths{"moved/deep/a.c"});
  elsewhere.write("lib/deep/a.c", "no business of ours any more");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, a_file_that_is_being_written_is_reported_when_it_is_closed) {
  watch({"*.c"});
  std::ofstream slow(folder_ / "slow.c");
  slow << "half" << std::flush;
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  slow << "whole" << std::flush;
  slow.close();
  EXPECT_EQ(next(), Paths{"slow.c"});
}

TEST_F(FileWatcherIn, ignored_files_are_not_reported_and_the_git_folder_never) {
  folder_.write(".gitignore", "node_modules/\n*.o\n!keep.o\n");
  folder_.write("node_modules/x/index.js", "");
  folder_.write("sub/.gitignore", "gen\n");
  folder_.write("sub/gen/a.js", "");
  folder_.write(".git/index", "");
  watch({"**"});
  folder_.write("node_modules/x/index.js", "1");
  folder_.write("sub/gen/a.js", "1");
  folder_.write(".git/index", "1");
  folder_.write("a.o", "1");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write("keep.o", "1");
  EXPECT_EQ(next(), Paths{"keep.o"});
}

TEST_F(FileWatcherIn, a_glob_that_names_an_ignored_folder_overrides_gitignore) {
  folder_.write(".gitignore", "dist/\n");
  folder_.write("dist/a.js", "");
  folder_.write("packages/p/dist/b.js", "");
  watch({"dist/**", "**/*.js"});
  folder_.write("packages/p/dist/b.js", "1");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write("dist/a.js", "1");
  EXPECT_EQ(next(), Paths{"dist/a.js"});
}

TEST_F(FileWatcherIn, a_changed_gitignore_applies_at_once) {
  folder_.write("gen/a.c", "");
  folder_.write("src/a.c", "");
  watch({"**/*.c"});
  folder_.write(".gitignore", "gen/\n");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write("gen/a.c", "1");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write(".gitignore", "");
  EXPECT_EQ(next(), Paths{"gen/a.c"}) << "it is in view again, and new";
  folder_.write("gen/a.c", "22");
  EXPECT_EQ(next(), Paths{"gen/a.c"});
}

TEST_F(FileWatcherIn, a_missing_root_is_watched_once_it_appears_or_is_replaced) {
  watch({"src/*.c"}, folder_ / "not/yet");
  folder_.write("not/yet/src/a.c", "");
  EXPECT_EQ(next(), Paths{"src/a.c"});
  folder_.remove("not");
  EXPECT_EQ(next(), Paths{"src/a.c"});
  folder_.write("new/src/b.c", "");
  folder_.folder("not");
  folder_.rename("new", "not/yet");
  EXPECT_EQ(next(), Paths{"src/b.c"});
}

TEST_F(FileWatcherIn, a_symlinked_root_is_followed_even_to_a_new_target) {
  folder_.write("one/a.c", "1");
  folder_.write("two/a.c", "1");
  fs::create_directory_symlink("one", folder_ / "root");
  watch({"*.c"}, folder_ / "root");
  folder_.write("one/a.c", "22");
  EXPECT_EQ(next(), Paths{"a.c"});
  fs::create_directory_symlink("two", folder_ / "root.new");
  folder_.rename("root.new", "root");
  EXPECT_EQ(next(), Paths{"a.c"});
  folder_.write("two/a.c", "22");
  EXPECT_EQ(next(), Paths{"a.c"});
}

TEST_F(FileWatcherIn, symlinks_to_folders_make_no_loops_and_are_followed_if_named) {
  const host::TemporaryDirectory elsewhere;
  elsewhere.write("a.c", "1");
  folder_.write("src/b.c", "1");
  fs::create_directory_symlink("..", folder_ / "src/loop");
  fs::create_directory_symlink(elsewhere.path(), folder_ / "shared");
  fs::create_directory_symlink(elsewhere.path(), folder_ / "src/unnamed");
  watch({"shared/*.c", "**/*.c", "**/loop/**/*.c"});
  elsewhere.write("a.c", "22");
  EXPECT_EQ(next(), Paths{"shared/a.c"});
  folder_.write("src/b.c", "22");
  EXPECT_EQ(next(), Paths{"src/b.c"});
  EXPECT_TRUE(problems_.empty());
}

TEST_F(FileWatcherIn, all_files_are_compared_after_events_were_lost) {
  folder_.write("a.c", "1");
  folder_.write("gone.c", "1");
  folder_.write("same.c", "1");
  watch({"**/*.c"});
  // More events than the kernel keeps, before ours.
  for (int i = 0; i < 20'000; ++i) folder_.write("noise" + std::to_string(i % 2), "");
  folder_.write("a.c", "22");
  folder_.remove("gone.c");
  folder_.write("new/folder/b.c", "1");
  EXPECT_EQ(next(), (Paths{"a.c", "gone.c", "new/folder/b.c"}));
  folder_.write("new/folder/b.c", "22");
  EXPECT_EQ(next(), Paths{"new/folder/b.c"});
}

TEST_F(FileWatcherIn, a_large_tree_is_scanned_in_slices) {
  for (int i = 0; i < 2'200; ++i) folder_.write("d" + std::to_string(i / 10) + "/" + std::to_string(i), "");
  watch({"**"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write("d219/2199", "1");
  EXPECT_EQ(next(), Paths{"d219/2199"});
  folder_.remove("d7");
  EXPECT_EQ(next().size(), 10U);
}

// Folders and files are created, moved and removed at random, and seen at once or much later.
TEST_F(FileWatcherIn, every_file_is_still_seen_whatever_happens_to_its_folders) {
  std::mt19937 random(7);
  const auto any_folder = [&] {
    std::string path = "w";
    for (auto depth = random() % 4; depth > 0; --depth) path += "/" + std::string(1, "abc"[random() % 3]);
    return path;
  };
  folder_.folder("w");
  watch({"w/**"});
  for (int round = 0; round < 12; ++round) {
    for (int step = 0; step < 40; ++step) {
      const std::string from = any_folder();
      std::error_code ignored;
      switch (random() % 5) {
        case 0:
          fs::rename(folder_ / from, folder_ / any_folder(), ignored);
          break;
        case 1:
          fs::remove_all(folder_ / (from + "/a"), ignored);
          break;
        case 2:
          fs::rename(folder_ / (from + "/file"), folder_ / (any_folder() + "/file"), ignored);
          break;
        default:
          folder_.write(from + "/file", std::to_string(random()));
          break;
      }
      if (random() % 3 == 0) loop_.poll(), loop_.restart();
    }
    folder_.folder("w");
    all_up_to_a_marker();
    reports_.clear();
    Paths all;
    for (const auto& entry : fs::recursive_directory_iterator(folder_ / "w"))
      if (entry.is_regular_file()) all.push_back(entry.path().lexically_relative(folder_.path()).string());
    for (const std::string& path : all) folder_.write(path, std::to_string(random()) + "!");
    std::ranges::sort(all);
    if (!all.empty()) {
      ASSERT_EQ(next(), all) << "in round " << round;
    }
  }
}

TEST_F(FileWatcherIn, a_constantly_written_file_does_not_delay_reports_forever) {
  watcher_.emplace(
      loop_, folder_.path(), std::vector{*Glob::compile("*")},
      FileWatcher::Options{.quiet = milliseconds(50), .longest_burst = milliseconds(200)},
      [this](Paths changed) { reports_.push_back(std::move(changed)); }, nullptr);
  int writes = 0;
  run_until([&] {
    folder_.write("log", std::to_string(++writes));
    return !reports_.empty();
  });
  EXPECT_EQ(next(), Paths{"log"});
}

TEST_F(FileWatcherIn, two_watchers_can_share_a_folder_and_be_destroyed_by_their_handlers) {
  folder_.write("a.c", "1");
  std::optional<FileWatcher> other;
  other.emplace(
      loop_, folder_.path(), std::vector{*Glob::compile("*.c")}, FileWatcher::Options{.quiet = quiet},
      [&](const Paths&) { other.reset(); }, nullptr);
  watch({"*.c"});
  folder_.write("a.c", "22");
  EXPECT_EQ(next(), Paths{"a.c"});
  EXPECT_TRUE(run_until([&] { return !other; }));
  folder_.write("a.c", "333");
  EXPECT_EQ(next(), Paths{"a.c"});
  watcher_.reset();
  loop_.restart();
  loop_.run();  // ends, because nothing is watched any more
}

TEST_F(FileWatcherIn, a_source_saved_during_a_build_is_reported_but_not_its_output) {
  folder_.write("main.c", "1");
  folder_.write("app", std::string_view("\x7f\0", 2));
  watch({"**"});
  folder_.write("main.c", "22");
  EXPECT_EQ(next(), Paths{"main.c"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});  // it is a source now
  watcher_->begin_build();
  folder_.write("obj/main.o", std::string_view("\0\0\0", 3));
  folder_.write("build.log", "text");
  folder_.write("app", std::string_view("\x7f\0\0", 3));
  folder_.write("main.c", "saved while it was built");
  watcher_->end_build();
  EXPECT_EQ(next(), Paths{"main.c"});
  watcher_->begin_build();
  folder_.write("build.log", "other text");
  watcher_->end_build();
  folder_.write("app", std::string_view("\x7f\0\0\0", 4));  // late
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, a_source_that_a_server_rewrites_at_each_start_does_not_build_endlessly) {
  folder_.write("state.json", "0");
  watch({"*.json"});
  folder_.write("state.json", "1");
  EXPECT_EQ(next(), Paths{"state.json"});
  int builds = 0;
  for (int i = 10; i < 50 && left_out_.empty(); ++i) {
    watcher_->begin_build();
    watcher_->end_build();
    ++builds;
    folder_.write("state.json", std::to_string(i));
    ASSERT_TRUE(run_until([this] { return !reports_.empty() || !left_out_.empty(); }));
    reports_.clear();
  }
  EXPECT_EQ(builds, 21);
  EXPECT_EQ(left_out_, Paths{"state.json"});
}

TEST_F(FileWatcherIn, a_source_that_a_server_rewrites_unchanged_is_built_once) {
  folder_.write("state.json", "0");
  watch({"*.json"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});  // it is a source now
  folder_.write("state.json", "1");
  EXPECT_EQ(next(), Paths{"state.json"});
  watcher_->begin_build();
  watcher_->end_build();
  folder_.write("state.json", "same");
  EXPECT_EQ(next(), Paths{"state.json"});
  watcher_->begin_build();
  watcher_->end_build();
  folder_.write("state.json", "same");
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
}

TEST_F(FileWatcherIn, an_ignored_source_is_not_reported_if_another_one_is_built) {
  folder_.write("main.c", "1");
  folder_.write("other.c", "1");
  bool builds = false;
  watch({"*.c"}, "", [&] {
    if (std::exchange(builds, false)) watcher_->begin_build();
  });
  EXPECT_EQ(all_up_to_a_marker(), Paths{});  // it is a source now
  folder_.write("main.c", "22");
  EXPECT_EQ(next(), Paths{"main.c"});
  for (int i = 1; i <= 4; ++i) {
    watcher_->begin_build();
    folder_.write("main.c", "in build " + std::to_string(i));
    watcher_->end_build();
    EXPECT_EQ(next(), Paths{"main.c"}) << i;
  }
  watcher_->begin_build();
  folder_.write("main.c", "in build 5");
  folder_.write("other.c", "22");
  builds = true;
  watcher_->end_build();
  EXPECT_EQ(next(), Paths{"other.c"});
  EXPECT_EQ(left_out_, Paths{}) << "it is in the build that has begun";
  folder_.write("main.c", "in build 6");
  watcher_->end_build();
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  EXPECT_EQ(left_out_, Paths{"main.c"});
}

TEST_F(FileWatcherIn, a_handler_that_destroys_the_watcher_gets_no_report_of_an_ignored_source) {
  folder_.write("main.c", "1");
  folder_.write("other.c", "1");
  bool ends = false;
  watch({"*.c"}, "", [&] {
    if (ends) watcher_.reset();
  });
  folder_.write("main.c", "22");
  EXPECT_EQ(next(), Paths{"main.c"});
  for (int i = 1; i <= 4; ++i) {
    watcher_->begin_build();
    folder_.write("main.c", "in build " + std::to_string(i));
    watcher_->end_build();
    EXPECT_EQ(next(), Paths{"main.c"}) << i;
  }
  watcher_->begin_build();
  folder_.write("main.c", "in build 5");
  folder_.write("other.c", "22");
  ends = true;
  watcher_->end_build();
  EXPECT_EQ(next(), Paths{"other.c"});
  EXPECT_EQ(left_out_, Paths{});
}

TEST_F(FileWatcherIn, a_source_that_changes_in_every_build_is_ignored_and_reported_once) {
  folder_.write("main.c", "1");
  watch({"*.c"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  folder_.write("main.c", "22");
  EXPECT_EQ(next(), Paths{"main.c"});
  for (int i = 1; i <= 6; ++i) {
    watcher_->begin_build();
    folder_.write("main.c", "in build " + std::to_string(i));
    watcher_->end_build();
    if (i <= 4)
      EXPECT_EQ(next(), Paths{"main.c"}) << i;
    else
      EXPECT_EQ(all_up_to_a_marker(), Paths{}) << i;
  }
  EXPECT_EQ(left_out_, Paths{"main.c"});
}

TEST_F(FileWatcherIn, nothing_is_reported_while_a_build_runs) {
  folder_.write("main.c", "1");
  watch({"*.c"});
  watcher_->begin_build();
  folder_.write("main.c", "22");
  bool later = false;
  boost::asio::steady_timer timer(loop_, 3 * quiet);
  timer.async_wait([&](const boost::system::error_code&) { later = true; });
  run_until([&] { return later; });
  EXPECT_TRUE(reports_.empty());
  watcher_->end_build();
  EXPECT_EQ(next(), Paths{"main.c"});
}

TEST_F(FileWatcherIn, a_save_just_before_a_build_is_part_of_it_and_marks_a_source) {
  folder_.write("main.c", "1");
  watch({"*.c"});
  EXPECT_EQ(all_up_to_a_marker(), Paths{});  // it is a source now
  folder_.write("main.c", "22");
  watcher_->begin_build();
  watcher_->end_build();
  EXPECT_EQ(all_up_to_a_marker(), Paths{});
  watcher_->begin_build();
  folder_.write("main.c", "333");
  watcher_->end_build();
  EXPECT_EQ(next(), Paths{"main.c"});
}

// In a child process with its own limit.
TEST_F(FileWatcherIn, reaching_the_systems_watch_limit_is_reported_and_the_rest_is_still_watched) {
  for (int i = 0; i < 40; ++i) folder_.folder("d" + std::to_string(i));
  constexpr int cannot = 77;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::unshare(CLONE_NEWUSER) != 0) ::_exit(cannot);
    std::ofstream limit("/proc/sys/user/max_inotify_watches");
    if (!(limit << "20" << std::flush)) ::_exit(cannot);
    watch({"**"});
    folder_.write("marker", "1");
    const bool goes_on = next() == Paths{"marker"};
    const bool told = problems_.size() == 1 && problems_[0].find("max_user_watches") != std::string::npos;
    ::_exit(goes_on && told ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == cannot) GTEST_SKIP() << "needs a user namespace";
  EXPECT_EQ(status, 0);
}

TEST(Inotify, a_reached_limit_is_reported_with_advice) {
  const std::string watches = Inotify::problem(ENOSPC, "x/y");
  EXPECT_NE(watches.find("'x/y'"), std::string::npos);
  EXPECT_NE(watches.find("fs.inotify.max_user_watches"), std::string::npos);
  EXPECT_NE(watches.find("sysctl"), std::string::npos);
  EXPECT_NE(Inotify::problem(EMFILE, "x").find("fs.inotify.max_user_instances"), std::string::npos);
}

}  // namespace
}  // namespace mcpivot
