#include "clitools/captured_output.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <simdjson.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>

namespace mcpivot {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

std::string content_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string path_in(const std::string& text) {
  const auto from = text.find("all of it is in ") + 16;
  return text.substr(from, text.find(']', from) - from);
}

TEST(CapturedOutput, is_complete_up_to_its_limit) {
  CapturedOutput output(10, nullptr, "x");
  output.add("01234");
  output.add("56789");
  EXPECT_FALSE(output.cut());
  EXPECT_EQ(output.whole(), "0123456789");
  EXPECT_EQ(output.text(), "0123456789");
  EXPECT_EQ(output.size(), 10U);
}

TEST(CapturedOutput, keeps_the_beginning_the_end_and_a_file_of_longer_output) {
  const auto files = std::make_shared<KeptFiles>();
  for (const std::size_t piece : {1U, 7U, 1000U}) {
    CapturedOutput output(100, files, "tool");
    std::string all;
    for (int i = 0; i < 1000; ++i) all += std::to_string(i % 10);
    for (std::size_t at = 0; at < all.size(); at += piece)
      output.add(std::string_view(all).substr(at, piece));
    EXPECT_TRUE(output.cut());
    const std::string text = output.text();
    EXPECT_THAT(text, AllOf(StartsWith(all.substr(0, 50) +
                                       "\n… [mcpivot omitted 900 of 1000 bytes here; all of it is in /"),
                            EndsWith("] …\n" + all.substr(950))));
    EXPECT_EQ(content_of(path_in(text)), all);
    EXPECT_THAT(path_in(text), HasSubstr("/tool-"));
  }
}

TEST(CapturedOutput, is_never_cut_inside_a_character) {
  for (std::size_t limit = 20; limit < 30; ++limit) {
    CapturedOutput output(limit, nullptr, "x");
    for (int i = 0; i < 20; ++i) output.add("ü🎉");
    const std::string text = output.text();
    EXPECT_TRUE(simdjson::validate_utf8(text.data(), text.size()));
    EXPECT_EQ(text.find('?'), std::string::npos) << text;
  }
}

TEST(KeptFiles, only_the_newest_are_kept_and_all_are_deleted_at_the_end) {
  std::vector<std::string> paths;
  {
    KeptFiles files;
    for (std::size_t i = 0; i < KeptFiles::most_files + 3; ++i) {
      const auto file = files.create("x");
      ASSERT_TRUE(file) << file.error();
      ::close(file->descriptor);
      paths.push_back(file->path);
    }
    EXPECT_FALSE(std::filesystem::exists(paths[2]));
    EXPECT_TRUE(std::filesystem::exists(paths[3]));
  }
  EXPECT_FALSE(std::filesystem::exists(std::filesystem::path(paths.back()).parent_path()));
}

}  // namespace
}  // namespace mcpivot
