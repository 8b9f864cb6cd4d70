#include "base/user_folders.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

TEST(UserFolders, a_folder_is_ours_alone_only_if_nobody_else_can_write_there) {
  const host::TemporaryDirectory temporary;
  const fs::path folder = temporary / "folder";
  EXPECT_FALSE(is_ours_alone(folder)) << "it doesn't exist";
  fs::create_directory(folder);
  fs::permissions(folder, fs::perms::owner_all);
  EXPECT_TRUE(is_ours_alone(folder));
  fs::permissions(folder, fs::perms::group_write, fs::perm_options::add);
  EXPECT_FALSE(is_ours_alone(folder));
  fs::permissions(folder, fs::perms::owner_all);
  fs::create_directory_symlink(folder, temporary / "link");
  EXPECT_FALSE(is_ours_alone(temporary / "link"));
  std::ofstream(temporary / "file") << "x";
  fs::permissions(temporary / "file", fs::perms::owner_all);
  EXPECT_FALSE(is_ours_alone(temporary / "file"));
}

}  // namespace
}  // namespace mcpivot
