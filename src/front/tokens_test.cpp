#include "front/tokens.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <fstream>

#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string first = "aaaaaaaaaaaaaaa1";
const std::string second = "aaaaaaaaaaaaaaa2";
const std::string third = "aZ09-._~+/aaaaaaaaa==";

Tokens some_tokens() {
  auto tokens = Tokens::parse(
      "f", "# who\nalice " + first + " work\n\n\talice\t" + second + " # next\r\nci@host " + third);
  EXPECT_TRUE(tokens) << tokens.error();
  return std::move(*tokens);
}

TEST(Tokens, a_token_determines_the_name_and_profile) {
  const Tokens tokens = some_tokens();
  EXPECT_EQ(tokens.size(), 3U);
  EXPECT_EQ(tokens.find(first)->name, "alice");
  EXPECT_EQ(tokens.find(first)->profile, "work");
  EXPECT_EQ(tokens.find(second)->name, "alice");
  EXPECT_EQ(tokens.find(second)->profile, "");
  EXPECT_EQ(tokens.find(third)->name, "ci@host");
}

TEST(Tokens, part_of_a_token_matches_nobody) {
  const Tokens tokens = some_tokens();
  for (const std::string& token :
       {std::string(), first.substr(0, 15), first + "1", " " + first, first + " ", "A" + first.substr(1),
        std::string("alice"), std::string(1'000'000, 'a'), first + '\0'})
    EXPECT_EQ(tokens.find(token), std::nullopt) << token.substr(0, 50);
}

TEST(Tokens, an_error_names_file_and_line_but_shows_no_token) {
  const std::string spare = "sssssssssssssssss";
  for (const auto& [text, why] :
       {std::pair<std::string, std::string>{"alice", "/t:1: the token is missing"},
        {"\n\nalice # " + spare, "/t:3: the token is missing"},
        {"alice sssssssssssssss", "/t:1: the token of alice is shorter than 16 characters"},
        {"alice " + std::string(4097, 's'), "longer than 4096"},
        {"alice " + spare + "#", "a character that a Bearer token can't have"},
        {"alice " + spare + "\"", "a character that a Bearer token can't have"},
        {"alice " + spare + " work " + spare, "this one has more"},
        {"alice " + spare + " w\"k", "a profile has"},
        {"al/ice " + spare, "a name has"},
        {std::string(129, 'n') + " " + spare, "a name has up to 128"},
        {"a\x80 " + spare, "a name has"},
        {"alice " + spare + " work\n# \nbob " + spare, "/t:3: bob has the same token as alice on line 1"},
        {"alice " + spare + "\nalice " + spare, "/t:2: alice has the same token as alice on line 1"}}) {
    const auto tokens = Tokens::parse("/t", text);
    ASSERT_FALSE(tokens) << text;
    EXPECT_THAT(tokens.error(), AllOf(HasSubstr(why), Not(HasSubstr("sssss")))) << text;
  }
}

// Emptying the file to lock everybody out must not be an error that leaves the old tokens valid.
TEST(Tokens, a_file_without_tokens_lets_nobody_in) {
  const auto tokens = Tokens::parse("/t", "# alice is gone\n");
  ASSERT_TRUE(tokens);
  EXPECT_EQ(tokens->size(), 0U);
  EXPECT_EQ(tokens->find(""), std::nullopt);
  EXPECT_EQ(tokens->find(first), std::nullopt);
}

TEST(Tokens, a_line_keeps_its_id_until_it_is_removed_or_changed) {
  const std::string id = some_tokens().find(first)->id;
  EXPECT_TRUE(some_tokens().has(id));
  const auto has = [&](const std::string& text) { return Tokens::parse("f", text)->has(id); };
  EXPECT_TRUE(has("bob " + second + "\n alice  " + first + "   work # moved"));
  EXPECT_FALSE(has("alice " + second + " work"));
  EXPECT_FALSE(has("bob " + first + " work")) << "the token is another's now";
  EXPECT_FALSE(has("alice " + first + " play"));
  EXPECT_FALSE(has(""));
  EXPECT_NE(some_tokens().find(second)->id, id);
  EXPECT_FALSE(some_tokens().has(""));
}

TEST(Tokens, a_file_that_others_can_read_is_rejected_with_the_command_to_fix_it) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "tokens";
  folder.write("tokens", "alice " + first);
  ::chmod(path.c_str(), 0644);
  EXPECT_THAT(Tokens::load(path).error(), AllOf(HasSubstr(path), HasSubstr("chmod 600 " + path)));
  ::chmod(path.c_str(), 0600);
  const auto tokens = Tokens::load(path);
  ASSERT_TRUE(tokens) << tokens.error();
  EXPECT_TRUE(tokens->find(first));
  EXPECT_THAT(Tokens::load(folder / "none").error(), HasSubstr("No such file"));
}

TEST(Tokens, an_error_in_the_file_names_the_file) {
  const host::TemporaryDirectory folder;
  folder.write("tokens", "\nalice short");
  ::chmod((folder / "tokens").c_str(), 0600);
  EXPECT_THAT(Tokens::load(folder / "tokens").error(), HasSubstr(folder / "tokens:2: "));
}

// The heap and the stack are searched for a token that was in the file.
TEST(Tokens, the_text_of_a_token_does_not_stay_in_memory) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "tokens";
  // Made in pieces and reversed, so that this test holds no copy of it.
  const std::string backwards = "9876543210fedcba-nekot-terces-eht";
  {
    std::ofstream file(path);
    // Large enough that the memory isn't reused soon, and with the token away from its beginning, where
    // malloc writes when it is freed.
    file << '#' << std::string(5000, ' ') << "\nalice ";
    for (auto c = backwards.rbegin(); c != backwards.rend(); ++c) file << *c << std::flush;
  }
  ::chmod(path.c_str(), 0600);
  const auto tokens = Tokens::load(path);
  ASSERT_TRUE(tokens) << tokens.error();
  std::ifstream maps("/proc/self/maps");
  const int memory = ::open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
  static std::array<char, 65536> piece;  // on neither: new memory could overwrite what we look for
  std::size_t searched = 0;
  for (std::string line; std::getline(maps, line);) {
    if (!line.ends_with("[heap]") && !line.ends_with("[stack]")) continue;
    unsigned long begin = 0;
    unsigned long end = 0;
    ASSERT_EQ(std::sscanf(line.c_str(), "%lx-%lx", &begin, &end), 2);
    for (; begin < end; begin += piece.size() / 2) {
      const ssize_t got =
          ::pread(memory, piece.data(), std::min(piece.size(), end - begin), static_cast<off_t>(begin));
      ASSERT_GT(got, 0) << line;
      EXPECT_EQ(std::search(piece.begin(), piece.begin() + got, backwards.rbegin(), backwards.rend()),
                piece.begin() + got)
          << line;
    }
    ++searched;
  }
  ::close(memory);
  EXPECT_GE(searched, 1U);
}

}  // namespace
}  // namespace mcpivot
