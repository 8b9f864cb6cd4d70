// How a desk in front of legacy servers answers modern clients.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "gateway/desk.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "sim_backend.h"
#include "visitor.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using simulation::Birth;
using simulation::Visitor;
using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

constexpr auto one = "alpha=process";
constexpr auto two = "alpha=process,active beta=process,active";

// The params of a modern request, with these members.
std::string modern(std::string_view members = {}, std::string_view version = "2026-07-28") {
  return fmt::format(R"({{"_meta":{{"{}":"{}","{}":{{}},"{}":{{"name":"visitor","version":"1"}}}}{}{}}})",
                     meta_key::version, version, meta_key::client_capabilities, meta_key::client_info,
                     members.empty() ? "" : ",", members);
}

std::string listen(Visitor& visitor, std::string_view filter) {
  return visitor.send("subscriptions/listen", modern(fmt::format(R"("notifications":{})", filter)));
}

void cancel(Visitor& visitor, std::string_view id) {
  const std::string line =
      request_line({}, "notifications/cancelled", fmt::format(R"({{"requestId":{}}})", id));
  visitor.desk().cancel({.client = visitor.desk().client()}, *read_message(line));
}

// --- what a request must contain

TEST(ModernRequest, is_served_without_a_handshake) {
  for (const char* fleet : {one, two}) {
    Visitor visitor(fleet);
    visitor.desk().start();
    EXPECT_THAT(visitor.ask("tools/list", modern()),
                AllOf(HasSubstr("pivot_status"), HasSubstr(R"("resultType":"complete")"),
                      HasSubstr(R"("ttlMs":0)"), HasSubstr(R"("cacheScope":"private")")));
  }
}

TEST(ModernRequest, that_is_malformed_reaches_no_server) {
  Visitor visitor(one);
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  for (const std::string& params :
       {std::string("{}"), std::string(R"({"name":"work"})"),
        fmt::format(R"({{"_meta":{{"{}":"2026-07-28"}}}})", meta_key::version),
        fmt::format(R"({{"_meta":{{"{}":7,"{}":{{}}}}}})", meta_key::version, meta_key::client_capabilities),
        fmt::format(R"({{"_meta":{{"{}":"2026-07-28","{}":[]}}}})", meta_key::version,
                    meta_key::client_capabilities)})
    EXPECT_THAT(visitor.ask("tools/call", params), HasSubstr(R"("code":-32602)")) << params;
  EXPECT_THAT(visitor.ask("tools/call", modern({}, "1900-01-01")),
              AllOf(HasSubstr(R"("code":-32022)"), HasSubstr(R"("requested":"1900-01-01")"),
                    HasSubstr(R"("supported":["2026-07-28","2025-11-25")")));
  EXPECT_THAT(visitor.lines_to("alpha", "tools/call"), IsEmpty());
}

TEST(ModernRequest, for_a_removed_method_is_not_found) {
  for (const char* fleet : {one, two}) {
    Visitor visitor(fleet);
    visitor.desk().start();
    for (const char* method :
         {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"})
      EXPECT_THAT(visitor.ask(method, modern(R"("uri":"x://","level":"info")")),
                  HasSubstr(R"("code":-32601)"))
          << method;
  }
}

TEST(ModernRequest, can_be_followed_by_a_handshake) {
  Visitor visitor(one);
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  EXPECT_THAT(visitor.arrive(), HasSubstr(R"("protocolVersion":"2025-06-18")"));
  EXPECT_THAT(visitor.ask("ping", "{}"), HasSubstr(R"("result":{})"));
  EXPECT_THAT(visitor.ask("tools/list", "{}"), Not(HasSubstr("resultType")));
}

TEST(ModernClient, is_offered_no_activation_tools) {
  Visitor visitor("alpha=process,active beta=process,inactive");
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  visitor.pass(2s);
  const std::string list = visitor.ask("tools/list", modern());
  EXPECT_THAT(list, AllOf(HasSubstr("pivot_call"), HasSubstr("pivot_search"), Not(HasSubstr("activate\""))));
  EXPECT_THAT(visitor.ask("tools/call", modern(R"("name":"pivot_activate","arguments":{"server":"beta"})")),
              HasSubstr("error"));
  EXPECT_EQ(find_member(visitor.ask("tools/list", modern()), "result"), find_member(list, "result"));
}

// --- server/discover

// Only a modern request can use these, so one without the required members is malformed.
TEST(ModernOnly, methods_are_rejected_without_the_required_meta_members) {
  for (const char* fleet : {one, two}) {
    for (const char* method : {"server/discover", "subscriptions/listen"}) {
      Visitor visitor(fleet);
      visitor.desk().start();
      for (const std::string params : {"", "{}", R"({"_meta":{}})", R"({"notifications":{}})"})
        EXPECT_THAT(visitor.ask(method, params), AllOf(HasSubstr("-32602"), HasSubstr(meta_key::version)))
            << method << params;
      EXPECT_THAT(visitor.ask(method, fmt::format(R"({{"_meta":{{"{}":"2026-07-28"}}}})", meta_key::version)),
                  AllOf(HasSubstr("-32602"), HasSubstr(meta_key::client_capabilities)));
      EXPECT_FALSE(visitor.desk().shaken()) << "it stays free to choose its era";
    }
  }
}

TEST(Discover, does_not_offer_the_modern_version_if_no_server_has_it) {
  for (const char* fleet : {one, two, "alpha=cli", ""}) {
    Visitor visitor(fleet);
    visitor.desk().start();
    EXPECT_THAT(visitor.ask("server/discover", modern()),
                AllOf(HasSubstr(R"("supportedVersions":["2025-11-25")"), Not(HasSubstr("2026"))))
        << fleet;
  }
}

TEST(Discover, offers_the_modern_version_if_one_server_has_it) {
  for (const char* fleet : {"beta=process", two}) {
    Visitor visitor(fleet);
    visitor.world().scripts().of("beta").tongue.modern = true;
    visitor.desk().start();
    EXPECT_THAT(visitor.ask("server/discover", modern()), HasSubstr(R"("supportedVersions":["2026-07-28")"))
        << fleet;
    EXPECT_LT(visitor.now(), 2s);
  }
}

TEST(Discover, stops_waiting_once_one_server_has_the_modern_version) {
  Visitor visitor(two);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.world().scripts().of("beta").tongue.modern = true;
  visitor.desk().start();
  EXPECT_THAT(visitor.ask("server/discover", modern()), HasSubstr(R"("supportedVersions":["2026-07-28")"));
  EXPECT_LT(visitor.now(), 1s);
}

TEST(Discover, waits_two_seconds_for_a_server_that_hangs) {
  for (const char* fleet : {one, two}) {
    Visitor visitor(fleet);
    visitor.world().scripts().of("alpha").births = {Birth::hangs};
    visitor.desk().start();
    const std::string id = visitor.send("server/discover", modern());
    const std::string second = visitor.send("server/discover", modern());
    visitor.pass(1'900ms);
    EXPECT_EQ(visitor.answer_to(id), "");
    visitor.pass(200ms);
    EXPECT_THAT(visitor.answer_to(id), HasSubstr(R"("supportedVersions":["2025-11-25")"));
    EXPECT_THAT(visitor.answer_to(second), HasSubstr("supportedVersions"));
  }
}

TEST(Discover, that_is_cancelled_while_it_waits_is_not_answered) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.desk().start();
  const std::string id = visitor.send("server/discover", modern());
  const std::string other = visitor.send("server/discover", modern());
  cancel(visitor, id);
  visitor.pass(3s);
  EXPECT_EQ(visitor.answer_to(id), "");
  EXPECT_NE(visitor.answer_to(other), "");
}

TEST(Discover, that_waits_when_mcpivot_ends_is_answered) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.desk().start();
  const std::string id = visitor.send("server/discover", modern());
  bool done = false;
  visitor.desk().shut_down(1s, [&] { done = true; });
  visitor.pass(5s);
  EXPECT_TRUE(done);
  EXPECT_NE(visitor.answer_to(id), "");
}

TEST(Discover, can_be_followed_by_a_request_while_the_server_starts_again) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").slow_to_end = true;
  visitor.desk().start();
  visitor.ask("server/discover", modern());
  const std::string id = visitor.send("ping", "{}");
  visitor.pass(500ms);
  EXPECT_EQ(visitor.answer_to(id), result_answer(id, "{}"));
}

TEST(Discover, waits_for_an_unknown_shared_server_and_shows_what_it_says) {
  Visitor visitor("alpha=process,shared");
  visitor.world().scripts().of("alpha").tongue = simulation::tongue_called("modern");
  visitor.world().scripts().of("alpha").births = {Birth::slow};
  visitor.desk().start();
  EXPECT_THAT(visitor.ask("server/discover", modern()),
              AllOf(HasSubstr(R"("supportedVersions":["2026-07-28")"), HasSubstr("of alpha"),
                    Not(HasSubstr("not running"))));
}

TEST(Discover, does_not_start_a_server_that_was_stopped) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.desk().start();
  Instance& alpha = visitor.desk().fleet().members().front()->instance();
  alpha.stop([](const StopResult&) {});
  visitor.pass(1s);
  EXPECT_THAT(visitor.ask("server/discover", modern()), HasSubstr("supportedVersions"));
  EXPECT_EQ(alpha.state(), Instance::State::stopped);
}

// --- subscriptions/listen

TEST(ModernListen, is_acknowledged_before_its_servers_are_ready_and_stays_open) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").births = {Birth::hangs};
  visitor.desk().start();
  const std::string id = listen(visitor, R"({"toolsListChanged":true})");
  EXPECT_THAT(visitor.heard(), Contains(HasSubstr("subscriptions/acknowledged")));
  visitor.pass(1h);
  EXPECT_EQ(visitor.answer_to(id), "") << "it has no deadline";
}

TEST(ModernListen, receives_a_change_once_under_its_id) {
  Visitor visitor(two);
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  visitor.pass(2s);
  const std::string id = listen(visitor, R"({"toolsListChanged":true})");
  visitor.configure("alpha=process,active");
  visitor.pass(2s);
  std::vector<std::string> changes;
  for (const std::string& line : visitor.heard())
    if (line.find("tools/list_changed") != std::string::npos) changes.push_back(line);
  EXPECT_THAT(changes, SizeIs(1));
  EXPECT_THAT(changes, Each(HasSubstr(fmt::format(R"("{}":{})", meta_key::subscription, id))));
}

TEST(ModernListen, that_is_cancelled_receives_nothing_more) {
  Visitor visitor(two);
  visitor.desk().start();
  visitor.pass(2s);
  cancel(visitor, listen(visitor, R"({"toolsListChanged":true})"));
  visitor.configure("alpha=process,active");
  visitor.pass(2s);
  EXPECT_THAT(visitor.heard(), Not(Contains(HasSubstr("tools/list_changed"))));
}

TEST(ModernListen, ends_with_its_result_when_mcpivot_ends) {
  Visitor visitor(two);
  visitor.desk().start();
  const std::string id = listen(visitor, "{}");
  visitor.desk().shut_down(1s, [] {});
  EXPECT_THAT(visitor.answer_to(id), HasSubstr(R"("resultType":"complete")"));
}

TEST(ModernListen, without_a_filter_is_malformed) {
  Visitor visitor(one);
  visitor.desk().start();
  EXPECT_THAT(visitor.ask("subscriptions/listen", modern()), HasSubstr(R"("code":-32602)"));
  EXPECT_THAT(visitor.ask("subscriptions/listen", modern(R"("notifications":[])")),
              HasSubstr(R"("code":-32602)"));
}

TEST(ModernListen, to_a_resource_that_the_server_refuses_silences_no_other) {
  Visitor visitor(one);
  visitor.world().scripts().of("alpha").tongue = simulation::tongue_called("modern");
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  visitor.pass(2s);
  listen(visitor, R"({"resourceSubscriptions":["sim://alpha/refused"]})");
  visitor.pass(1s);
  listen(visitor, R"({"resourceSubscriptions":["sim://alpha/one"]})");
  visitor.pass(1s);
  EXPECT_THAT(visitor.lines_to("alpha", "subscriptions/listen").back(),
              AllOf(HasSubstr("sim://alpha/one"), Not(HasSubstr("refused"))));
}

TEST(ModernListen, to_a_resource_subscribes_again_at_the_next_generation) {
  Visitor visitor(one);
  visitor.desk().start();
  visitor.ask("tools/list", modern());
  visitor.pass(2s);
  const std::string id = listen(visitor, R"({"resourceSubscriptions":["x://1"]})");
  visitor.pass(2s);
  EXPECT_THAT(visitor.lines_to("alpha", "resources/subscribe"), SizeIs(1));
  visitor.world().each_life("alpha", [](simulation::SimBackend& life) { life.kill("was killed"); });
  visitor.pass(5s);
  EXPECT_THAT(visitor.lines_to("alpha", "resources/subscribe"), SizeIs(2));
  cancel(visitor, id);
  visitor.pass(2s);
  EXPECT_THAT(visitor.lines_to("alpha", "resources/unsubscribe"), SizeIs(1));
}

}  // namespace
}  // namespace mcpivot
