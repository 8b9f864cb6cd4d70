#include "front/private_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

using testing::HasSubstr;

struct stat file(uid_t owner, gid_t group, mode_t rights, mode_t kind = S_IFREG) {
  struct stat made{};
  made.st_uid = owner;
  made.st_gid = group;
  made.st_mode = kind | rights;
  return made;
}

TEST(PrivateFile, must_be_accessible_only_to_its_owner) {
  for (const mode_t rights : {0600U, 0400U, 0700U})
    EXPECT_EQ(why_not_private("f", file(1000, 1000, rights), 1000), "");
  for (const mode_t rights : {0640U, 0604U, 0620U, 0601U})
    EXPECT_THAT(why_not_private("f", file(1000, 1000, rights), 1000), HasSubstr("chmod 600 f"));
  EXPECT_THAT(why_not_private("f", file(1001, 1000, 0600), 1000), HasSubstr("chown 1000 f"));
  EXPECT_THAT(why_not_private("f", file(1000, 1000, 0600, S_IFIFO), 1000), HasSubstr("regular file"));
}

// As systemd's LoadCredential= creates it.
TEST(PrivateFile, may_belong_to_root_if_nobody_else_can_read_it) {
  EXPECT_EQ(why_not_private("f", file(0, 0, 0440), 1000), "");
  EXPECT_EQ(why_not_private("f", file(0, 0, 0400), 1000), "");
  EXPECT_EQ(why_not_private("f", file(0, 0, 0640), 1000), "");
  EXPECT_THAT(why_not_private("f", file(0, 0, 0444), 1000), HasSubstr("another user (uid 0;"));
  EXPECT_THAT(why_not_private("f", file(0, 0, 0460), 1000), HasSubstr("another user (uid 0;"));
  EXPECT_THAT(why_not_private("f", file(0, 50, 0440), 1000), HasSubstr("another user (uid 0;"));
  EXPECT_THAT(why_not_private("f", file(0, 0, 0440), 0), HasSubstr("chmod 600 f"));
}

}  // namespace
}  // namespace mcpivot
