// Documentation that is generated from the program, for the tests that keep the two in sync. With
// MCPIVOT_WRITE_DOCS in the environment, such a test writes it; otherwise it compares.
//
// One thread.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

namespace host {

// A whole file in docs/.
inline void expect_written(const std::string& file, const std::string& expected) {
  const std::string path = PROJECT_DIRECTORY "/docs/" + file;
  if (std::getenv("MCPIVOT_WRITE_DOCS") != nullptr) std::ofstream(path) << expected;
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  EXPECT_EQ(text.str(), expected) << fmt::format(
      "run: MCPIVOT_WRITE_DOCS=1 build/release/unit_tests --gtest_filter='{}.*'",
      testing::UnitTest::GetInstance()->current_test_info()->test_suite_name());
}

// The part of a Markdown file between the markers of this name.
inline void expect_written_part(const std::string& file, const std::string& mark,
                                const std::string& expected) {
  std::ostringstream read;
  read << std::ifstream(PROJECT_DIRECTORY "/docs/" + file).rdbuf();
  std::string text = read.str();
  const auto begin = text.find(fmt::format("<!-- {}: written by the program", mark));
  const auto end = text.find(fmt::format("<!-- {}: end -->\n", mark));
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto inside = text.find('\n', begin) + 1;
  ASSERT_LE(inside, end);
  text.replace(inside, end - inside, fmt::format("\n{}\n", expected));
  expect_written(file, text);
}

}  // namespace host
