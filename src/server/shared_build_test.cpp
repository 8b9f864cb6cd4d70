#include "server/shared_build.h"

#include <gmock/gmock.h>

#include "fleet.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Builds of one server, which take 100 ms each.
class Builds : public testing::Test {
 protected:
  Builds() {
    for (int i = 0; i < 9; ++i)
      visitor.world().scripts().of("alpha").builds.push_back({.ok = true, .took = 100});
  }
  // Somebody joins; what became of it is in `ends`.
  std::shared_ptr<Build> join(const std::string& who) {
    return builds.join(config, false,
                       {.on_line = [](std::string_view) {},
                        .on_done =
                            [this, who](const Build::Result& result) {
                              ends.push_back(who + (result.ok ? " ok" : ": " + result.how));
                              if (then) std::exchange(then, nullptr)();
                            }});
  }
  int running() { return visitor.world().builds(); }

  simulation::Visitor visitor{"alpha=process,build"};
  ServerConfig config = simulation::fleet_from("alpha=process,build").servers.front().server;
  SharedBuild builds{visitor.world(), [] { return std::nullopt; }};
  std::vector<std::string> ends;
  std::function<void()> then;
};

TEST_F(Builds, requested_during_a_build_share_the_next_one) {
  const auto first = join("first");
  visitor.pass(50ms);
  const auto second = join("second");
  const auto third = join("third");
  visitor.pass(60ms);
  EXPECT_THAT(ends, ElementsAre("first ok"));
  EXPECT_EQ(running(), 1);
  visitor.pass(100ms);
  EXPECT_THAT(ends, ElementsAre("first ok", "second ok", "third ok"));
  EXPECT_EQ(running(), 0);
}

TEST_F(Builds, continue_for_other_callers_when_one_stops_or_leaves) {
  auto busy = join("busy");
  auto first = join("first");
  const auto second = join("second");
  auto third = join("third");
  visitor.pass(110ms);
  first->stop("was stopped because the request was cancelled");
  third.reset();
  visitor.pass(1ms);
  EXPECT_THAT(ends, ElementsAre("busy ok", "first: was stopped because the request was cancelled"));
  EXPECT_EQ(running(), 1);
  visitor.pass(200ms);
  EXPECT_EQ(ends.back(), "second ok");
}

TEST_F(Builds, end_with_their_last_caller_and_waiting_callers_get_the_next) {
  auto first = join("first");
  const auto second = join("second");
  visitor.pass(10ms);
  first.reset();
  EXPECT_EQ(running(), 0);
  visitor.pass(110ms);
  EXPECT_THAT(ends, ElementsAre("second ok"));
}

TEST_F(Builds, can_be_requested_again_from_the_callback) {
  std::shared_ptr<Build> again;
  then = [&] { again = join("again"); };
  const auto first = join("first");
  visitor.pass(110ms);
  EXPECT_EQ(running(), 1);
  visitor.pass(110ms);
  EXPECT_THAT(ends, ElementsAre("first ok", "again ok"));
}

TEST_F(Builds, end_silently_with_their_owner) {
  {
    SharedBuild others(visitor.world(), [] { return std::nullopt; });
    const auto first = others.join(config, false,
                                   {.on_line = [](std::string_view) {},
                                    .on_done = [this](const Build::Result&) { ends.emplace_back("told"); }});
    EXPECT_EQ(running(), 1);
  }
  visitor.pass(1s);
  EXPECT_EQ(running(), 0);
  EXPECT_THAT(ends, IsEmpty());
}

}  // namespace
}  // namespace mcpivot
