#include "base/without_queries.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

TEST(WithoutQueries, removes_only_the_queries_of_urls_from_a_text) {
  EXPECT_EQ(without_queries("open https://a.example/x?state=1&u=http://b/?c in a browser? (or http://c/?d)"),
            "open https://a.example/x?… in a browser? (or http://c/?…");
  EXPECT_EQ(without_queries("see http://a/b, then call again?"), "see http://a/b, then call again?");
  EXPECT_EQ(without_queries("http://a/?"), "http://a/?…");
  EXPECT_EQ(without_queries("what?"), "what?");
  EXPECT_EQ(without_queries(""), "");
}

}  // namespace
}  // namespace mcpivot
