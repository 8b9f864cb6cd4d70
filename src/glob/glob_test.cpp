#include "glob/glob.h"

#include <gtest/gtest.h>

#include <chrono>

namespace mcpivot {
namespace {

Glob glob(std::string_view text) {
  auto compiled = Glob::compile(text);
  EXPECT_TRUE(compiled) << compiled.error();
  return compiled ? *compiled : *Glob::compile("-");
}

std::string error_of(std::string_view text) {
  const auto compiled = Glob::compile(text);
  return compiled ? "" : compiled.error();
}

TEST(Glob, a_star_stays_within_a_name) {
  EXPECT_TRUE(glob("*.rs").matches("a.rs"));
  EXPECT_TRUE(glob("*.rs").matches(".rs"));
  EXPECT_FALSE(glob("*.rs").matches("src/a.rs"));
  EXPECT_FALSE(glob("*.rs").matches("a.rsx"));
  EXPECT_TRUE(glob("src/*/mod.rs").matches("src/a/mod.rs"));
  EXPECT_FALSE(glob("src/*/mod.rs").matches("src/a/b/mod.rs"));
  EXPECT_FALSE(glob("src/*/mod.rs").matches("src/mod.rs"));
  EXPECT_TRUE(glob("a*b*c").matches("axxbxbxc"));
  EXPECT_FALSE(glob("a*b*c").matches("axxbxbx"));
}

TEST(Glob, two_stars_match_any_number_of_folders_including_none) {
  EXPECT_TRUE(glob("src/**/*.rs").matches("src/a.rs"));
  EXPECT_TRUE(glob("src/**/*.rs").matches("src/x/y/z/a.rs"));
  EXPECT_FALSE(glob("src/**/*.rs").matches("a.rs"));
  EXPECT_FALSE(glob("src/**/*.rs").matches("lib/src/a.rs"));
  EXPECT_TRUE(glob("**").matches("a"));
  EXPECT_TRUE(glob("**").matches("a/b/c"));
  EXPECT_TRUE(glob("**/*.py").matches("a.py"));
  EXPECT_TRUE(glob("**/test/**/*.py").matches("a/test/b/test/c/d.py"));
  EXPECT_TRUE(glob("dist/**").matches("dist/a/b.js"));
  EXPECT_FALSE(glob("dist/**").matches("dist"));
  EXPECT_FALSE(glob("dist/**").matches("distant/a"));
  EXPECT_TRUE(glob("a**b").matches("axyb")) << "within a name they are one star";
  EXPECT_FALSE(glob("a**b").matches("ax/yb"));
}

TEST(Glob, question_marks_and_sets_match_one_character_of_any_script) {
  EXPECT_TRUE(glob("a?c").matches("abc"));
  EXPECT_TRUE(glob("a?c").matches("a\u00e9c"));
  EXPECT_TRUE(glob("a?c").matches("a\xffzc") == false && glob("a?c").matches("a\xff"
                                                                             "c"));
  EXPECT_FALSE(glob("a?c").matches("a/c"));
  EXPECT_TRUE(glob("[a-cx].h").matches("x.h"));
  EXPECT_FALSE(glob("[a-cx].h").matches("d.h"));
  EXPECT_TRUE(glob("[!a-c].h").matches("d.h"));
  EXPECT_FALSE(glob("[^a-c].h").matches("b.h"));
  EXPECT_TRUE(glob("[]-].h").matches("].h"));
  EXPECT_TRUE(glob("[]-].h").matches("-.h"));
  EXPECT_TRUE(glob("[\u00e4-\u00fc].h").matches("\u00f6.h"));
}

TEST(Glob, braces_are_alternatives_and_may_be_nested_or_empty) {
  EXPECT_TRUE(glob("*.{c,h}").matches("a.h"));
  EXPECT_FALSE(glob("*.{c,h}").matches("a.o"));
  EXPECT_TRUE(glob("{src,lib/{a,b}}/**/*.{js,ts}{,x}").matches("lib/b/c/d.tsx"));
  EXPECT_TRUE(glob("{src,lib/{a,b}}/**/*.{js,ts}{,x}").matches("src/d.js"));
  EXPECT_FALSE(glob("{src,lib/{a,b}}/**/*.{js,ts}{,x}").matches("lib/c/d.js"));
  EXPECT_TRUE(glob("[{]a}").matches("{a}"));
}

TEST(Glob, a_backslash_escapes_a_character) {
  EXPECT_TRUE(glob("\\*.c").matches("*.c"));
  EXPECT_FALSE(glob("\\*.c").matches("a.c"));
  EXPECT_TRUE(glob("\\{a,b\\}").matches("{a,b}"));
}

TEST(Glob, a_folder_matches_everything_in_it) {
  EXPECT_TRUE(glob("src").matches("src/a/b.c"));
  EXPECT_TRUE(glob("src").matches("src")) << "it may be a file";
  EXPECT_TRUE(glob("./src//").matches("src/a"));
  EXPECT_TRUE(glob(".").matches("a/b"));
  EXPECT_FALSE(glob("src").matches("srcs/a"));
}

TEST(Glob, knows_which_folders_need_no_watching) {
  EXPECT_TRUE(glob("src/*.c").may_match_below(""));
  EXPECT_TRUE(glob("src/*.c").may_match_below("src"));
  EXPECT_FALSE(glob("src/*.c").may_match_below("src/deep"));
  EXPECT_FALSE(glob("src/**/*.c").may_match_below("lib"));
  EXPECT_TRUE(glob("src/**/*.c").may_match_below("src/a/b/c"));
  EXPECT_FALSE(glob("*.c").may_match_below("node_modules"));
  EXPECT_TRUE(glob("{a,b}/x/*").may_match_below("b"));
}

TEST(Glob, knows_which_folders_it_names) {
  EXPECT_TRUE(glob("dist/**").names("dist"));
  EXPECT_FALSE(glob("dist/**").names("dist/a"));
  EXPECT_TRUE(glob("packages/*/dist/**").names("packages/a/dist"));
  EXPECT_FALSE(glob("**/*.js").names("dist"));
  EXPECT_TRUE(glob("build/gen.c").names("build/gen.c"));
}

TEST(Glob, a_bad_pattern_is_rejected_with_a_reason) {
  EXPECT_NE(error_of("").find("empty"), std::string::npos);
  EXPECT_NE(error_of("src/[a-").find("'src/[a-': a '[' has no ']'"), std::string::npos);
  EXPECT_NE(error_of("src/{a,b").find("'{' has no '}'"), std::string::npos);
  EXPECT_NE(error_of("[z-a]").find("backwards"), std::string::npos);
  EXPECT_NE(error_of("a\\").find("ends in '\\'"), std::string::npos);
  EXPECT_NE(error_of("/etc/**").find("absolute"), std::string::npos);
  EXPECT_NE(error_of("../x/**").find("'..'"), std::string::npos);
  EXPECT_NE(error_of("{a,..}/x").find("'..'"), std::string::npos);
  EXPECT_NE(error_of(std::string(5000, 'a')).find("longer"), std::string::npos);
  std::string many;
  for (int i = 0; i < 40; ++i) many += "{a,b}";
  EXPECT_NE(error_of(many).find("too many"), std::string::npos);
}

TEST(Glob, matching_a_hostile_pattern_takes_at_most_quadratic_time) {
  std::string stars;
  std::string folders;
  for (int i = 0; i < 200; ++i) stars += "*a";
  for (int i = 0; i < 200; ++i) folders += "**/a/";
  std::string path;
  for (int i = 0; i < 1000; ++i) path += "a/";
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(glob(stars + "b").matches(std::string(4000, 'a')));
  EXPECT_FALSE(glob(folders + "b").matches(path + "c"));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(2));
}

TEST(Glob, any_bytes_are_either_a_pattern_or_an_error) {
  int matches = 0;
  std::uint32_t seed = 1;
  constexpr std::string_view alphabet = "ab/*?[]{},!\\-.^\xc3\xa9\xff";
  for (int round = 0; round < 50'000; ++round) {
    const auto text = [&] {
      std::string result;
      for (std::uint32_t i = (seed >> 5U) % 12; i > 0; --i) {
        seed = seed * 1664525U + 1013904223U;
        result += alphabet[(seed >> 8U) % alphabet.size()];
      }
      seed = seed * 1664525U + 1013904223U;
      return result;
    };
    const auto compiled = Glob::compile(text());
    if (!compiled) continue;
    const std::string path = text();
    compiled->names(path);
    compiled->may_match_below(path);
    if (!compiled->matches(path)) continue;
    ++matches;
    for (std::size_t end = path.find('/'); end != std::string::npos; end = path.find('/', end + 1))
      EXPECT_TRUE(compiled->may_match_below(path.substr(0, end))) << compiled->text() << ": " << path;
  }
  EXPECT_GT(matches, 0);
}

}  // namespace
}  // namespace mcpivot
