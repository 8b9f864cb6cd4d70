#include "rpc/edit.h"

#include <gtest/gtest.h>

#include <array>

namespace mcpivot {
namespace {

TEST(Edits, are_made_in_the_order_of_their_places_and_never_more_than_there_is_room_for) {
  const std::string raw = "0123456789";
  const std::array<std::size_t, Edits::most> order{3, 0, 7, 1, 2, 6, 4, 5};
  const std::array<std::string, Edits::most> words{"a", "b", "c", "d", "e", "f", "g", "h"};
  Edits edits;
  std::string expected = raw;
  for (std::size_t made = 1; made <= order.size(); ++made) {
    const std::size_t at = order[made - 1];
    edits.replace({static_cast<std::uint32_t>(at), 1}, words[at]);
    expected[at] = words[at][0];
    EXPECT_EQ(edits.list().size(), made);
    EXPECT_EQ(spliced(raw, edits.list()), expected);
  }
  EXPECT_THROW(edits.insert(0, "x"), std::length_error);
  EXPECT_EQ(spliced(raw, edits.list()), expected);
}

TEST(Edits, of_what_is_absent_are_none) {
  EXPECT_TRUE(Edits().replace(Span(), "x").list().empty());
}

}  // namespace
}  // namespace mcpivot
