#include "front/session_keys.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "base/files.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string zeros = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
const std::string high = "//////////////////////////////////////////8=";

unsigned mode_of(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777U : 0;
}

TEST(SessionKeys, the_first_key_encrypts_and_all_of_them_decrypt) {
  const auto keys = SessionKeys::parse("f", "# a comment\n\n k2 " + high + "  # since May\r\nk1\t" + zeros);
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(keys->size(), 2U);
  EXPECT_EQ(keys->first().id, "k2");
  EXPECT_EQ(keys->first().bytes[31], 255);
  ASSERT_NE(keys->find("k1"), nullptr);
  EXPECT_EQ(keys->find("k1")->bytes[31], 0);
  EXPECT_EQ(keys->find("k3"), nullptr);
  EXPECT_EQ(keys->find(""), nullptr);
}

TEST(SessionKeys, a_key_may_also_be_in_base64url) {
  const auto keys = SessionKeys::parse("f", "k __________________________________________8");
  ASSERT_TRUE(keys) << keys.error();
  EXPECT_EQ(*keys, *SessionKeys::parse("f", "k " + high));
}

TEST(SessionKeys, an_error_names_file_and_line_but_shows_no_key) {
  for (const auto& [text, why] :
       {std::pair<std::string, std::string>{"\nk", "/keys:2: the key k isn't 32 bytes"},
        {"k " + zeros.substr(0, 40), "/keys:1: the key k isn't 32 bytes"},
        {"k " + zeros + "AAAA", "isn't 32 bytes"},
        {"k " + zeros.substr(0, 42) + "B=", "isn't 32 bytes"},
        {zeros, "/keys:1: a line is KEYID KEY"},
        {"k.2 " + zeros, "letters, digits"},
        {std::string(33, 'k') + " " + zeros, "up to 32 letters"},
        {"k " + zeros + " more", "this one has more"},
        {"k " + zeros + "\n\nk " + high, "/keys:3: the key id k appears twice"},
        {"# nothing\n", "/keys has no key in it"},
        {"", "openssl rand -base64 32"}}) {
    const auto keys = SessionKeys::parse("/keys", text);
    ASSERT_FALSE(keys) << text;
    EXPECT_THAT(keys.error(), AllOf(HasSubstr(why), Not(HasSubstr("AAAA")))) << text;
  }
  std::string many;
  for (int i = 0; i < 65; ++i) many += "k" + std::to_string(i) + " " + zeros + "\n";
  EXPECT_THAT(SessionKeys::parse("/keys", many).error(), HasSubstr("/keys:65: more than 64 keys"));
}

TEST(SessionKeys, a_missing_file_is_created_privately_and_then_left_unchanged) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "state/mcpivot/session.keys";
  const auto made = SessionKeys::load_or_make(path);
  ASSERT_TRUE(made) << made.error();
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(mode_of(folder / "state/mcpivot"), 0700U);
  EXPECT_EQ(*SessionKeys::load_or_make(path), *made);
  EXPECT_EQ(*SessionKeys::load(path), *made);
  EXPECT_NE(made->first().bytes, (std::array<unsigned char, 32>{}));
  const auto other = SessionKeys::load_or_make(folder / "other");
  EXPECT_NE(other->first().bytes, made->first().bytes);
  EXPECT_NE(other->first().id, made->first().id);
  for (const auto& entry : std::filesystem::directory_iterator(folder / "state/mcpivot"))
    EXPECT_EQ(entry.path(), path) << "nothing else is left there";
}

TEST(SessionKeys, a_file_that_disappears_at_run_time_is_an_error) {
  const host::TemporaryDirectory folder;
  EXPECT_THAT(SessionKeys::load(folder / "keys").error(), HasSubstr("No such file"));
  EXPECT_FALSE(std::filesystem::exists(folder / "keys"));
}

TEST(SessionKeys, processes_that_start_at_the_same_time_get_the_same_key) {
  const host::TemporaryDirectory folder;
  for (int round = 0; round < 20; ++round) {
    const std::string path = folder / std::to_string(round) + "/keys";
    int go[2];
    int said[2];
    ASSERT_EQ(::pipe(go), 0);
    ASSERT_EQ(::pipe(said), 0);
    constexpr int processes = 4;
    std::vector<pid_t> children;
    for (int i = 0; i < processes; ++i) {
      children.push_back(::fork());
      if (children.back() != 0) continue;
      ::close(go[1]);
      char nothing = 0;
      (void)!::read(go[0], &nothing, 1);  // until the parent closes it, for all processes at once
      const auto keys = SessionKeys::load_or_make(path);
      const bool told = keys && ::write(said[1], keys->first().bytes.data(), 32) == 32;
      ::_exit(told ? 0 : 1);
    }
    ::close(go[0]);
    ::close(go[1]);
    ::close(said[1]);
    std::string all;
    std::array<char, 256> piece{};
    for (ssize_t got = 0; (got = ::read(said[0], piece.data(), piece.size())) > 0;)
      all.append(piece.data(), static_cast<std::size_t>(got));
    ::close(said[0]);
    for (const pid_t child : children) {
      int status = 0;
      ::waitpid(child, &status, 0);
      EXPECT_EQ(status, 0);
    }
    ASSERT_EQ(all.size(), 32U * processes);
    for (std::size_t i = 32; i < all.size(); i += 32) EXPECT_EQ(all.substr(i, 32), all.substr(0, 32));
  }
}

TEST(SessionKeys, a_file_that_others_can_open_is_rejected_with_advice) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "keys";
  ASSERT_TRUE(SessionKeys::load_or_make(path));
  for (const mode_t mode : {0640U, 0604U, 0620U, 0602U, 0644U}) {
    ::chmod(path.c_str(), mode);
    EXPECT_THAT(SessionKeys::load_or_make(path).error(),
                AllOf(HasSubstr("open to other users"), HasSubstr("chmod 600 " + path)));
    EXPECT_FALSE(SessionKeys::load(path));
  }
  ::chmod(path.c_str(), 0400);
  EXPECT_TRUE(SessionKeys::load_or_make(path)) << "that it can't be written is no harm";
}

TEST(SessionKeys, anything_but_a_regular_file_is_rejected_without_blocking) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "keys";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_THAT(SessionKeys::load_or_make(path).error(), HasSubstr("isn't a regular file"));
  EXPECT_THAT(SessionKeys::load_or_make(folder.path()).error(), HasSubstr("isn't a regular file"));
}

TEST(SessionKeys, a_file_of_another_user_is_rejected) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "keys";
  if (::geteuid() == 0) {
    ASSERT_TRUE(SessionKeys::load_or_make(path));
    ASSERT_EQ(::chown(path.c_str(), 1, 1), 0);
    EXPECT_THAT(SessionKeys::load_or_make(path).error(),
                AllOf(HasSubstr("another user (uid 1;"), HasSubstr("run: chown 0 " + path)));
  } else {  // a file that exists on every system
    EXPECT_THAT(SessionKeys::load_or_make("/etc/passwd").error(), HasSubstr("another user (uid 0;"));
  }
}

TEST(SessionKeys, an_unwritable_folder_is_an_error_that_names_the_file) {
  const host::TemporaryDirectory folder;
  folder.write("file", "");
  const std::string path = folder / "file/keys";
  EXPECT_THAT(SessionKeys::load_or_make(path).error(), HasSubstr(path));
}

TEST(SessionKeys, a_dangling_symlink_is_an_error) {
  const host::TemporaryDirectory folder;
  std::filesystem::create_symlink(folder / "nowhere", folder / "keys");
  EXPECT_THAT(SessionKeys::load_or_make(folder / "keys").error(), HasSubstr("No such file"));
}

}  // namespace
}  // namespace mcpivot
