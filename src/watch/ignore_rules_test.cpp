#include "watch/ignore_rules.h"

#include <gtest/gtest.h>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

IgnoreRules rules(std::string_view text) {
  IgnoreRules result("");
  result.set("", text);
  return result;
}

bool ignores_file(std::string_view text, std::string_view path) {
  return rules(text).ignores(path, false);
}
bool ignores_folder(std::string_view text, std::string_view path) {
  return rules(text).ignores(path, true);
}

TEST(IgnoreRules, a_name_without_a_slash_is_ignored_everywhere) {
  EXPECT_TRUE(ignores_file("*.o\n", "a.o"));
  EXPECT_TRUE(ignores_file("*.o\n", "deep/er/a.o"));
  EXPECT_TRUE(ignores_file("target", "x/target/debug/a"));
  EXPECT_FALSE(ignores_file("*.o\n", "a.oo"));
}

TEST(IgnoreRules, a_slash_anchors_a_pattern_to_its_folder) {
  EXPECT_TRUE(ignores_file("/build\n", "build"));
  EXPECT_FALSE(ignores_file("/build\n", "x/build"));
  EXPECT_TRUE(ignores_file("doc/*.txt\n", "doc/a.txt"));
  EXPECT_FALSE(ignores_file("doc/*.txt\n", "x/doc/a.txt"));
  EXPECT_FALSE(ignores_file("doc/*.txt\n", "doc/x/a.txt"));
}

TEST(IgnoreRules, a_trailing_slash_means_folders_and_everything_in_them) {
  EXPECT_FALSE(ignores_file("dist/\n", "dist"));
  EXPECT_TRUE(ignores_folder("dist/\n", "dist"));
  EXPECT_TRUE(ignores_file("dist/\n", "packages/a/dist/b/c.js"));
}

TEST(IgnoreRules, two_stars_cross_folders) {
  EXPECT_TRUE(ignores_file("**/gen\n", "a/b/gen/x"));
  EXPECT_TRUE(ignores_file("a/**/b\n", "a/b"));
  EXPECT_TRUE(ignores_file("a/**/b\n", "a/x/y/b"));
  EXPECT_TRUE(ignores_file("out/**\n", "out/x/y"));
  EXPECT_FALSE(ignores_folder("out/**\n", "out"));
}

TEST(IgnoreRules, comments_blanks_escapes_and_carriage_returns_are_read_as_git_reads_them) {
  const std::string_view text =
      "\xEF\xBB\xBF*.tmp\r\n# *.c\n\n\\#odd\n\\!bang\ntrailing   \nkept\\ \n[broken\n{a,b}\n";
  EXPECT_TRUE(ignores_file(text, "a.tmp"));
  EXPECT_FALSE(ignores_file(text, "a.c"));
  EXPECT_TRUE(ignores_file(text, "#odd"));
  EXPECT_TRUE(ignores_file(text, "!bang"));
  EXPECT_TRUE(ignores_file(text, "trailing"));
  EXPECT_TRUE(ignores_file(text, "kept "));
  EXPECT_FALSE(ignores_file(text, "kept"));
  EXPECT_FALSE(ignores_file(text, "[broken"));
  EXPECT_FALSE(ignores_file(text, "a")) << "braces mean nothing here";
}

TEST(IgnoreRules, the_last_rule_that_matches_wins) {
  EXPECT_FALSE(ignores_file("*.log\n!keep.log\n", "keep.log"));
  EXPECT_TRUE(ignores_file("!keep.log\n*.log\n", "keep.log"));
  EXPECT_FALSE(ignores_file("/*\n!/src/\n", "src/a.c"));
  EXPECT_TRUE(ignores_file("/*\n!/src/\n", "lib/a.c"));
}

TEST(IgnoreRules, a_file_in_an_excluded_folder_stays_excluded) {
  EXPECT_TRUE(ignores_file("dist/\n!dist/keep.js\n", "dist/keep.js"));
  EXPECT_FALSE(ignores_file("dist/*\n!dist/keep.js\n", "dist/keep.js"));
}

TEST(IgnoreRules, a_deeper_gitignore_overrides_a_higher_one_and_is_anchored_to_its_folder) {
  IgnoreRules nested("");
  nested.set("", "*.gen\n");
  nested.set("sub", "!*.gen\n/only_here\n");
  EXPECT_TRUE(nested.ignores("a.gen", false));
  EXPECT_FALSE(nested.ignores("sub/a.gen", false));
  EXPECT_TRUE(nested.ignores("sub/only_here", false));
  EXPECT_FALSE(nested.ignores("only_here", false));
  EXPECT_FALSE(nested.ignores("sub/x/only_here", false));
  nested.set("sub", "");
  EXPECT_TRUE(nested.ignores("sub/a.gen", false));
}

TEST(IgnoreRules, the_git_folder_and_editors_temporary_files_are_always_ignored) {
  EXPECT_TRUE(ignores_file("", ".git/index"));
  EXPECT_TRUE(ignores_file("!.git\n", "vendor/x/.git"));
  EXPECT_TRUE(ignores_file("", "src/.main.c.swp"));
  EXPECT_TRUE(ignores_file("", "src/main.c~"));
  EXPECT_FALSE(ignores_file("!*~\n", "src/main.c~"));
  EXPECT_FALSE(ignores_file("", ".gitignore"));
}

TEST(IgnoreRules, a_folder_that_is_no_longer_ignored_still_obeys_other_rules_inside) {
  for (const std::string_view text :
       {"dist/\nnode_modules\n", "/dist/*\nnode_modules\n", "dist/**\nnode_modules\n"}) {
    const IgnoreRules some = rules(text);
    const IgnoreRules::Lifted lifted = some.lift("dist", {});
    EXPECT_FALSE(some.excludes("dist", true, lifted)) << text;
    EXPECT_FALSE(some.excludes("dist/a.js", false, lifted)) << text;
    EXPECT_TRUE(some.excludes("dist/node_modules", true, lifted)) << text;
    EXPECT_TRUE(some.excludes("dist/.git", true, lifted)) << text;
  }
  const IgnoreRules listed = rules("*\n!*/\n!*.c\n");
  const IgnoreRules::Lifted lifted = listed.lift("src", {});
  EXPECT_FALSE(listed.excludes("src/a.c", false, lifted));
}

TEST(IgnoreRules, gitignore_files_above_the_root_apply_up_to_the_top_of_the_repository) {
  const host::TemporaryDirectory folder;
  folder.write(".gitignore", "*.above\n");
  folder.write("top/.git/info/exclude", "*.excluded\n");
  folder.write("top/.gitignore", "/sub/root/anchored\n*.top\n");
  folder.write("top/sub/.gitignore", "root/from_sub\n!b.top\n");
  folder.write("top/sub/root/.gitignore", "own\n");
  IgnoreRules some(folder / "top/sub/root");
  some.read("");
  EXPECT_FALSE(some.ignores("a.above", false));
  EXPECT_TRUE(some.ignores("a.excluded", false));
  EXPECT_TRUE(some.ignores("anchored", false));
  EXPECT_TRUE(some.ignores("x/a.top", false));
  EXPECT_FALSE(some.ignores("x/b.top", false));
  EXPECT_TRUE(some.ignores("from_sub", false));
  EXPECT_TRUE(some.ignores("own", false));
}

TEST(IgnoreRules, a_root_that_is_itself_ignored_can_be_watched) {
  const host::TemporaryDirectory folder;
  folder.write("top/.git/HEAD", "");
  folder.write("top/.gitignore", "*\n");
  folder.write("top/root/a.c", "");
  const IgnoreRules some(folder / "top/root");
  EXPECT_TRUE(some.excludes("a.c", false));
  EXPECT_FALSE(some.excludes("a.c", false, some.lift_root()));
}

}  // namespace
}  // namespace mcpivot
