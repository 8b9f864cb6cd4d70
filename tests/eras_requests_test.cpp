// The era is a property of each request, and `server/discover` offers the modern one where that makes nothing
// worse.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"
#include "eras.h"

namespace harness {
namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class EraOfRequests : public testing::TestWithParam<Era> {
 protected:
  Client client_{{.server = of_era(GetParam())}};
};

INSTANTIATE_TEST_SUITE_P(Servers, EraOfRequests, testing::Values(Era::legacy, Era::modern),
                         [](const auto& era) { return text(era.param); });

// ---- What a modern request must contain.

TEST_P(EraOfRequests, a_modern_request_without_the_required_meta_is_rejected) {
  greet(client_, Era::modern);
  const json::object good = modern_meta();
  const auto code_with = [&](const json::object& meta) {
    client_.meta = meta;
    return code_of(client_.request("tools/call", call_of("echo")));
  };
  EXPECT_EQ(code_with(good), 0);
  EXPECT_EQ(code_with({}), -32602) << "nothing";
  for (const char* required : {version_key, capabilities_key}) {
    json::object meta = good;
    meta.erase(required);
    EXPECT_EQ(code_with(meta), -32602) << required << " is missing";
  }
  for (const char* key : {version_key, capabilities_key, info_key, level_key}) {
    for (const json::value& wrong : {json::value(7), json::value(nullptr), json::value(json::array())}) {
      json::object meta = good;
      meta[key] = wrong;
      EXPECT_EQ(code_with(meta), -32602) << key << " is " << wrong;
    }
  }
  json::object loud = good;
  loud[level_key] = "loud";
  EXPECT_EQ(code_with(loud), -32602);
  json::object nameless = good;
  nameless.erase(info_key);
  EXPECT_EQ(code_with(nameless), 0) << "a client need not name itself";
}

TEST_P(EraOfRequests, an_unknown_version_is_rejected_with_the_supported_ones) {
  client_.meta = modern_meta();
  client_.request("server/discover");
  for (const char* version : {"2099-01-01", "2025-11-25", ""}) {
    client_.meta = modern_meta();
    (*client_.meta)[version_key] = version;
    for (const char* method : {"tools/list", "server/discover", "subscriptions/listen", "no/such"}) {
      const json::object answer = client_.request(method);
      EXPECT_EQ(code_of(answer), -32022) << method;
      const json::value& data = answer.at("error").at("data");
      EXPECT_EQ(data.at("requested"), json::value(version));
      const bool offered = method != std::string("server/discover") || GetParam() == Era::modern;
      EXPECT_EQ(testing::Value(json::value_to<Strings>(data.at("supported")), Contains(modern_version)),
                offered);
      EXPECT_THAT(json::value_to<Strings>(data.at("supported")), Contains("2025-11-25"));
    }
  }
}

TEST_P(EraOfRequests, methods_removed_in_the_modern_era_are_not_found) {
  greet(client_, Era::modern);
  for (const char* method : {"initialize", "ping", "logging/setLevel", "resources/subscribe",
                             "resources/unsubscribe", "tasks/get", "no/such"})
    EXPECT_EQ(code_of(client_.request(method, {{"uri", "fake://hello"}, {"level", "info"}})), -32601)
        << method;
  EXPECT_EQ(text_of(client_.call("echo", {{"text", "alive"}})), "alive");
}

// ---- Clients that mix the eras.

TEST_P(EraOfRequests, the_first_message_can_be_any_modern_request) {
  client_.meta = modern_meta();
  EXPECT_EQ(text_of(client_.call("echo", {{"text", "first"}})), "first");
}

TEST_P(EraOfRequests, an_initialized_client_may_also_send_modern_requests) {
  greet(client_, Era::legacy);
  client_.meta = modern_meta();
  EXPECT_EQ(client_.call("echo").at("result").at("resultType"), "complete");
  const json::object list = client_.request("tools/list");
  EXPECT_EQ(list.at("result").at("ttlMs"), 0);
  EXPECT_EQ(list.at("result").at("cacheScope"), "private");
  client_.meta.reset();
  EXPECT_TRUE(client_.request("ping").contains("result"));
  EXPECT_FALSE(client_.request("tools/list").at("result").as_object().contains("ttlMs"));
}

TEST_P(EraOfRequests, a_modern_client_may_send_initialize_later) {
  client_.meta = modern_meta();
  EXPECT_EQ(text_of(client_.call("echo", {{"text", "modern"}})), "modern");
  client_.meta.reset();
  const json::object answer = client_.initialize("2025-06-18");
  EXPECT_EQ(answer.at("result").at("protocolVersion"), "2025-06-18");
  EXPECT_EQ(text_of(client_.call("echo", {{"text", "legacy"}})), "legacy");
  EXPECT_TRUE(client_.request("ping").contains("result"));
}

TEST_P(EraOfRequests, other_keys_in_meta_make_no_request_modern) {
  greet(client_, Era::legacy);
  client_.meta = {{"progressToken", 7}, {capabilities_key, json::object()}};
  EXPECT_FALSE(client_.request("tools/list").at("result").as_object().contains("resultType"));
  EXPECT_TRUE(client_.request("ping").contains("result"));
}

// ---- server/discover.

json::object discover(Client& client, Deadline deadline = soon()) {
  client.meta = modern_meta();
  return client.request("server/discover", nullptr, deadline);
}

TEST(EraDiscovery, offers_the_modern_version_if_the_server_has_it) {
  Client client({.server = {"--era", "modern", "--instructions", "Be modern."}});
  const json::object answer = discover(client);
  EXPECT_THAT(versions_in(answer),
              ElementsAre(modern_version, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"));
  const json::value& result = answer.at("result");
  EXPECT_EQ(result.at("resultType"), "complete");
  EXPECT_EQ(result.at("ttlMs"), 0);
  EXPECT_EQ(result.at("cacheScope"), "private");
  EXPECT_EQ(result.at("instructions"), "Be modern.");
  EXPECT_EQ(result.at("capabilities").at("tools").at("listChanged"), true);
  EXPECT_THAT(json::serialize(result.at("_meta")), HasSubstr(R"("name":"fake")"));
  EXPECT_EQ(text_of(client.call("echo", {{"text", "on"}})), "on") << "in the same process";
}

TEST(EraDiscovery, does_not_offer_the_modern_version_if_all_servers_are_legacy) {
  Client client({.server = {"--tap", "tap"}});
  EXPECT_THAT(versions_in(discover(client)),
              ElementsAre("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"));
  client.meta.reset();
  EXPECT_EQ(client.initialize("2025-11-25").at("result").at("protocolVersion"), "2025-11-25");
  EXPECT_EQ(text_of(client.call("echo", {{"text", "on"}})), "on");
}

TEST(EraDiscovery, offers_what_the_user_configured) {
  const auto offers = [](const ClientOptions& options) {
    Client client(options);
    return testing::Value(versions_in(discover(client)), Contains(modern_version));
  };
  EXPECT_TRUE(offers({.options = {"--front", "modern"}}));
  EXPECT_FALSE(offers({.options = {"--front", "auto"}}));
  EXPECT_FALSE(offers({.options = {"--front", "legacy"}, .server = {"--era", "modern"}}));
  EXPECT_TRUE(offers({.options = {"--front", "auto"}, .server = {"--era", "modern"}}));
  EXPECT_TRUE(offers(with({{"a", server({})}}, {{"front", "modern"}})));
  EXPECT_FALSE(offers(with({{"a", server({"--era", "modern"})}}, {{"front", "legacy"}})));
  EXPECT_TRUE(offers({.options = {"--era", "modern"}, .server = {"--era", "both"}}));
  EXPECT_FALSE(offers({.options = {"--era", "legacy"}, .server = {"--era", "both"}}));
}

TEST(EraDiscovery, a_modern_request_is_served_even_if_the_version_was_not_offered) {
  Client client({.options = {"--front", "legacy"}});
  EXPECT_THAT(versions_in(discover(client)), Not(Contains(modern_version)));
  EXPECT_EQ(text_of(client.call("echo", {{"text", "on"}})), "on");
}

TEST(EraDiscovery, does_not_start_a_server_whose_era_is_known) {
  for (const Era era : {Era::legacy, Era::modern}) {
    SCOPED_TRACE(text(era));
    const EraRuns runs(of_era(era));
    {
      Client first(runs.run());
      discover(first);
      greet(first, era);
      EXPECT_EQ(own(first, "echo", {{"text", "on"}}), "on");  // it was started again after the question
    }
    const int before = runs.starts();
    Client second(runs.run());
    for (int i = 0; i < 3; ++i)
      EXPECT_EQ(testing::Value(versions_in(discover(second)), Contains(modern_version)), era == Era::modern);
    second.child().close_stdin();
    EXPECT_TRUE(second.child().wait_exit(soon()));
    EXPECT_EQ(runs.starts(), before);
  }
}

TEST(EraDiscovery, uses_what_was_learned_for_a_legacy_client) {
  const EraRuns runs(of_era(Era::modern));
  {
    Client first(runs.run());
    greet(first, Era::legacy);
  }
  const int before = runs.starts();
  Client second(runs.run());
  EXPECT_THAT(versions_in(discover(second)), Contains(modern_version));
  EXPECT_EQ(runs.starts(), before);
}

TEST(EraDiscovery, the_next_request_after_a_cached_discover_starts_the_server) {
  const EraRuns runs(of_era(Era::modern));
  {
    Client first(runs.run());
    greet(first, Era::modern);
  }
  const int before = runs.starts();
  Client second(runs.run());
  discover(second);
  EXPECT_EQ(text_of(second.call("echo", {{"text", "on"}})), "on");
  EXPECT_EQ(runs.starts(), before + 1);
}

// Its limit is 2 s.
TEST(EraDiscovery, waits_for_a_hanging_server_only_up_to_its_limit) {
  Client client({.server = {"--hold", "server/discover,initialize"}});
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(versions_in(discover(client)), Not(Contains(modern_version)));
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GE(took, milliseconds(1'900));
  EXPECT_LT(took, milliseconds(3'500) * (is_instrumented() ? 5 : 1));
}

TEST(EraDiscovery, a_server_that_exits_on_it_is_legacy_and_started_again) {
  const EraRuns runs({"--die", "discover"});
  Client client(runs.run());
  EXPECT_THAT(versions_in(discover(client)), Not(Contains(modern_version)));
  client.meta.reset();
  client.initialize();
  EXPECT_EQ(text_of(client.call("echo", {{"text", "on"}})), "on");
  EXPECT_EQ(runs.starts(), 2);
}

TEST(EraDiscovery, a_server_that_answers_without_the_modern_version_is_legacy) {
  Client client(
      {.server = {"--answer", R"(server/discover={"supportedVersions":["2025-11-25"],"capabilities":{}})"}});
  EXPECT_THAT(versions_in(discover(client)), Not(Contains(modern_version)));
  EXPECT_EQ(text_of(client.call("echo", {{"text", "on"}})), "on");
}

TEST(EraDiscovery, of_a_gateway_offers_the_modern_version_if_one_server_has_it) {
  const auto offers = [](const json::object& servers) {
    Client client(with(servers));
    return testing::Value(versions_in(discover(client)), Contains(modern_version));
  };
  const json::object legacy = server({}), modern = server({"--era", "modern"});
  EXPECT_TRUE(offers({{"a", legacy}, {"b", modern}}));
  EXPECT_TRUE(offers({{"a", modern}, {"b", legacy}}));
  EXPECT_FALSE(offers({{"a", legacy}, {"b", legacy}}));
}

TEST(EraDiscovery, clis_do_not_count) {
  const FakeCli cli({cli_tool("show", {"show"})});
  Client client = cli.client();
  EXPECT_THAT(versions_in(discover(client)), Not(Contains(modern_version)));
  Client forced = cli.client({"--front", "modern"});
  EXPECT_THAT(versions_in(discover(forced)), Contains(modern_version));
}

TEST(EraDiscovery, can_be_cancelled_while_it_waits) {
  Client client({.server = {"--hold", "server/discover", "--tap", "tap"}});
  client.meta = modern_meta();
  const auto id = client.send("server/discover");
  client.notify("notifications/cancelled", {{"requestId", id}});
  client.meta.reset();
  EXPECT_TRUE(client.request("ping").contains("result"));
  EXPECT_FALSE(client.receive(in(milliseconds(2'300)))) << "it was taken back";
}

}  // namespace
}  // namespace harness
