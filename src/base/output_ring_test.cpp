#include "base/output_ring.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(OutputRing, joins_pieces_into_lines) {
  LineAssembler assembler;
  std::vector<std::string> lines;
  auto take = [&](std::string line) { lines.push_back(std::move(line)); };
  assembler.feed("one\ntw", take);
  assembler.feed("o\nthr", take);
  assembler.rest(take);
  EXPECT_EQ(lines, (std::vector<std::string>{"one", "two", "thr"}));
}

TEST(OutputRing, returns_the_lines_of_a_generation_after_a_given_line) {
  OutputRing ring;
  EXPECT_EQ(ring.last_number(), 0U);
  ring.add(1, "first run");
  const std::uint64_t before = ring.last_number();
  ring.add(1, "second run");
  ring.add(2, "another");
  EXPECT_EQ(ring.lines_of(1), (std::vector<std::string>{"first run", "second run"}));
  EXPECT_EQ(ring.lines_of(1, before), std::vector<std::string>{"second run"});
}

TEST(OutputRing, keeps_the_last_thousand_lines_and_truncates_long_ones) {
  OutputRing ring;
  for (int i = 0; i < 2'500; ++i) ring.add(1, std::to_string(i) + "\r");
  EXPECT_EQ(ring.lines().size(), 1'000U);
  EXPECT_EQ(ring.lines().front().text, "1500");
  LineAssembler assembler;
  for (int i = 0; i < 1'000; ++i)
    assembler.feed(std::string(10'000, 'x'), [](const std::string&) { FAIL(); });
  assembler.feed("\n", [&](const std::string& line) { ring.add(2, line); });
  EXPECT_LT(ring.lines().back().text.size(), 4'200U);
  EXPECT_NE(ring.lines().back().text.find("cut"), std::string::npos);
}

TEST(OutputRing, separates_generations_and_is_always_utf8) {
  OutputRing ring;
  ring.add(1, "old");
  ring.add(2, "caf\xe9 \xff");
  ring.add(1, "older");
  EXPECT_EQ(ring.lines_of(1), (std::vector<std::string>{"old", "older"}));
  EXPECT_EQ(ring.lines_of(2), (std::vector<std::string>{"caf? ?"}));
  EXPECT_EQ(ring.lines_of(0).size(), 3U);
}

}  // namespace
}  // namespace mcpivot
