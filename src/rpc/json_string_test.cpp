// The block-wise scan against the byte-wise one, which is simple enough to be believed.
#include "rpc/json_string.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>

namespace mcpivot {
namespace {

// Pieces that strings with trouble in them are made of.
rc::Gen<std::string> tricky_text() {
  const auto piece = rc::gen::weightedElement<std::string>({{30, "plain text"},
                                                            {10, "x"},
                                                            {10, "\\\\"},
                                                            {10, "\\\""},
                                                            {6, "\\n"},
                                                            {6, "\\u12aF"},
                                                            {6, "naïve"},
                                                            {2, "\\u12g4"},
                                                            {2, "\\u1"},
                                                            {2, "\\q"},
                                                            {2, "\\"},
                                                            {2, "\""},
                                                            {2, "\n"},
                                                            {1, std::string(1, '\0')},
                                                            {1, "\\\x80"}});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const auto& pieces) {
    std::string text;
    for (const auto& part : pieces) text += part;
    return text;
  });
}

RC_GTEST_PROP(JsonString, scans_blocks_as_it_scans_bytes, ()) {
  const std::string text = *rc::gen::scale(4, tricky_text());
  const char* begin = text.data();
  const char* end = begin + text.size();
  const StringScan fast = scan_string(begin, end);
  const StringScan plain = scan_string_plainly(begin, end);
  RC_ASSERT((fast.error == nullptr) == (plain.error == nullptr));
  if (fast.error != nullptr) return;
  RC_ASSERT(fast.at - begin == plain.at - begin);
  RC_ASSERT(fast.escaped == plain.escaped);
  RC_ASSERT(fast.non_ascii == plain.non_ascii);
}

TEST(JsonString, finds_the_quote_behind_runs_of_backslashes_at_every_place) {
  for (std::size_t offset = 0; offset < 130; ++offset) {
    for (std::size_t run = 0; run < 70; ++run) {
      std::string text(offset, 'a');
      text += std::string(run, '\\') + "\"" + std::string(80, 'b') + "\"";
      const StringScan scan = scan_string(text.data(), text.data() + text.size());
      ASSERT_EQ(scan.error, nullptr);
      const std::size_t expected = run % 2 == 0 ? offset + run : text.size() - 1;
      ASSERT_EQ(static_cast<std::size_t>(scan.at - text.data()), expected) << offset << " " << run;
    }
  }
}

TEST(JsonString, says_what_is_wrong) {
  auto error = [](std::string_view text) {
    return std::string(scan_string(text.data(), text.data() + text.size()).error);
  };
  EXPECT_EQ(error("abc"), "a string without its closing quote");
  EXPECT_EQ(error("a\tb\""), "a control character in a string");
  EXPECT_EQ(error("\\x\""), "an unknown escape in a string");
  EXPECT_EQ(error("\\u12\""), "a \\u escape without four hexadecimal digits");
  EXPECT_EQ(error("\\"), "a string without its closing quote");
}

}  // namespace
}  // namespace mcpivot
