#include "watch/replacement_watcher.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <bit>
#include <boost/asio/steady_timer.hpp>
#include <cstring>
#include <optional>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
namespace fs = std::filesystem;

class ExecutableWatcherOf : public testing::Test {
 protected:
  void watch(const std::string& name, milliseconds read_after = milliseconds(0)) {
    watcher_.emplace(
        loop_, folder_ / name, ReplacementWatcher::Options{.quiet = quiet, .read_after = read_after},
        [this] { ++replaced_; }, nullptr);
    pass(2 * quiet);  // it reads the content
  }

  void program(const std::string& name, std::string_view text) {
    folder_.write(name, text);
    ::chmod((folder_ / name).c_str(), 0755);
  }

  // An ELF file that claims to be `length` bytes long and has `size`.
  static std::string elf(std::size_t length, std::size_t size) {
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
    header.e_shentsize = 64;
    header.e_shnum = 2;
    header.e_shoff = length - 128;
    std::string text(size, 'x');
    std::memcpy(text.data(), &header, sizeof(header));
    return text;
  }

  bool replaced() {
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (replaced_ == told_ && std::chrono::steady_clock::now() < deadline) {
      loop_.restart();
      loop_.run_one_for(milliseconds(100));
    }
    return replaced_ == ++told_;
  }

  // Runs the loop long enough for a report that should not come.
  int pass(milliseconds time) {
    bool over = false;
    boost::asio::steady_timer timer(loop_, time);
    timer.async_wait([&](const boost::system::error_code&) { over = true; });
    loop_.restart();
    while (!over) loop_.run_one();
    return replaced_ - told_;
  }

  static constexpr milliseconds quiet{30};
  host::TemporaryDirectory folder_;
  boost::asio::io_context loop_;
  std::optional<ReplacementWatcher> watcher_;
  int replaced_ = 0;
  int told_ = 0;
};

TEST_F(ExecutableWatcherOf, an_overwritten_or_replaced_file_is_reported_once) {
  program("app", "one");
  watch("app");
  program("app", "three");
  EXPECT_TRUE(replaced());
  program("app.new", "four");
  folder_.rename("app.new", "app");
  EXPECT_TRUE(replaced());
  folder_.write("other", "is not it");
  EXPECT_EQ(pass(4 * quiet), 0);
}

TEST_F(ExecutableWatcherOf, a_deleted_file_is_reported_when_it_comes_back) {
  program("bin/app", "one");
  watch("bin/app");
  folder_.remove("bin/app");
  EXPECT_EQ(pass(4 * quiet), 0);
  program("bin/app", "two");
  EXPECT_TRUE(replaced());
  folder_.remove("bin");
  EXPECT_EQ(pass(4 * quiet), 0);
  program("bin/app", "three");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_file_moved_away_and_back_is_unchanged) {
  program("app", "one");
  watch("app");
  folder_.rename("app", "away");
  EXPECT_EQ(pass(2 * quiet), 0);
  folder_.rename("away", "app");
  EXPECT_EQ(pass(4 * quiet), 0);
}

TEST_F(ExecutableWatcherOf, a_half_written_file_is_not_reported_until_it_is_closed) {
  program("app", "one");
  watch("app");
  folder_.remove("app");
  std::ofstream slow(folder_ / "app");
  ::chmod((folder_ / "app").c_str(), 0755);
  slow << "half" << std::flush;
  EXPECT_EQ(pass(4 * quiet), 0);
  slow << "whole" << std::flush;
  EXPECT_EQ(pass(4 * quiet), 0);
  slow.close();
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_truncated_elf_file_is_not_reported_until_it_is_as_long_as_it_says) {
  program("app", elf(4'000, 4'000));
  watch("app");
  program("app", elf(9'000, 5'000));
  EXPECT_EQ(pass(4 * quiet), 0);
  program("app", elf(9'000, 9'000));
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, an_empty_or_not_yet_executable_file_is_not_reported) {
  program("app", "one");
  watch("app");
  folder_.remove("app");
  program("app", "");
  EXPECT_EQ(pass(4 * quiet), 0);
  ::chmod((folder_ / "app").c_str(), 0644);
  folder_.write("app", "three");
  EXPECT_EQ(pass(4 * quiet), 0);
  ::chmod((folder_ / "app").c_str(), 0755);
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_script_does_not_have_to_be_executable) {
  folder_.write("server.py", "one");
  watch("server.py");
  folder_.write("server.py", "two");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, new_content_of_the_same_length_is_reported_and_a_touch_is_not) {
  program("app", std::string(700'000, 'x'));  // more than is read at once
  fs::last_write_time(folder_ / "app", fs::file_time_type::clock::now() - std::chrono::hours(1));
  watch("app");
  fs::last_write_time(folder_ / "app", fs::file_time_type::clock::now() - std::chrono::minutes(1));
  EXPECT_EQ(pass(4 * quiet), 0);
  program("app", std::string(700'000, 'x'));
  EXPECT_EQ(pass(6 * quiet), 0) << "written again with the same content";
  program("app", std::string(699'999, 'x') + "y");
  EXPECT_TRUE(replaced());
  program("app", std::string(699'999, 'x') + "z");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_touch_is_reported_if_the_content_was_never_read) {
  program("app", "one");
  watch("app", std::chrono::hours(1));
  program("app", "one");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_symlink_with_a_new_target_is_a_replacement) {
  program("v1/app", "one");
  program("v2/app", "two");
  program("v3/app", "three");
  fs::create_directory_symlink("v1", folder_ / "current");
  fs::create_symlink(folder_ / "current/app", folder_ / "app");
  watch("app");
  program("v1/app", "one, changed behind two links");
  EXPECT_TRUE(replaced());
  fs::create_directory_symlink("v2", folder_ / "next");
  folder_.rename("next", "current");
  EXPECT_TRUE(replaced());
  program("v1/app", "not it any more");
  EXPECT_EQ(pass(4 * quiet), 0);
  folder_.remove("app");
  fs::create_symlink("v3/app", folder_ / "app");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, a_hard_link_put_in_its_place_is_a_replacement) {
  program("debug/app", "one");
  program("debug/deps/app-123", "two");
  watch("debug/app");
  folder_.remove("debug/app");
  fs::create_hard_link(folder_ / "debug/deps/app-123", folder_ / "debug/app");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, an_initially_missing_file_is_reported_when_it_appears) {
  watch("not/yet/app");
  program("not/yet/app", "one");
  EXPECT_TRUE(replaced());
}

TEST_F(ExecutableWatcherOf, the_handler_may_destroy_the_watcher) {
  program("app", "one");
  watcher_.emplace(
      loop_, folder_ / "app", ReplacementWatcher::Options{.quiet = quiet},
      [this] {
        ++replaced_;
        watcher_.reset();
      },
      nullptr);
  program("app", "three");
  EXPECT_TRUE(replaced());
  loop_.restart();
  loop_.run();  // ends, because nothing is watched any more
}

}  // namespace
}  // namespace mcpivot
