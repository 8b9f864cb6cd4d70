#include "gateway/list_announcer.h"

#include <gmock/gmock.h>

#include <string>
#include <utility>
#include <vector>

#include "virtual_time.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

constexpr auto tools = "notifications/tools/list_changed";
constexpr auto resources = "notifications/resources/list_changed";

class Announcing : public testing::Test {
 protected:
  // What is announced from now until this time has passed.
  std::vector<std::string> said_within(std::chrono::milliseconds time) {
    const auto until = timers.now() + time;
    while (timers.step(until)) continue;
    return std::exchange(said, {});
  }

  std::vector<std::string> said;
  simulation::VirtualTime timers;
  ListAnnouncer announcer{timers, [this](ListKind kind) { said.emplace_back(words(kind).notification); }};
};

TEST_F(Announcing, a_change_is_announced_at_once_and_only_once) {
  announcer.changed(ListKind::tools);
  EXPECT_THAT(said, ElementsAre(tools));
  EXPECT_THAT(said_within(10s), ElementsAre(tools));
}

TEST_F(Announcing, changes_soon_afterwards_are_announced_together) {
  for (int i = 0; i < 5; ++i) announcer.changed(ListKind::tools);
  EXPECT_THAT(said_within(499ms), ElementsAre(tools));
  EXPECT_THAT(said_within(10s), ElementsAre(tools));
}

TEST_F(Announcing, each_announcement_is_followed_by_a_pause) {
  announcer.changed(ListKind::tools);
  announcer.changed(ListKind::tools);
  said_within(600ms);
  announcer.changed(ListKind::tools);
  EXPECT_THAT(said_within(300ms), ElementsAre());
  EXPECT_THAT(said_within(200ms), ElementsAre(tools));
}

TEST_F(Announcing, after_the_pause_a_change_is_announced_at_once) {
  announcer.changed(ListKind::tools);
  said_within(500ms);
  announcer.changed(ListKind::tools);
  EXPECT_THAT(said, ElementsAre(tools));
}

TEST_F(Announcing, one_list_does_not_wait_for_another) {
  announcer.changed(ListKind::tools);
  announcer.changed(ListKind::prompts);
  announcer.changed(ListKind::resources);
  EXPECT_THAT(said, ElementsAre(tools, "notifications/prompts/list_changed", resources));
}

TEST_F(Announcing, a_change_of_templates_is_announced_as_one_of_resources) {
  announcer.changed(ListKind::templates);
  announcer.changed(ListKind::resources);
  EXPECT_THAT(said, ElementsAre(resources));
  EXPECT_THAT(said_within(10s), ElementsAre(resources, resources));
}

}  // namespace
}  // namespace mcpivot
