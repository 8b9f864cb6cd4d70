#include "gateway/member.h"

#include <gmock/gmock.h>

#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Visitor;
using testing::HasSubstr;

// The second of two servers; the first, alpha, is always configured.
class MemberOf {
 public:
  explicit MemberOf(const std::string& beta) : visitor("alpha=process,active beta=process," + beta) {}

  Member& member() { return *visitor.desk().fleet().members().at(1); }
  bool runs() { return visitor.world().alive() == 2; }
  int starts() { return member().instance().status().past.starts; }
  void set_active(bool active) { visitor.desk().fleet().set_active(member(), active); }

  Visitor visitor;
};

// --- when it runs

TEST(Member, an_inactive_server_is_started_and_keeps_running) {
  MemberOf beta("inactive");
  beta.visitor.arrive();
  beta.visitor.pass(1h);
  EXPECT_TRUE(beta.runs());
  EXPECT_EQ(beta.starts(), 1);
}

TEST(Member, an_inactive_server_rests_after_its_configured_time) {
  MemberOf beta("inactive,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(500ms);
  EXPECT_TRUE(beta.runs());
  beta.visitor.pass(1s);
  EXPECT_FALSE(beta.runs());
}

TEST(Member, a_resting_server_is_started_when_reconfigured_as_active_and_eager) {
  MemberOf beta("inactive,lazy,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(3s);
  ASSERT_FALSE(beta.runs());
  beta.visitor.configure("alpha=process,active beta=process,active");
  beta.visitor.pass(1s);
  EXPECT_TRUE(beta.runs());
}

TEST(Member, a_resting_server_is_started_when_it_is_no_longer_lazy) {
  MemberOf beta("inactive,lazy,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(3s);
  ASSERT_FALSE(beta.runs());
  beta.visitor.configure("alpha=process,active beta=process,inactive");
  beta.visitor.pass(1s);
  EXPECT_TRUE(beta.runs());
}

TEST(Member, an_active_server_never_rests) {
  MemberOf beta("active,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(1h);
  EXPECT_TRUE(beta.runs());
}

TEST(Member, a_deactivated_server_rests_unless_it_is_activated_in_time) {
  MemberOf beta("active,idle:700");
  beta.visitor.arrive();
  beta.set_active(false);
  beta.visitor.pass(500ms);
  beta.set_active(true);
  beta.visitor.pass(10s);
  EXPECT_TRUE(beta.runs());
  beta.set_active(false);
  beta.visitor.pass(1s);
  EXPECT_FALSE(beta.runs());
}

TEST(Member, a_resting_server_is_started_by_a_call_and_rests_again) {
  MemberOf beta("inactive,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(2s);
  ASSERT_FALSE(beta.runs());
  EXPECT_THAT(beta.visitor.call("pivot_call", R"({"tool":"beta__work","arguments":{}})"), HasSubstr("@beta"));
  EXPECT_TRUE(beta.runs());
  beta.visitor.pass(3s);
  EXPECT_FALSE(beta.runs());
}

TEST(Member, a_resting_server_is_started_when_it_is_activated) {
  MemberOf beta("inactive,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(2s);
  ASSERT_FALSE(beta.runs());
  beta.set_active(true);
  beta.visitor.pass(50ms);
  EXPECT_TRUE(beta.runs());
}

TEST(Member, a_resting_lazy_server_is_started_by_a_call_not_by_activation) {
  MemberOf beta("inactive,lazy,idle:700");
  beta.visitor.arrive();
  beta.visitor.pass(2s);
  beta.set_active(true);
  beta.visitor.pass(10s);
  EXPECT_FALSE(beta.runs());
  EXPECT_THAT(beta.visitor.call("beta__work"), HasSubstr("@beta"));
  EXPECT_TRUE(beta.runs());
}

TEST(Member, activation_before_the_first_start_does_not_start_a_server) {
  MemberOf beta("inactive");
  beta.set_active(true);
  beta.visitor.pass(10s);
  EXPECT_EQ(beta.visitor.world().alive(), 0);
}

// --- another configuration

TEST(Member, changing_only_its_presentation_does_not_restart_it) {
  MemberOf beta("active");
  beta.visitor.arrive();
  beta.visitor.configure("alpha=process,active beta=process,active,rename,deny");
  beta.visitor.pass(5s);
  EXPECT_EQ(beta.starts(), 1);
  EXPECT_THAT(beta.visitor.call("beta__regard"), HasSubstr("@beta"));
  EXPECT_FALSE(beta.member().allows_call(R"("hidden")"));
}

TEST(Member, another_command_restarts_it) {
  MemberOf beta("active,v:1");
  beta.visitor.arrive();
  beta.visitor.configure("alpha=process,active beta=process,active,v:2");
  beta.visitor.pass(5s);
  EXPECT_EQ(beta.starts(), 2);
}

// --- which calls it allows

TEST(Member, without_tool_rules_every_call_passes) {
  MemberOf beta("active");
  for (const char* name : {R"("work")", R"("hidden")", "7", ""})
    EXPECT_TRUE(beta.member().allows_call(name)) << name;
}

TEST(Member, tool_rules_apply_however_a_name_is_spelled_in_json) {
  MemberOf beta("active,deny");
  EXPECT_TRUE(beta.member().allows_call(R"("work")"));
  EXPECT_FALSE(beta.member().allows_call(R"("hidden")"));
  EXPECT_FALSE(beta.member().allows_call(R"("\u0068idden")"));
}

TEST(Member, with_tool_rules_an_invalid_name_is_rejected) {
  MemberOf beta("active,deny");
  for (const char* name : {"7", "", "null", R"(["work"])"})
    EXPECT_FALSE(beta.member().allows_call(name)) << name;
}

}  // namespace
}  // namespace mcpivot
