// What clients of `mcpivot serve` must not learn about each other where they share something: a server,
// a client that several programs are to mcpivot, and what a server listed for an earlier client.
#include <fstream>

#include "era_questions.h"
#include "serves.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// A configuration with one server, which all clients share.
class SharedByAll {
 public:
  explicit SharedByAll(const Strings& arguments) {
    const json::array words(arguments.begin(), arguments.end());
    const json::object server = {{"command", fake_server_binary()}, {"args", words}, {"sharing", "shared"}};
    std::ofstream(file()) << json::object{{"mcpServers", {{"all", server}}}};
  }
  std::string file() const { return folder_.path() / "mcpivot.json"; }

 private:
  TemporaryDirectory folder_;
};

// The question of this kind that arrives on a call's stream.
json::object question_on(Connection& call) {
  EXPECT_TRUE(call.read_head().is_stream());
  auto message = call.read_message();
  while (message && message->at("method") != "elicitation/create") message = call.read_message();
  return message.value();
}

json::object asks(const std::string& canary) {
  return rounds({round_of(elicitation(canary), "state of " + canary)});
}

TEST(ServeApart, a_shared_modern_server_asks_each_client_about_its_own_call) {
  const SharedByAll shared(of_era(Era::modern));
  Serve serve({"--config", shared.file()});
  WebClient ann(serve);
  WebClient bob(serve);
  WebClient cleo(serve, Era::modern);
  for (WebClient* client : {&ann, &bob}) client->initialize();
  Connection of_ann = ann.send_call("require", asks("canary-ann"));
  Connection of_bob = bob.send_call("require", asks("canary-bob"));
  const json::object asked_cleo = cleo.call("require", asks("canary-cleo"));
  EXPECT_TRUE(wants_input(asked_cleo)) << asked_cleo;
  EXPECT_THAT(json::serialize(asked_cleo), HasSubstr("canary-cleo"));

  const json::object to_ann = question_on(of_ann);
  const json::object to_bob = question_on(of_bob);
  EXPECT_EQ(to_ann.at("params").at("message"), "canary-ann");
  EXPECT_EQ(to_bob.at("params").at("message"), "canary-bob");
  // In the other order, with questions that only one of them can answer.
  EXPECT_EQ(bob.answer(to_bob, accepted({{"by", "canary-bob"}})).status, 202);
  EXPECT_EQ(ann.answer(to_ann, accepted({{"by", "canary-ann"}})).status, 202);
  EXPECT_THAT(json::serialize(*of_ann.read_message()), HasSubstr(R"(\"by\":\"canary-ann\")"));
  EXPECT_THAT(json::serialize(*of_bob.read_message()), HasSubstr(R"(\"by\":\"canary-bob\")"));

  ann.heard += of_ann.heard();
  bob.heard += of_bob.heard();
  for (const auto& [client, own] :
       {std::pair(&ann, "canary-ann"), std::pair(&bob, "canary-bob"), std::pair(&cleo, "canary-cleo")})
    for (const char* const canary : {"canary-ann", "canary-bob", "canary-cleo"})
      EXPECT_EQ(client->heard.find(canary) != std::string::npos, canary == std::string(own)) << own;
}

TEST(ServeApart, a_shared_legacy_server_cannot_ask_any_client) {
  const SharedByAll shared(of_era(Era::legacy));
  Serve serve({"--config", shared.file()});
  WebClient ann(serve);
  ann.initialize();
  EXPECT_THAT(own_text(ann.call("require", asks("canary-ann"))), HasSubstr("none of them"));
  const json::object state = json::parse(own_text(ann.call("state"))).as_object();
  EXPECT_THAT(json::serialize(state), Not(HasSubstr("elicitation\":{")));
}

// --- programs without a token, which count as one client

TEST(ServeApart, a_caller_without_a_capability_is_not_asked_even_if_the_first_had_it) {
  Serve serve({}, of_era(Era::legacy));
  WebClient anonymous(serve, Era::modern);
  const auto call = [&](const json::object& capabilities) {
    json::object params = {{"name", "require"}, {"arguments", asks("Which?")}};
    params["_meta"] = {{capabilities_key, capabilities}};
    return anonymous.request("tools/call", params);
  };
  const json::object able = call({{"elicitation", {{"form", json::object()}}}});
  EXPECT_TRUE(wants_input(able)) << able;
  const json::object unable = call({});
  EXPECT_FALSE(wants_input(unable)) << unable;
  EXPECT_THAT(json::serialize(unable), HasSubstr("capability elicitation"));
  EXPECT_THAT(serve.servers(), SizeIs(1)) << "they are one client";
}

TEST(ServeApart, a_caller_with_a_capability_is_asked_even_if_the_first_lacked_it) {
  Serve serve({}, of_era(Era::legacy));
  WebClient anonymous(serve, Era::modern);
  const auto request = [&](const char* tool, const json::object& arguments,
                           const json::object& capabilities) {
    json::object params = {{"name", tool}, {"arguments", arguments}};
    params["_meta"] = {{capabilities_key, capabilities}};
    return anonymous.request("tools/call", params);
  };
  const json::object state = request("state", {}, {});
  EXPECT_THAT(json::serialize(state), HasSubstr(R"(\"capabilities\":{})")) << "so it was told";
  EXPECT_TRUE(wants_input(request("require", asks("Which?"), all_capabilities())));
}

// --- what is kept for the next start

TEST(ServeApart, tools_listed_only_after_a_clients_call_are_not_shown_to_the_next) {
  Serve serve({}, {"--delay", "initialize=1500"});
  WebClient first(serve);
  first.initialize();
  Connection hears = first.listen();
  first.call("mutate");
  while (hears.read_message(in(std::chrono::seconds(20)))->at("method") !=
         "notifications/tools/list_changed") {
  }
  EXPECT_THAT(json::serialize(first.request("tools/list")), HasSubstr("mutant_1"));
  first.end();
  WebClient second(serve);
  second.initialize();
  EXPECT_THAT(json::serialize(second.request("tools/list")), Not(HasSubstr("mutant_1")));
  EXPECT_THAT(own_text(second.call("echo", {{"text", "its own"}})), HasSubstr("its own"));
}

// --- a client that wants more than its share

TEST(ServeApart, a_client_with_256_slow_calls_does_not_keep_another_waiting) {
  const SharedByAll shared({"--only", "sleep,seen"});
  Serve serve({"--config", shared.file()});
  WebClient ann(serve);
  WebClient bob(serve);
  for (WebClient* client : {&ann, &bob}) client->initialize();
  std::vector<Connection> calls;
  for (int i = 0; i < 256; ++i) calls.push_back(ann.send_call("sleep", {{"ms", 60'000}}));
  Connection one_more = ann.send_call("seen");
  EXPECT_EQ(one_more.read().status, 503);
  const std::string seen = own_text(bob.call("seen"));
  std::size_t sleeps = 0;
  for (auto at = seen.find("60000"); at != std::string::npos; at = seen.find("60000", at + 1)) ++sleeps;
  EXPECT_EQ(sleeps, 32U) << "the others wait in mcpivot";
}

}  // namespace
}  // namespace harness
