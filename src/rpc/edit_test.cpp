#include "rpc/edit.h"

#include <gtest/gtest.h>

#include <array>

namespace mcpivot {
namespace {

TEST(Edits, are_made_in_the_order_of_their_places_however_many_there_are) {
  const std::string raw = "0123456789";
  const std::array<std::size_t, 10> order{3, 9, 0, 7, 1, 8, 2, 6, 4, 5};
  const std::array<std::string, 10> words{"a", "b", "c", "d", "e", "f", "g", "h", "i", "j"};
  Edits edits;
  std::string expected = raw;
  for (std::size_t made = 1; made <= order.size(); ++made) {
    const std::size_t at = order[made - 1];
    edits.replace({static_cast<std::uint32_t>(at), 1}, words[at]);
    expected[at] = words[at][0];
    EXPECT_EQ(edits.list().size(), made);
    EXPECT_EQ(spliced(raw, edits.list()), expected);
  }
}

TEST(Edits, of_what_is_absent_are_none) {
  EXPECT_TRUE(Edits().replace(Span(), "x").list().empty());
}

}  // namespace
}  // namespace mcpivot
