#include "gateway/control_tools.h"

#include <gmock/gmock.h>

#include "rpc/answers.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using simulation::Visitor;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

// The control tools of a desk, as a terminal sees them.
class ToolsFor {
 public:
  explicit ToolsFor(const char* fleet, Compat compat = Compat::none) : visitor(fleet) {
    visitor.arrive();
    tools.emplace(visitor.world(), visitor.clients(), visitor.desk().fleet(), compat);
  }
  Visitor visitor;
  std::optional<ControlTools> tools;
};

TEST(ControlTools, of_a_lone_server_offer_no_choice) {
  const ToolsFor lone("alpha=process,build");
  EXPECT_TRUE(lone.tools->has("pivot_status"));
  EXPECT_TRUE(lone.tools->has("pivot_rebuild"));
  for (const char* tool : {"pivot_activate", "pivot_deactivate", "pivot_search", "pivot_call"})
    EXPECT_FALSE(lone.tools->has(tool)) << tool;
  EXPECT_THAT(lone.tools->definitions(), Not(HasSubstr(R"("server":)")));
  EXPECT_EQ(lone.tools->hint_to_search(), "");
  EXPECT_EQ(lone.tools->why_not("pivot_activate"),
            R"(there is only one server, "alpha", and it is always active)");
}

TEST(ControlTools, of_several_servers_offer_a_choice) {
  const ToolsFor several("alpha=process beta=daemon");
  for (const char* tool : {"pivot_activate", "pivot_deactivate", "pivot_search", "pivot_call"})
    EXPECT_TRUE(several.tools->has(tool)) << tool;
  EXPECT_THAT(several.tools->definitions(), HasSubstr(R"("server":{"type":"string"})"));
  EXPECT_THAT(several.tools->hint_to_search(), HasSubstr("pivot_search"));
}

TEST(ControlTools, pivot_call_names_the_server_that_answered_and_a_direct_call_does_not) {
  Visitor visitor("alpha=process,active beta=process");
  visitor.arrive();
  EXPECT_THAT(
      visitor.call("pivot_call", R"({"tool":"beta__work","arguments":{}})"),
      AllOf(HasSubstr(R"("content":[{"type":"text","text":"[mcpivot] server \"beta\", tool \"work\""},)"),
            HasSubstr("@beta")));
  EXPECT_THAT(visitor.call("alpha__work"), Not(HasSubstr("mcpivot")));
}

TEST(ControlTools, pivot_call_is_not_listed_if_it_is_off_or_reaches_no_server) {
  for (const char* fleet : {"alpha=process,active beta=process,through through:off",
                            "alpha=process,active,no-through beta=process,no-through"}) {
    ToolsFor off(fleet);
    EXPECT_FALSE(off.tools->has("pivot_call")) << fleet;
    EXPECT_TRUE(off.tools->has("pivot_search"));
    EXPECT_THAT(off.tools->why_not("pivot_call"), HasSubstr("the configuration turns it off")) << fleet;
    EXPECT_THAT(off.tools->instructions(), Not(HasSubstr("pivot_call")));
    EXPECT_THAT(off.tools->definitions(), Not(HasSubstr("pivot_call")));
    const Member& beta = *off.visitor.desk().fleet().members().at(1);
    EXPECT_THAT(off.tools->hint_to_activate(beta, "beta__work"),
                AllOf(HasSubstr("pivot_activate"), Not(HasSubstr("pivot_call"))));
  }
}

TEST(ControlTools, pivot_call_reaches_only_servers_that_the_config_allows) {
  struct Case {
    const char* beta;
    const char* file;
    bool inactive, active;  // whether it is reached
  };
  for (const auto& [beta, file, inactive, active] :
       {Case{"beta=process", "", true, true}, Case{"beta=process,no-through", "", false, false},
        Case{"beta=process,through", "", true, true}, Case{"beta=process", "through:active", false, true},
        Case{"beta=process,through", "through:active", true, true},
        Case{"beta=process,no-through", "through:active", false, false}}) {
    SCOPED_TRACE(std::string(beta) + " " + file);
    Visitor visitor(std::string("alpha=process,active ") + beta + " " + file);
    visitor.arrive();
    for (const bool is_active : {false, true}) {
      auto& fleet = visitor.desk().fleet();
      fleet.set_active(*fleet.members().at(1), is_active);
      const std::string answer = visitor.call("pivot_call", R"({"tool":"beta__work","arguments":{}})");
      if (is_active ? active : inactive) {
        EXPECT_THAT(answer, HasSubstr("@beta"));
        continue;
      }
      EXPECT_THAT(answer, AllOf(Not(HasSubstr("@beta")), HasSubstr(R"("isError":true)"),
                                HasSubstr("the configuration doesn't let pivot_call reach"),
                                HasSubstr(is_active ? "Call the tool itself." : "pivot_activate")));
    }
  }
}

// From a terminal, before the client's handshake.
void restart_early(Visitor& visitor) {
  visitor.desk().start();
  visitor.pass(std::chrono::milliseconds(50));
  ControlTools typed(visitor.world(), visitor.clients(), visitor.desk().fleet(), Compat::none);
  const std::string line = request_line("1", "tools/call", R"({"name":"pivot_restart","arguments":{}})");
  typed.call({.client = visitor.clients().next()}, *read_message(line));
  visitor.pass(std::chrono::milliseconds(500));
}

TEST(ControlTools, a_restart_before_the_handshake_is_no_news_for_the_model) {
  for (const char* fleet : {"alpha=process", "alpha=daemon"}) {
    Visitor visitor(fleet);
    restart_early(visitor);
    visitor.arrive();
    EXPECT_THAT(visitor.call("work"), AllOf(HasSubstr("@alpha"), Not(HasSubstr("is waiting for a client"))));
  }
}

TEST(ControlTools, a_save_is_noticed_after_a_restart_before_the_handshake) {
  for (const char* fleet : {"alpha=process,build,watch", "alpha=daemon,build,watch"}) {
    Visitor visitor(fleet);
    restart_early(visitor);
    visitor.arrive();
    visitor.pass(std::chrono::seconds(3));
    visitor.world().save("alpha");
    visitor.pass(std::chrono::seconds(3));
    EXPECT_THAT(visitor.call("work"), HasSubstr("rebuilt after a change")) << fleet;
  }
}

TEST(ControlTools, that_can_do_nothing_are_not_listed_and_explain_why) {
  const ToolsFor daemon("alpha=daemon");
  EXPECT_FALSE(daemon.tools->has("pivot_rebuild"));
  EXPECT_THAT(daemon.tools->why_not("pivot_rebuild"), HasSubstr("no server here has a build command"));
  EXPECT_FALSE(daemon.tools->has("pivot_logs"));
  EXPECT_THAT(daemon.tools->why_not("pivot_logs"), HasSubstr("mcpivot did not start the server"));
  EXPECT_EQ(daemon.tools->why_not("pivot_nonsense"), "mcpivot has no such tool");
  EXPECT_EQ(daemon.tools->why_not("work"), "") << "the name isn't ours";
}

TEST(ControlTools, under_compat_names_never_mention_their_own_names) {
  const ToolsFor flip("alpha=process beta=process", Compat::mcpflip);
  EXPECT_TRUE(flip.tools->has("gateway_activate"));
  EXPECT_FALSE(flip.tools->has("pivot_search"));
  EXPECT_EQ(flip.tools->hint_to_search(), "");
  EXPECT_THAT(flip.tools->how_to_activate("alpha"), StartsWith("gateway_activate"));
  EXPECT_THAT(flip.tools->why_not("pivot_search"), HasSubstr("--compat"));
}

TEST(ControlTools, the_status_of_a_lone_server_is_not_a_table) {
  Visitor visitor("alpha=process");
  visitor.arrive();
  const std::string status = visitor.call("pivot_status");
  EXPECT_THAT(status, HasSubstr("generation"));
  EXPECT_THAT(status, Not(HasSubstr("active")));
}

TEST(ControlTools, the_status_of_several_servers_has_one_line_each) {
  Visitor visitor("alpha=process,active beta=process");
  visitor.arrive();
  const std::string all = visitor.call("pivot_status");
  EXPECT_THAT(all, HasSubstr("servers: 2, active: 1"));
  EXPECT_THAT(all, HasSubstr("alpha: active, ready"));
  EXPECT_THAT(all, HasSubstr("beta: inactive, ready"));
  EXPECT_THAT(visitor.call("pivot_status", R"({"server":"bet"})"), HasSubstr("active: no"));
}

TEST(ControlTools, a_server_can_be_activated_by_part_of_its_name) {
  Visitor visitor("alpha=process,active beta=process");
  visitor.arrive();
  EXPECT_THAT(visitor.call("beta__work"), HasSubstr("which is not active"));
  EXPECT_THAT(visitor.call("pivot_activate", R"({"server":"bet"})"), HasSubstr(R"(\"beta\" is now active)"));
  EXPECT_THAT(visitor.call("beta__work"), HasSubstr("@beta"));
}

TEST(ControlTools, any_name_selects_the_only_server_and_a_stop_reports_its_real_name) {
  Visitor visitor("alpha=process");
  visitor.arrive();
  EXPECT_THAT(visitor.call("pivot_restart", R"({"server":"whatever","stop":true})"),
              HasSubstr(R"([mcpivot] \"alpha\" stopped: )"));
}

TEST(ControlTools, the_name_of_a_removed_server_does_not_select_the_remaining_one) {
  Visitor visitor("alpha=process,build,active beta=process,build,active");
  visitor.arrive();
  visitor.configure("alpha=process,build,active");
  visitor.pass(std::chrono::seconds(5));
  for (const char* tool : {"pivot_restart", "pivot_rebuild", "pivot_logs", "pivot_status"})
    EXPECT_THAT(visitor.call(tool, R"({"server":"beta"})"), HasSubstr(R"(no server is called \"beta\")"))
        << tool;
  EXPECT_THAT(visitor.call("pivot_restart", R"({"server":"beta","stop":true})"),
              HasSubstr("The servers are: alpha"));
  EXPECT_EQ(visitor.world().alive(), 1);
  EXPECT_THAT(visitor.call("pivot_restart", R"({"stop":true})"), HasSubstr(R"(\"alpha\" stopped: )"));
}

TEST(ControlTools, deactivation_mentions_pivot_call_only_if_it_still_reaches_the_server) {
  const auto deactivated = [](const std::string& beta_and_more) {
    Visitor visitor("alpha=process,active beta=process,active" + beta_and_more);
    visitor.arrive();
    return visitor.call("pivot_deactivate", R"({"server":"beta"})");
  };
  EXPECT_THAT(deactivated(""), HasSubstr("pivot_call still reaches its tools by name"));
  for (const char* limit : {",no-through", " through:active", " through:off"})
    EXPECT_THAT(deactivated(limit), AllOf(HasSubstr("is now inactive"), Not(HasSubstr("pivot_call"))))
        << limit;
}

TEST(ControlTools, the_instructions_say_that_pivot_call_does_not_reach_every_server) {
  const ToolsFor all("alpha=process,active beta=process");
  EXPECT_THAT(all.tools->instructions(), HasSubstr("pivot_call calls any tool by its full name."));
  const ToolsFor some("alpha=process,active beta=process,no-through");
  EXPECT_THAT(some.tools->instructions(), HasSubstr("by its full name, except those of beta."));
}

TEST(ControlTools, change_when_a_second_server_is_added_or_removed) {
  ToolsFor changing("alpha=process");
  EXPECT_FALSE(changing.tools->has("pivot_search"));
  changing.visitor.configure("alpha=process beta=process");
  EXPECT_TRUE(changing.tools->has("pivot_search"));
  changing.visitor.configure("alpha=process");
  EXPECT_FALSE(changing.tools->has("pivot_search"));
}

}  // namespace
}  // namespace mcpivot
