#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

TEST(ReplacedFile, has_the_new_text_and_the_requested_permissions) {
  const host::TemporaryDirectory folder;
  folder.write("file", "old");
  ASSERT_TRUE(replace_file(folder / "file", "new", {.mode = 0640, .durable = true}));
  EXPECT_EQ(read_small_file(folder / "file", 100), "new");
  struct stat info{};
  ASSERT_EQ(::stat((folder / "file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0640U);
}

TEST(ReplacedFile, leaves_nothing_behind_if_it_cannot_be_renamed_into_place) {
  const host::TemporaryDirectory folder;
  folder.folder("file/within");
  const auto placed = replace_file(folder / "file", "new");
  ASSERT_FALSE(placed);
  EXPECT_TRUE(placed.error().starts_with("cannot be written: ")) << placed.error();
  EXPECT_EQ(std::distance(fs::directory_iterator(folder.path()), fs::directory_iterator()), 1);
  const auto nowhere = replace_file(folder / "no folder/file", "new");
  ASSERT_FALSE(nowhere);
  EXPECT_TRUE(nowhere.error().starts_with("cannot be written because its folder cannot: "));
}

TEST(FilesBeginning, is_at_most_the_requested_length) {
  const host::TemporaryDirectory folder;
  folder.write("file", "0123456789");
  EXPECT_EQ(read_beginning(folder / "file", 4), "0123");
  EXPECT_EQ(read_beginning(folder / "file", 40), "0123456789");
  EXPECT_EQ(read_beginning(folder / "none", 4), "");
}

}  // namespace
}  // namespace mcpivot
