#include "watch/build_output.h"

#include <gtest/gtest.h>

#include "base/temporary_folder.h"

namespace mcpivot {
namespace {

class BuildOutputRule : public testing::Test {
 protected:
  bool in_build(const std::string& path, std::string_view text, bool existed) {
    folder_.write(path, text);
    return output_.changed_during_build(path, folder_ / path, existed);
  }
  bool gone_in_build(const std::string& path) {
    folder_.remove(path);
    return output_.changed_during_build(path, folder_ / path, true);
  }
  bool between(const std::string& path, bool exists = true) {
    return output_.changed_between_builds(path, exists);
  }
  void build() { output_.build_began(); }

  TemporaryFolder folder_;
  BuildOutput output_;
};

TEST_F(BuildOutputRule, a_source_changed_during_a_build_is_built_again) {
  EXPECT_TRUE(between("a.c"));
  build();
  EXPECT_TRUE(in_build("a.c", "new", true));
}

TEST_F(BuildOutputRule, a_file_first_changed_during_a_build_may_be_an_edit_the_second_time_it_is_output) {
  build();
  EXPECT_TRUE(in_build("b.c", "1", true));
  build();
  EXPECT_FALSE(in_build("b.c", "2", true));
}

TEST_F(BuildOutputRule, a_file_that_a_build_skipped_is_still_output) {
  build();
  in_build("out.js", "1", true);
  build();  // failed before it wrote anything
  build();
  EXPECT_FALSE(in_build("out.js", "2", true));
}

TEST_F(BuildOutputRule, a_file_that_the_build_made_is_output_from_the_first_build_on) {
  between("main.c");
  build();
  EXPECT_FALSE(in_build("out/log.txt", "text", false));
  EXPECT_TRUE(in_build("new.c", "text", false)) << "named like a source: somebody may have added it";
}

TEST_F(BuildOutputRule, what_is_no_text_is_output_even_if_it_also_changed_between_builds) {
  const std::string_view binary(
      "\x7f"
      "ELF\0\0",
      6);
  build();
  EXPECT_FALSE(in_build("app", binary, true));
  EXPECT_TRUE(between("app")) << "somebody built by hand";
  build();
  EXPECT_FALSE(in_build("app", binary, true));
}

TEST_F(BuildOutputRule, the_same_content_as_after_the_build_before_is_no_change) {
  between("gen.c");
  build();
  EXPECT_TRUE(in_build("gen.c", "generated", true));
  build();
  EXPECT_FALSE(in_build("gen.c", "generated", true));
}

TEST_F(BuildOutputRule, a_build_that_rewrites_a_source_each_time_does_not_go_on_for_ever) {
  between("version.h");
  int builds = 1;
  build();
  while (in_build("version.h", std::to_string(builds), true) && builds < 100) {
    build();
    ++builds;
  }
  EXPECT_EQ(builds, 5);
  between("version.h");
  build();
  EXPECT_TRUE(in_build("version.h", "edited", true)) << "a change between builds makes it a source again";
}

TEST_F(BuildOutputRule, output_that_vanishes_between_builds_is_no_reason_to_build_a_source_is) {
  build();
  in_build("out/a.txt", "1", false);
  EXPECT_FALSE(between("out/a.txt", false));
  EXPECT_TRUE(between("src/a.c", false));
  EXPECT_TRUE(between("out/a.txt", true)) << "changed by somebody else";
}

TEST_F(BuildOutputRule, a_source_deleted_during_a_build_is_built_again) {
  between("a.c");
  build();
  EXPECT_TRUE(gone_in_build("a.c"));
}

}  // namespace
}  // namespace mcpivot
