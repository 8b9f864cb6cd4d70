#include "watch/build_output.h"

#include <gtest/gtest.h>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

class BuildOutputRule : public testing::Test {
 protected:
  using Change = BuildOutput::Change;

  Change change_in_build(const std::string& path, std::string_view text, bool existed) {
    folder_.write(path, text);
    return output_.changed_during_build(path, folder_ / path, existed);
  }
  bool in_build(const std::string& path, std::string_view text, bool existed) {
    return change_in_build(path, text, existed) == Change::source;
  }
  bool gone_in_build(const std::string& path) {
    folder_.remove(path);
    return output_.changed_during_build(path, folder_ / path, true) == Change::source;
  }
  bool between(const std::string& path, bool exists = true) {
    return output_.changed_between_builds(path, exists) == Change::source;
  }
  void build() { output_.build_began(); }

  host::TemporaryDirectory folder_;
  BuildOutput output_;
};

TEST_F(BuildOutputRule, a_source_changed_during_a_build_is_built_again) {
  EXPECT_TRUE(between("a.c"));
  build();
  EXPECT_TRUE(in_build("a.c", "new", true));
}

TEST_F(BuildOutputRule, a_file_changed_during_two_builds_in_a_row_is_output) {
  build();
  EXPECT_TRUE(in_build("b.c", "1", true));
  build();
  EXPECT_FALSE(in_build("b.c", "2", true));
}

TEST_F(BuildOutputRule, a_file_named_like_a_source_may_be_edited_during_every_second_build) {
  between("a.c");
  for (int i = 1; i <= 20; ++i) {
    build();
    EXPECT_TRUE(in_build("b.c", std::to_string(i), true)) << i;
    build();  // a build during which nobody edits the file
  }
}

TEST_F(BuildOutputRule, output_named_like_a_source_causes_four_builds_and_one_report) {
  between("a.c");
  for (int row = 1; row <= 3; ++row) {
    for (int i = 1; i <= 10; ++i) {
      build();
      EXPECT_EQ(change_in_build("version.c", std::to_string(100 * row + i), true), i <= 4   ? Change::source
                                                                                   : i == 5 ? Change::left_out
                                                                                            : Change::output)
          << row << " " << i;
    }
    build();  // a build that doesn't write it
  }
}

TEST_F(BuildOutputRule, output_that_changes_with_its_source_is_soon_reported_and_ignored) {
  between("a.c");
  int left_out = 0;
  int again = 0;
  for (int edit = 1; edit <= 10; ++edit) {
    build();
    const Change change = change_in_build("generated.c", std::to_string(edit), true);
    left_out += change == Change::left_out ? 1 : 0;
    if (change != Change::source) continue;
    ++again;
    build();
    EXPECT_FALSE(in_build("generated.c", std::to_string(edit), true));
  }
  EXPECT_EQ(again, 2);
  EXPECT_EQ(left_out, 1);
}

TEST_F(BuildOutputRule, an_ignored_source_that_is_built_after_all_is_reported_again_next_time) {
  between("a.c");
  for (int i = 1; i <= 4; ++i) {
    build();
    EXPECT_TRUE(in_build("a.c", std::to_string(i), true));
  }
  build();
  EXPECT_EQ(change_in_build("a.c", "5", true), Change::left_out);
  output_.is_built_now("a.c");
  build();
  EXPECT_EQ(change_in_build("a.c", "6", true), Change::left_out);
  build();
  EXPECT_EQ(change_in_build("a.c", "7", true), Change::output);
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

TEST_F(BuildOutputRule, a_binary_file_is_output_even_if_it_also_changed_between_builds) {
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

TEST_F(BuildOutputRule, the_same_content_as_after_the_previous_build_is_no_change) {
  between("gen.c");
  build();
  EXPECT_TRUE(in_build("gen.c", "generated", true));
  build();
  EXPECT_FALSE(in_build("gen.c", "generated", true));
}

TEST_F(BuildOutputRule, a_build_that_always_rewrites_a_source_does_not_repeat_endlessly) {
  between("version.h");
  int builds = 1;
  build();
  Change change{};
  while ((change = change_in_build("version.h", std::to_string(builds), true)) == Change::source &&
         builds < 100) {
    build();
    ++builds;
  }
  EXPECT_EQ(builds, 5);
  EXPECT_EQ(change, Change::left_out) << "nobody knows whose change it was, so somebody is told";
  between("version.h");
  build();
  EXPECT_TRUE(in_build("version.h", "edited", true)) << "a change between builds makes it a source again";
}

TEST_F(BuildOutputRule, a_deleted_source_causes_a_build_and_deleted_output_does_not) {
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
