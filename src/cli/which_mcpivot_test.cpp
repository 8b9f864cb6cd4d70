#include "cli/which_mcpivot.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

namespace json = boost::json;
using testing::ElementsAre;
using testing::IsEmpty;
using States = std::vector<json::object>;

TEST(OfFolder, selects_the_mcpivot_of_the_folder_or_of_the_nearest_parent) {
  const States states{json::object{{"folder", "/home/me/a"}}, json::object{{"folder", "/home/me/a/b"}},
                      json::object{{"folder", "/home/me/c"}}};
  EXPECT_THAT(of_folder(states, "/home/me/a", "/home/me"), ElementsAre(0));
  EXPECT_THAT(of_folder(states, "/home/me/a/b/src/deep", "/home/me"), ElementsAre(1));
  EXPECT_THAT(of_folder(states, "/home/me/a/other", "/home/me"), ElementsAre(0));
  EXPECT_THAT(of_folder(states, "/home/me", "/home/me"), IsEmpty());
  EXPECT_THAT(of_folder(states, "/home/me/ab", "/home/me"), IsEmpty()) << "the names only begin alike";
}

TEST(OfFolder, also_considers_the_folder_of_the_config_file) {
  const States states{json::object{{"folder", "/"}, {"config", "/home/me/a/mcpivot.json"}},
                      json::object{{"folder", "/home/me/b"}, {"config", ""}}};
  EXPECT_THAT(of_folder(states, "/home/me/a/src", "/home/me"), ElementsAre(0));
  EXPECT_THAT(of_folder(states, "/home/me/b", "/home/me"), ElementsAre(1));
}

TEST(OfFolder, selects_all_that_belong_to_the_same_folder) {
  const States states{json::object{{"folder", "/a"}}, json::object{{"folder", "/b"}},
                      json::object{{"folder", "/x"}, {"config", "/a/mcpivot.json"}}};
  EXPECT_THAT(of_folder(states, "/a", ""), ElementsAre(0, 2));
}

TEST(OfFolder, ignores_mcpivots_in_the_home_folder_and_above_it) {
  const States states{json::object{{"folder", "/"}}, json::object{{"folder", "/home/me"}}, json::object()};
  EXPECT_THAT(of_folder(states, "/home/me/a", "/home/me"), IsEmpty());
  EXPECT_THAT(of_folder(states, "/home/me", "/home/me"), ElementsAre(1));
  EXPECT_THAT(of_folder(states, "/", "/home/me"), ElementsAre(0));
}

}  // namespace
}  // namespace mcpivot
