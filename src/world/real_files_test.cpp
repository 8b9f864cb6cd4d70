#include "world/real_files.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

class RealFilesTest : public testing::Test {
 protected:
  RealFilesTest() { ::setenv("XDG_CACHE_HOME", folder_.path().c_str(), 1); }
  ~RealFilesTest() override { ::unsetenv("XDG_CACHE_HOME"); }

  host::TemporaryDirectory folder_;
  RealFiles files_;
};

TEST_F(RealFilesTest, a_kept_text_is_replaced_atomically_and_private) {
  ASSERT_TRUE(files_.save(Files::Shelf::cache, "name", "the first text, a long one"));
  ASSERT_TRUE(files_.save(Files::Shelf::cache, "name", "the second"));
  EXPECT_EQ(files_.load(Files::Shelf::cache, "name"), "the second");
  const std::string kept = folder_ / "mcpivot";
  struct stat info{};
  ASSERT_EQ(::stat((kept + "/name").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
  EXPECT_EQ(std::distance(fs::directory_iterator(kept), fs::directory_iterator()), 1) << "no draft is left";
}

TEST_F(RealFilesTest, a_text_that_cannot_be_written_is_not_kept) {
  folder_.write("mcpivot", "a file where the folder should be");
  EXPECT_FALSE(files_.save(Files::Shelf::cache, "name", "text"));
  EXPECT_FALSE(files_.load(Files::Shelf::cache, "name").has_value());
}

}  // namespace
}  // namespace mcpivot
