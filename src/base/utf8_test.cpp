// simdjson is the reference here; the program itself doesn't use it.
#include "base/utf8.h"

#include <gtest/gtest.h>
#include <simdjson.h>

#include <random>
#include <string>

namespace mcpivot {
namespace {

void expect_as_judged(const std::string& text) {
  const bool right = simdjson::validate_utf8(text.data(), text.size());
  ASSERT_EQ(is_utf8(text), right) << testing::PrintToString(text);
  ASSERT_EQ(is_utf8_by_bytes(text), right) << testing::PrintToString(text);
}

TEST(IsUtf8, classifies_every_sequence_of_up_to_three_bytes_at_any_offset) {
  // At the start, across the boundary of two blocks, and at the very end.
  for (const std::size_t before : {0U, 30U, 31U, 63U})
    for (const std::size_t after : {0U, 1U, 33U}) {
      std::string text(before, 'x');
      text.resize(before + 3 + after, 'y');
      for (unsigned code = 0; code < 1U << 24; code += (code < 1U << 16 ? 1 : 251)) {
        text[before] = static_cast<char>(code >> 16);
        text[before + 1] = static_cast<char>(code >> 8);
        text[before + 2] = static_cast<char>(code);
        expect_as_judged(text);
      }
    }
}

TEST(IsUtf8, classifies_every_beginning_of_a_four_byte_sequence) {
  const unsigned char edges[] = {0x00, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0,
                                 0xBF, 0xC0, 0xE0, 0xED, 0xF4, 0xFF};
  for (unsigned first = 0; first < 256; ++first)
    for (const unsigned char second : edges)
      for (const unsigned char third : edges)
        for (const unsigned char fourth : edges) {
          std::string text(62, 'x');
          text += static_cast<char>(first);
          text += static_cast<char>(second);
          text += static_cast<char>(third);
          text += static_cast<char>(fourth);
          expect_as_judged(text);
        }
}

TEST(IsUtf8, classifies_text_with_one_byte_changed_or_truncated) {
  std::mt19937 random(7);
  std::string whole;
  for (const char* part :
       {"plain, ", "\u00fc\u00df ", "\u65e5\u672c\u8a9e", "\U0001F600", "long stretch of ASCII text, "})
    for (int i = 0; i < 4; ++i) whole += part;
  ASSERT_TRUE(is_utf8(whole));
  for (int i = 0; i < 100'000; ++i) {
    std::string text = whole.substr(0, random() % (whole.size() + 1));
    expect_as_judged(text);
    if (text.empty()) continue;
    text[random() % text.size()] = static_cast<char>(random());
    expect_as_judged(text);
  }
}

TEST(ShownText, contains_nothing_that_controls_a_terminal) {
  EXPECT_EQ(shown_text("a\033[2Jb\nc\u009b2Jd\x7f\u00a0\u00e9"), "a?[2Jb?c?2Jd?\u00a0\u00e9");
  EXPECT_EQ(printable("a\tb\n\033\r\u0080\u009f\xC2"), "a\tb\n????\xC2");
}

TEST(ShownText, is_cut_between_characters) {
  EXPECT_EQ(shown_text("ab\u00e9cd", 3), "ab…");
  EXPECT_EQ(shown_text("ab\u00e9cd", 4), "ab\u00e9…");
  EXPECT_EQ(shown_text("ab\u00e9cd", 6), "ab\u00e9cd");
  EXPECT_EQ(shown_text("\x80\x80\x80\x80\x80\x80\x80", 6), "??…");
}

}  // namespace
}  // namespace mcpivot
