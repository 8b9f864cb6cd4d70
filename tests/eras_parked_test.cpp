// A legacy server's question becomes a round of the modern client's call, which is parked until its retry
// arrives. Nothing runs twice, hangs or reaches another client.
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
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;

class EraParked : public testing::Test {
 protected:
  EraParked() { greet(client_, Era::modern); }

  json::object retry(const json::object& params, const json::object& answer, const json::value& response) {
    return client_.request("tools/call", retry_of(params, answer, response));
  }

  Client client_{{.server = {"--journal", "journal", "--lives", "lives", "--tap", "tap"}}};
};

TEST_F(EraParked, a_call_continues_with_the_answers_and_runs_once) {
  const json::object params =
      call_of("require", rounds({round_of(form), round_of(sampling), round_of(roots)}));
  json::object answer = client_.request("tools/call", params);
  std::set<std::string> states;
  const json::array responses = {accepted(),
                                 {{"role", "assistant"}, {"model", "m"}, {"content", json::object()}},
                                 {{"roots", json::array()}}};
  for (const json::value& response : responses) {
    ASSERT_TRUE(wants_input(answer)) << json::serialize(answer);
    EXPECT_THAT(requests_in(answer), SizeIs(1));
    states.insert(state_in(answer));
    answer = retry(params, answer, response);
  }
  EXPECT_EQ(json::parse(text_of(answer)),
            (json::array{{{"q", responses[0]}}, {{"q", responses[1]}}, {{"q", responses[2]}}}));
  EXPECT_EQ(answer.at("result").at("resultType"), "complete");
  EXPECT_THAT(states, SizeIs(3)) << "each is good for one retry";
  EXPECT_THAT(journal_of(client_), SizeIs(1));
}

TEST_F(EraParked, simultaneous_questions_are_all_answered) {
  const json::object params =
      call_of("require", rounds({json::object{{"inputRequests", {{"a", form}, {"b", roots}, {"c", form}}}}}));
  json::object answer = client_.request("tools/call", params);
  for (int i = 0; i < 4 && wants_input(answer); ++i) {
    json::object responses;
    for (const auto& [key, question] : requests_in(answer))
      responses[key] =
          question.at("method") == "roots/list" ? json::object{{"roots", json::array()}} : accepted();
    json::object again = params;
    again["inputResponses"] = responses;
    again["requestState"] = state_in(answer);
    answer = client_.request("tools/call", again);
  }
  EXPECT_EQ(json::parse(text_of(answer)),
            (json::array{{{"a", accepted()}, {"b", {{"roots", json::array()}}}, {"c", accepted()}}}));
}

TEST_F(EraParked, unknown_response_keys_are_ignored_and_missing_ones_asked_again) {
  const json::object params = call_of("require", rounds({round_of(form)}));
  const json::object first = client_.request("tools/call", params);
  json::object wrong = params;
  wrong["inputResponses"] = {{"somebody-elses", accepted()}};
  wrong["requestState"] = state_in(first);
  const json::object second = client_.request("tools/call", wrong);
  ASSERT_TRUE(wants_input(second));
  EXPECT_EQ(requests_in(second), requests_in(first));
  EXPECT_NE(state_in(second), state_in(first));
  json::object none = params;
  none["requestState"] = state_in(second);
  const json::object third = client_.request("tools/call", none);
  ASSERT_TRUE(wants_input(third)) << "without inputResponses";
  EXPECT_FALSE(wants_input(retry(params, third, accepted())));
  EXPECT_THAT(journal_of(client_), SizeIs(1));
}

TEST_F(EraParked, an_invalid_answer_can_be_corrected) {
  const json::object params = call_of("require", rounds({round_of(form)}));
  const json::object answer = client_.request("tools/call", params);
  for (const json::value& wrong : {json::value(7), json::value(nullptr), json::value(json::object()),
                                   json::value({{"action", "perhaps"}}), json::value("accept")})
    EXPECT_EQ(code_of(retry(params, answer, wrong)), -32602) << wrong;
  json::object list = params;
  list["requestState"] = state_in(answer);
  list["inputResponses"] = json::array();
  EXPECT_EQ(code_of(client_.request("tools/call", list)), -32602);
  EXPECT_EQ(json::parse(text_of(retry(params, answer, accepted()))), (json::array{{{"q", accepted()}}}));
}

TEST_F(EraParked, a_forged_reused_or_foreign_state_reaches_no_server) {
  const json::object params = call_of("require", rounds({round_of(form)}));
  const json::object answer = client_.request("tools/call", params);
  Client other({.server = {"--journal", "journal"}});
  greet(other, Era::modern);
  const json::object theirs = other.request("tools/call", params);
  ASSERT_TRUE(wants_input(theirs));

  const auto refused = [&](const json::object& wrong, const json::value& state) {
    json::object again = wrong;
    again["inputResponses"] = {{only_key(answer), accepted()}};
    again["requestState"] = state;
    return code_of(client_.request("tools/call", again));
  };
  std::string close = state_in(answer);
  close.back() = close.back() == 'a' ? 'b' : 'a';
  for (const json::value& state :
       {json::value("forged"), json::value(""), json::value(close), json::value(state_in(theirs)),
        json::value(7), json::value(nullptr), json::value(std::string(1 << 20, 'x'))})
    EXPECT_EQ(refused(params, state), -32602) << json::serialize(state).substr(0, 80);
  // It belongs to this client, but to another call.
  EXPECT_EQ(refused(call_of("require", rounds({round_of(roots)})), json::value(state_in(answer))), -32602);
  EXPECT_EQ(refused(call_of("echo", rounds({round_of(form)})), json::value(state_in(answer))), -32602);
  json::object prompt = {{"name", "greet"}, {"requestState", state_in(answer)}};
  EXPECT_EQ(code_of(client_.request("prompts/get", prompt)), -32602);

  EXPECT_EQ(json::parse(text_of(retry(params, answer, accepted()))), (json::array{{{"q", accepted()}}}))
      << "the call still waits for the right one";
  EXPECT_EQ(refused(params, json::value(state_in(answer))), -32602) << "it has been used";
  EXPECT_THAT(journal_of(client_), SizeIs(1));
}

TEST_F(EraParked, a_call_that_finishes_while_parked_keeps_its_result_for_the_retry) {
  const json::object params = call_of("ask", {{"method", "roots/list"}, {"cancel", true}});
  const json::object answer = client_.request("tools/call", params);
  ASSERT_TRUE(wants_input(answer));
  settle(client_);
  EXPECT_EQ(text_of(retry(params, answer, {{"roots", json::array()}})), "asked and cancelled");
}

TEST_F(EraParked, a_question_that_the_calls_capabilities_do_not_allow_is_rejected) {
  client_.meta = modern_meta({{"elicitation", json::object()}});
  for (const json::object& question : {url, sampling, roots}) {
    const json::object answer =
        client_.request("tools/call", call_of("require", rounds({round_of(question)})));
    EXPECT_FALSE(wants_input(answer));
    EXPECT_THAT(text_of(answer), HasSubstr("-32601")) << "the server is told";
  }
  EXPECT_TRUE(wants_input(client_.request("tools/call", call_of("require", rounds({round_of(form)})))));
}

TEST(EraQuestion, outside_any_call_is_rejected) {
  const TemporaryDirectory folder;
  const std::string fifo = folder.path() / "inject";
  ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
  Client client({.server = {"--tap", "tap", "--inject", fifo}});
  greet(client, Era::modern);
  std::ofstream(fifo) << R"({"jsonrpc":"2.0","id":"out of the blue","method":"roots/list"})" << std::endl;
  const auto tap = client.directory() / "tap";
  ASSERT_TRUE(wait_for_text(tap, "out of the blue"));
  for (const std::string& line : lines_of(tap)) {
    if (line.contains("out of the blue")) {
      EXPECT_THAT(line, HasSubstr("-32601"));
    }
  }
  EXPECT_THAT(client.requests, IsEmpty());
}

TEST(EraQuestion, may_also_belong_to_a_prompt_or_resource) {
  for (const char* method : {"prompts/get", "resources/read"}) {
    const TemporaryDirectory folder;
    const std::string fifo = folder.path() / "inject";
    ASSERT_EQ(mkfifo(fifo.c_str(), 0600), 0);
    Client client({.server = {"--tap", "tap", "--inject", fifo, "--hold", method}});
    greet(client, Era::modern);
    const auto id = client.send(method, {{"name", "greet"}, {"uri", "fake://hello"}});
    ASSERT_TRUE(wait_for_text(client.directory() / "tap", method));
    std::ofstream(fifo) << R"({"jsonrpc":"2.0","id":"q1","method":"roots/list"})" << std::endl;
    const json::object answer = client.await(id);
    ASSERT_TRUE(wants_input(answer));
    client.send(method,
                retry_of({{"name", "greet"}, {"uri", "fake://hello"}}, answer, {{"roots", json::array()}}));
    EXPECT_TRUE(wait_for_text(client.directory() / "tap", R"("result":{"roots":[]})"));
  }
}

TEST_F(EraParked, a_url_elicitation_error_becomes_a_round_and_then_a_new_call) {
  const json::object data = {{"elicitations", json::array{json::object{{"mode", "url"},
                                                                       {"elicitationId", "e1"},
                                                                       {"url", "https://example.com/"},
                                                                       {"message", "Sign in"}}}}};
  const json::object params =
      call_of("rpc_error_once", {{"code", -32042}, {"message", "Sign in first"}, {"data", data}});
  const json::object answer = client_.request("tools/call", params);
  ASSERT_TRUE(wants_input(answer)) << json::serialize(answer);
  EXPECT_EQ(requests_in(answer).begin()->value().at("params").at("url"), "https://example.com/");
  EXPECT_EQ(text_of(retry(params, answer, {{"action", "accept"}})), "called 2 times");

  json::object other = params;
  other["arguments"].as_object()["again"] = true;
  const json::object declined = retry(other, client_.request("tools/call", other), {{"action", "decline"}});
  EXPECT_TRUE(is_error(declined));
  other["arguments"].as_object()["again"] = "another time";
  client_.meta = modern_meta({{"elicitation", {{"form", json::object()}}}});
  const json::object unable = client_.request("tools/call", other);
  EXPECT_EQ(code_of(unable), -32021);
  EXPECT_TRUE(
      unable.at("error").at("data").at("requiredCapabilities").at("elicitation").as_object().contains("url"));
}

TEST_F(EraParked, a_resource_that_does_not_exist_has_the_modern_code) {
  EXPECT_EQ(code_of(client_.request("resources/read", {{"uri", "fake://nowhere"}})), -32602);
}

TEST_F(EraParked, progress_is_held_and_then_sent_with_the_retrys_token) {
  json::object params = call_of("require", rounds({round_of(form)}, {{"steps", 3}}));
  json::object first = params;
  first["_meta"] = {{"progressToken", "one"}};
  const json::object answer = client_.request("tools/call", first);
  ASSERT_TRUE(wants_input(answer));
  for (const json::object& told : client_.notifications)
    EXPECT_EQ(told.at("params").at("progressToken"), "one");
  client_.notifications.clear();
  json::object second = retry_of(params, answer, accepted());
  second["_meta"] = {{"progressToken", "two"}};
  EXPECT_FALSE(wants_input(client_.request("tools/call", second)));
  EXPECT_THAT(client_.notifications, Not(IsEmpty()));
  for (const json::object& told : client_.notifications) {
    EXPECT_EQ(told.at("method"), "notifications/progress");
    EXPECT_EQ(told.at("params").at("progressToken"), "two");
  }
}

TEST_F(EraParked, a_retry_that_is_cancelled_cancels_the_call) {
  const json::object params = call_of("require", rounds({round_of(form)}, {{"hang", true}}));
  const json::object answer = client_.request("tools/call", params);
  const auto id = client_.send("tools/call", retry_of(params, answer, accepted()));
  settle(client_);
  EXPECT_THAT(state_of(client_).at("cancelled").as_array(), SizeIs(0));
  client_.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until([&] { return state_of(client_).at("cancelled").as_array().size() == 1; }, soon()));
  EXPECT_THAT(client_.answers, IsEmpty());
}

TEST_F(EraParked, a_running_call_can_be_cancelled_and_a_parked_one_stays_parked) {
  const auto running = client_.send_call("sleep", {{"ms", for_ever}});
  settle(client_);
  client_.notify("notifications/cancelled", {{"requestId", running}});
  EXPECT_TRUE(wait_until([&] { return state_of(client_).at("cancelled").as_array().size() == 1; }, soon()));

  const json::object params = call_of("require", rounds({round_of(form)}));
  const auto parked = client_.send("tools/call", params);
  const json::object answer = client_.await(parked);
  client_.notify("notifications/cancelled", {{"requestId", parked}});
  settle(client_);
  EXPECT_FALSE(wants_input(retry(params, answer, accepted()))) << "that request had its answer";
}

TEST_F(EraParked, a_log_message_goes_to_the_request_that_asked_for_it_or_to_the_log) {
  json::object asks = call_of("log", {{"level", "warning"}, {"text", "wanted"}});
  asks["_meta"] = {{level_key, "info"}};
  client_.request("tools/call", asks);
  EXPECT_EQ(client_.expect_notification("notifications/message").at("params").at("data"), "wanted");
  asks["_meta"] = {{level_key, "error"}};
  asks["arguments"].as_object()["text"] = "too quiet";
  client_.request("tools/call", asks);
  client_.call("log", {{"level", "warning"}, {"text", "not asked for"}});
  settle(client_);
  EXPECT_THAT(client_.notifications, IsEmpty());
  EXPECT_THAT(client_.call_text("pivot_logs"), AllOf(HasSubstr("not asked for"), Not(HasSubstr("wanted"))));
}

TEST(EraQuestion, is_not_recognized_in_a_legacy_result_with_its_own_resultType) {
  Client client(
      {.server = {"--answer",
                  R"(tools/call={"resultType":"input_required","inputRequests":{},"requestState":"x",)"
                  R"("content":[{"type":"text","text":"done"}]})"}});
  greet(client, Era::modern);
  const json::object answer = client.call("echo");
  EXPECT_EQ(answer.at("result").at("resultType"), "complete");
  EXPECT_EQ(text_of(answer), "done");
}

TEST_F(EraParked, the_retry_of_a_call_whose_server_crashed_gets_the_report) {
  const json::object params = call_of("require", rounds({round_of(form)}));
  const json::object answer = client_.request("tools/call", params);
  EXPECT_THAT(text_of(client_.call("crash", {{"signal", "SIGSEGV"}})), HasSubstr("SIGSEGV"));
  const json::object late = retry(params, answer, accepted());
  EXPECT_TRUE(is_error(late));
  EXPECT_THAT(text_of(late), AllOf(HasSubstr("SIGSEGV"), HasSubstr("while waiting for the client's input")));
  EXPECT_FALSE(client_.call("echo").contains("error"));
  EXPECT_EQ(own(client_, "echo", {{"text", "on"}}), "on");
  Strings required = journal_of(client_);
  std::erase_if(required, [](const std::string& line) { return !line.contains("require"); });
  EXPECT_THAT(required, SizeIs(1));
}

TEST(EraStopFirst, a_retry_while_the_server_of_its_call_is_ending_is_told_so) {
  Client client({.options = {"--swap", "stop-first", "--build", "true", "--drain", "50ms"},
                 .server = {"--journal", "journal", "--ignore-eof"}});
  greet(client, Era::modern);
  const json::object params = call_of("require", rounds({round_of(form)}));
  const json::object answer = client.request("tools/call", params);
  ASSERT_TRUE(wants_input(answer));
  const auto rebuild = client.send_call("pivot_rebuild");
  ASSERT_TRUE(wait_until([&] { return !own(client, "pivot_status").contains("state: ready"); }, soon()));
  const json::object late = client.request("tools/call", retry_of(params, answer, accepted()));
  EXPECT_TRUE(is_error(late));
  EXPECT_THAT(text_of(late), HasSubstr("while waiting for the client's input"));
  EXPECT_FALSE(is_error(client.await(rebuild)));
  EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
}

TEST_F(EraParked, a_call_continues_in_its_own_generation_after_a_swap) {
  const json::object params = call_of("require", rounds({round_of(form), round_of(roots)}));
  const json::object answer = client_.request("tools/call", params);
  const std::int64_t life = state_of(client_).at("life").as_int64();
  client_.call("pivot_restart");
  EXPECT_EQ(state_of(client_).at("life"), life + 1);
  const json::object second = retry(params, answer, accepted());
  ASSERT_TRUE(wants_input(second)) << json::serialize(second);
  const json::object last = retry(params, second, {{"roots", json::array()}});
  EXPECT_EQ(json::parse(own_text(last)),
            (json::array{{{"q", accepted()}}, {{"q", {{"roots", json::array()}}}}}));
  Strings required = journal_of(client_);
  std::erase_if(required, [](const std::string& line) { return !line.contains("require"); });
  ASSERT_THAT(required, SizeIs(1));
  EXPECT_THAT(required[0], StartsWith(std::to_string(life) + " "));
}

}  // namespace
}  // namespace harness
