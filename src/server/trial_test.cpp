#include "server/trial.h"

#include <gmock/gmock.h>

#include "fleet.h"
#include "mcp/initialize.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Birth;
using testing::HasSubstr;

class TrialOf : public testing::Test {
 protected:
  simulation::Script& script() { return visitor.world().scripts().of("alpha"); }
  // From its start until nothing of it is left.
  Trial& run(const char* fleet = "alpha=process", std::chrono::milliseconds patience = 10s) {
    trial = std::make_unique<Trial>(visitor.world(), simulation::fleet_from(fleet).servers.front().server);
    trial->start(own_hello(), patience, [this] { ++ends; });
    visitor.pass(60s);
    return *trial;
  }
  ~TrialOf() override {
    EXPECT_EQ(ends, 1);
    EXPECT_EQ(visitor.world().alive(), 0);
  }

  simulation::Visitor visitor{"beta=process"};
  std::unique_ptr<Trial> trial;
  int ends = 0;
};

TEST_F(TrialOf, a_working_server_reports_its_offer_and_is_ended) {
  const auto& outcome = run().outcome();
  ASSERT_TRUE(outcome) << outcome.error();
  EXPECT_FALSE(outcome->lists.catalog.list(ListKind::tools).empty());
  EXPECT_EQ(trial->era(), Era::legacy);
}

TEST_F(TrialOf, a_modern_server_is_started_again_in_its_era) {
  script().tongue = simulation::tongue_called("modern");
  ASSERT_TRUE(run().outcome()) << trial->outcome().error();
  EXPECT_EQ(trial->era(), Era::modern);
}

TEST_F(TrialOf, a_server_that_exits_on_a_message_of_the_other_era_is_started_again) {
  script().tongue = simulation::tongue_called("modern+exits");
  ASSERT_TRUE(run().outcome()) << trial->outcome().error();
  EXPECT_EQ(trial->era(), Era::modern);
}

TEST_F(TrialOf, a_program_that_cannot_be_run_fails_immediately) {
  script().births = {Birth::cannot_execute};
  EXPECT_THAT(run().outcome().error(), HasSubstr("No such file"));
}

TEST_F(TrialOf, a_server_that_dies_in_both_eras_is_reported_with_its_first_death) {
  script().births = {Birth::dies_in_handshake, Birth::dies_in_handshake};
  EXPECT_THAT(run().outcome().error(), HasSubstr("(death 1)"));
}

TEST_F(TrialOf, a_hanging_server_is_given_up_after_its_time_limit_or_the_callers) {
  script().births = {Birth::hangs};
  EXPECT_EQ(run().outcome().error(), "it did not finish its handshake within 3 s");
  EXPECT_EQ(ends, 1);
  ends = 0;
  script().births = {Birth::hangs};
  EXPECT_EQ(run("alpha=process", 1s).outcome().error(), "it has not finished its handshake after 1 s");
}

}  // namespace
}  // namespace mcpivot
