// A modern server's rounds become questions to its legacy client, for which it is a single call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "era_questions.h"

namespace harness {
namespace {

namespace json = boost::json;
using namespace questions;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using testing::StartsWith;

void shake_hands(Client& client, const json::object& capabilities) {
  client.request("initialize", {{"protocolVersion", "2025-11-25"},
                                {"capabilities", capabilities},
                                {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  client.notify("notifications/initialized");
}

class EraAsked : public testing::Test {
 protected:
  EraAsked() { shake_hands(client_, all_capabilities()); }

  std::int64_t require(const json::array& all, const json::object& more = {}) {
    return client_.send_call("require", rounds(all, more));
  }
  std::string why_not(const json::array& all, const json::object& more = {}) {
    const json::object answer = client_.call("require", rounds(all, more));
    return answer.contains("error") ? text_of(answer) : "it was answered: " + json::serialize(answer);
  }

  Client client_{{.server = {"--era", "modern", "--journal", "journal", "--tap", "tap", "--lives", "lives"}}};
};

TEST_F(EraAsked, the_client_gets_real_questions_and_the_server_its_opaque_state) {
  const std::string state = "a \"state\"\n of {its} own \u20ac";
  const auto id = require({round_of(form, state), round_of(sampling, "2"), round_of(roots, "3")});
  client_.answer(client_.expect_request("elicitation/create"), accepted());
  const json::object sampled = {{"role", "assistant"}, {"model", "m"}, {"content", json::object()}};
  client_.answer(client_.expect_request("sampling/createMessage"), sampled);
  client_.answer(client_.expect_request("roots/list"), {{"roots", json::array()}});
  EXPECT_EQ(json::parse(text_of(client_.await(id))),
            (json::array{{{"inputResponses", {{"q", accepted()}}}, {"requestState", state}},
                         {{"inputResponses", {{"q", sampled}}}, {"requestState", "2"}},
                         {{"inputResponses", {{"q", {{"roots", json::array()}}}}}, {"requestState", "3"}}}));
}

TEST_F(EraAsked, a_round_with_only_a_state_is_retried_without_a_question) {
  const json::object answer = client_.call(
      "require", rounds({json::object{{"requestState", "1"}}, json::object{{"requestState", "2"}}}));
  EXPECT_EQ(json::parse(text_of(answer)), (json::array{{{"requestState", "1"}}, {{"requestState", "2"}}}));
  EXPECT_THAT(client_.requests, IsEmpty());
}

TEST_F(EraAsked, a_round_that_no_client_can_answer_is_an_error_that_says_why) {
  EXPECT_THAT(why_not({json::object()}), HasSubstr("the server"));
  EXPECT_THAT(why_not({round_of({{"method", "no/such"}})}), HasSubstr("no/such"));
  EXPECT_THAT(why_not({json::object{{"inputRequests", 7}}}), HasSubstr("the server"));
  EXPECT_THAT(why_not({round_of({{"params", json::object()}})}), HasSubstr("the server"));
  EXPECT_THAT(client_.requests, IsEmpty());
  EXPECT_EQ(text_of(client_.call("echo", {{"text", "on"}})), "on");
}

TEST_F(EraAsked, a_call_whose_server_never_stops_asking_is_ended) {
  const auto id = require({round_of(roots)}, {{"for_ever", true}});
  int asked = 0;
  while (client_.answers.empty()) {
    ASSERT_TRUE(client_.receive(soon()));
    while (!client_.requests.empty()) {
      ++asked;
      client_.answer(client_.expect_request("roots/list"), {{"roots", json::array()}});
    }
  }
  EXPECT_THAT(text_of(client_.await(id)), HasSubstr("still requires input after 16 rounds"));
  EXPECT_EQ(asked, 16);
  EXPECT_THAT(why_not({json::object{{"requestState", "s"}}}, {{"for_ever", true}}), HasSubstr("16 rounds"));
}

TEST_F(EraAsked, a_url_elicitation_gets_the_id_that_legacy_clients_need) {
  const auto id = require({round_of(url)});
  const json::object question = client_.expect_request("elicitation/create");
  EXPECT_EQ(question.at("params").at("url"), "https://example.com/");
  EXPECT_FALSE(question.at("params").at("elicitationId").as_string().empty());
  client_.answer(question, {{"action", "accept"}});
  EXPECT_FALSE(is_error(client_.await(id)));
}

TEST(EraCapability, missing_in_the_legacy_client_fails_the_call_and_is_named) {
  Client client({.server = {"--era", "modern"}});
  shake_hands(client, {{"elicitation", json::object()}});
  EXPECT_THAT(text_of(client.call("require", rounds({round_of(sampling)}))),
              HasSubstr("capability sampling"));
  EXPECT_THAT(text_of(client.call("require", rounds({round_of(roots)}))), HasSubstr("capability roots"));
  EXPECT_THAT(text_of(client.call("require", rounds({round_of(url)}))), HasSubstr("capability elicitation"));
  EXPECT_THAT(client.requests, IsEmpty());
}

TEST_F(EraAsked, a_clients_error_to_a_form_means_cancel) {
  const auto id = require({round_of(form)});
  client_.refuse(client_.expect_request("elicitation/create"), -1, "not now");
  EXPECT_THAT(text_of(client_.await(id)), HasSubstr(R"("q":{"action":"cancel"})"));
  const auto other = require({round_of(sampling)});
  client_.refuse(client_.expect_request("sampling/createMessage"), -1, "not now");
  EXPECT_THAT(text_of(client_.await(other)),
              AllOf(HasSubstr("sampling/createMessage"), HasSubstr("not now")));
}

TEST_F(EraAsked, progress_keeps_increasing_across_rounds) {
  json::object params = call_of("require", rounds({round_of(roots), round_of(roots, "t")}, {{"steps", 3}}));
  params["_meta"] = {{"progressToken", "mine"}};
  const auto id = client_.send("tools/call", params);
  for (int i = 0; i < 2; ++i)
    client_.answer(client_.expect_request("roots/list"), {{"roots", json::array()}});
  client_.await(id);
  double last = 0;
  EXPECT_THAT(client_.notifications, SizeIs(9));
  for (const json::object& told : client_.notifications) {
    EXPECT_EQ(told.at("params").at("progressToken"), "mine");
    const double progress = told.at("params").at("progress").to_number<double>();
    EXPECT_GT(progress, last);
    last = progress;
  }
}

TEST_F(EraAsked, a_call_can_be_cancelled_in_each_phase) {
  const auto running = client_.send_call("sleep", {{"ms", for_ever}});
  settle(client_);
  client_.notify("notifications/cancelled", {{"requestId", running}});
  EXPECT_TRUE(wait_until([&] { return state_of(client_).at("cancelled").as_array().size() == 1; }, soon()));

  const auto asking = require({round_of(form)});
  const json::object question = client_.expect_request("elicitation/create");
  client_.notify("notifications/cancelled", {{"requestId", asking}});
  const json::object withdrawn = client_.expect_notification("notifications/cancelled");
  EXPECT_EQ(withdrawn.at("params").at("requestId"), question.at("id"));
  client_.answer(question, accepted());  // the two crossed

  const auto retried = require({round_of(roots)}, {{"hang", true}});
  client_.answer(client_.expect_request("roots/list"), {{"roots", json::array()}});
  ASSERT_TRUE(wait_for_text(client_.directory() / "tap", "\"roots\":[]"));
  client_.notify("notifications/cancelled", {{"requestId", retried}});
  EXPECT_TRUE(wait_until([&] { return state_of(client_).at("cancelled").as_array().size() == 2; }, soon()));
  EXPECT_THAT(client_.answers, IsEmpty());
}

TEST_F(EraAsked, a_resource_that_does_not_exist_has_the_legacy_code) {
  EXPECT_EQ(code_of(client_.request("resources/read", {{"uri", "fake://nowhere"}})), -32002);
  EXPECT_EQ(code_of(client_.request("prompts/get", {{"name", "none"}})), -32602);
}

TEST_F(EraAsked, a_crash_in_the_middle_of_a_round_is_reported_and_withdraws_the_question) {
  const auto id = require({round_of(form)});
  const json::object question = client_.expect_request("elicitation/create");
  client_.call("crash", {{"signal", "SIGSEGV"}});
  const json::object answer = client_.await(id);
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("SIGSEGV"));
  EXPECT_EQ(client_.expect_notification("notifications/cancelled").at("params").at("requestId"),
            question.at("id"));
}

TEST_F(EraAsked, a_call_continues_in_its_own_generation_after_a_swap) {
  const auto id = require({round_of(form)});
  const json::object question = client_.expect_request("elicitation/create");
  const std::int64_t life = state_of(client_).at("life").as_int64();
  client_.call("pivot_restart");
  EXPECT_EQ(state_of(client_).at("life"), life + 1);
  client_.answer(question, accepted());
  EXPECT_THAT(own_text(client_.await(id)), HasSubstr(R"("action":"accept")"));
  Strings required = journal_of(client_);
  std::erase_if(required, [](const std::string& line) { return line.contains("state"); });
  EXPECT_THAT(required, SizeIs(2)) << "both rounds";
  for (const std::string& line : required) EXPECT_THAT(line, StartsWith(std::to_string(life) + " "));
}

// ---- Servers of the modern era that don't behave.

TEST(EraQuestion, sent_as_a_request_by_a_modern_server_is_rejected) {
  for (const Era era : {Era::legacy, Era::modern}) {
    Client client({.server = {"--era", "modern"}});
    greet(client, era);
    const json::object answer = client.call("ask", {{"method", "roots/list"}});
    EXPECT_THAT(text_of(answer), HasSubstr("-32601"));
    EXPECT_THAT(client.requests, IsEmpty());
  }
}

// ---- What v1 SDKs can't read.

TEST(EraResults, that_are_not_objects_are_dropped_only_for_legacy_clients) {
  const std::string tool =
      R"({"name":"structured_value","inputSchema":{"type":"object"},"outputSchema":{"type":"array"}})";
  for (const Era era : {Era::legacy, Era::modern}) {
    Client client({.server = {"--era", "modern", "--tool", tool}});
    greet(client, era);
    const bool kept = era == Era::modern;
    const json::object list = client.request("tools/list");
    for (const json::value& entry : list.at("result").at("tools").as_array()) {
      if (entry.at("name") != "structured_value") continue;
      EXPECT_EQ(entry.as_object().contains("outputSchema"), kept);
    }
    for (const json::value& value : {json::value(json::array{1, 2}), json::value("text"), json::value(7)}) {
      const json::object result =
          client.call("structured_value", {{"value", value}}).at("result").as_object();
      EXPECT_EQ(result.contains("structuredContent"), kept) << value;
    }
    EXPECT_TRUE(client.call("structured", {{"a", 1}}).at("result").as_object().contains("structuredContent"));
  }
}

// ---- Both modern: bytes pass unchanged.

TEST(EraPassed, rounds_pass_unchanged_between_modern_peers) {
  Client client({.server = {"--era", "modern"}});
  greet(client, Era::modern);
  const std::string state(1 << 20, 's');
  const json::object params = call_of("require", rounds({round_of(form, state)}));
  const json::object answer = client.request("tools/call", params);
  ASSERT_TRUE(wants_input(answer));
  EXPECT_EQ(state_in(answer), state);
  const json::object last = client.request("tools/call", retry_of(params, answer, accepted()));
  EXPECT_EQ(json::parse(text_of(last)).at(0).at("requestState").as_string().size(), state.size());
}

}  // namespace
}  // namespace harness
