// The block-wise scan compared with the byte-wise one, which is simple enough to be trusted.
#include "rpc/json_string.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <string>
#include <string_view>

#include "base/utf8.h"

namespace mcpivot {
namespace {

// Pieces that make up difficult strings.
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
                                                            {1, "\\\x80"},
                                                            {2, "\xE6"},
                                                            {2, "\u65e5"}});
  return rc::gen::map(rc::gen::container<std::vector<std::string>>(piece), [](const auto& pieces) {
    std::string text;
    for (const auto& part : pieces) text += part;
    return text;
  });
}

// What precedes the string in a message. Only texts that are long enough are scanned in blocks.
constexpr std::string_view opening = R"({"text":")";

StringScan scan_behind_opening(std::string_view text) {
  return scan_string(text.data(), text.data() + opening.size(), text.data() + text.size());
}

RC_GTEST_PROP(JsonString, scans_blocks_as_it_scans_bytes, ()) {
  const std::string text = std::string(opening) + *rc::gen::scale(4, tricky_text());
  const StringScan fast = scan_behind_opening(text);
  const StringScan plain = scan_string_plainly(text.data() + opening.size(), text.data() + text.size());
  RC_ASSERT((fast.error == nullptr) == (plain.error == nullptr));
  if (fast.error != nullptr) return;
  RC_ASSERT(fast.at - text.data() == plain.at - text.data());
  RC_ASSERT(fast.escaped == plain.escaped);
  RC_ASSERT(fast.utf8 == plain.utf8);
}

// Characters that are whole, cut off by the closing quote, or invalid, at every position of two blocks; what
// follows the string must not count.
TEST(JsonString, validates_utf8_at_every_position_like_the_check_for_texts) {
  for (const std::string_view character : {"\u00fc", "\u65e5", "\U0001F600", "\xC3", "\xE6\x97",
                                           "\xF0\x9F\x98", "\x80", "\xED\xA0\x80", "\xC3x"})
    for (const std::size_t after : {0U, 1U, 70U})
      for (const std::string_view follower : {"", "\x97,\"\xE6"})
        for (std::size_t before = 0; before < 130; ++before) {
          const std::string string =
              std::string(before, 'a') + std::string(character) + std::string(after, 'b');
          const std::string text = std::string(opening) + string + '"' + std::string(follower);
          const StringScan scan = scan_behind_opening(text);
          ASSERT_EQ(scan.error, nullptr);
          ASSERT_EQ(scan.utf8, is_utf8_by_bytes(string))
              << before << " " << testing::PrintToString(character);
        }
}

TEST(JsonString, finds_the_closing_quote_after_any_run_of_backslashes) {
  for (std::size_t offset = 0; offset < 130; ++offset) {
    for (std::size_t run = 0; run < 70; ++run) {
      std::string text = std::string(opening) + std::string(offset, 'a');
      text += std::string(run, '\\') + "\"" + std::string(80, 'b') + "\"";
      const StringScan scan = scan_behind_opening(text);
      ASSERT_EQ(scan.error, nullptr);
      const std::size_t expected = run % 2 == 0 ? opening.size() + offset + run : text.size() - 1;
      ASSERT_EQ(static_cast<std::size_t>(scan.at - text.data()), expected) << offset << " " << run;
    }
  }
}

TEST(JsonString, reports_what_is_wrong) {
  auto error = [](const std::string& text) {
    const std::string plain = scan_string_plainly(text.data(), text.data() + text.size()).error;
    // Far enough from the start, it is scanned in blocks.
    const std::string far = std::string(opening) + std::string(70, 'x') + text;
    EXPECT_EQ(scan_behind_opening(far).error, plain);
    return plain;
  };
  EXPECT_EQ(error("abc"), "a string without its closing quote");
  EXPECT_EQ(error("a\tb\""), "a control character in a string");
  EXPECT_EQ(error("\\x\""), "an unknown escape in a string");
  EXPECT_EQ(error("\\u12\""), "a \\u escape without four hexadecimal digits");
  EXPECT_EQ(error("\\"), "a string without its closing quote");
}

}  // namespace
}  // namespace mcpivot
