#include "bridge/legacy_facade_fixture.h"

namespace mcpivot {
namespace {

using LegacyRounds = LegacyFacadeTest;

TEST_F(LegacyRounds, required_input_becomes_real_requests_in_key_order) {
  call();
  down();
  require("7", fmt::format(R"({{"z":{},"a\"b":{},"m":{}}})", elicit, sample, roots));
  EXPECT_EQ(up(),
            R"({"jsonrpc":"2.0","id":"ask-7-0-0","method":"elicitation/create","params":{"message":"m"}})");
  EXPECT_EQ(
      up(),
      R"({"jsonrpc":"2.0","id":"ask-7-0-1","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":"ask-7-0-2","method":"roots/list"})");
  client_answers(R"("ask-7-0-2")", R"({"roots":[]})");
  client_answers(R"("ask-7-0-0")", R"({"action":"accept", "content":{"n":1.0}})");
  EXPECT_TRUE(ends.down.empty());
  client_answers(R"("ask-7-0-1")", R"({"role":"assistant"})");
  EXPECT_EQ(
      down(),
      fmt::format(
          R"({{"jsonrpc":"2.0","id":"retry-7-1","method":"tools/call","params":{{"inputResponses":{{"z":{{"action":"accept", "content":{{"n":1.0}}}},"a\"b":{{"role":"assistant"}},"m":{{"roots":[]}}}},"requestState":"s","name":"t","_meta":{{"progressToken":7,{}}}}}}})",
          stamp_of_all));
  answer(R"("retry-7-1")", R"({"resultType":"complete","content":[],"structuredContent":3})");
  EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":7,"result":{"resultType":"complete","content":[]}})");
}

TEST_F(LegacyRounds, input_may_be_required_for_prompts_and_resources_too) {
  for (const std::string_view method : {"prompts/get", "resources/read"}) {
    client(fmt::format(R"({{"jsonrpc":"2.0","id":3,"method":"{}","params":{{"uri":"u"}}}})", method));
    down();
    require("3", fmt::format(R"({{"a":{}}})", roots));
    EXPECT_EQ(at(up(), {"method"}), R"("roots/list")");
    client_answers(R"("ask-3-0-0")", "{}");
    EXPECT_EQ(string_value(at(down(), {"method"})), method);
    answer(R"("retry-3-1")", "{}");
    EXPECT_EQ(up(), R"({"jsonrpc":"2.0","id":3,"result":{}})");
  }
}

TEST_F(LegacyRounds, input_required_for_anything_else_is_an_error) {
  client(R"({"jsonrpc":"2.0","id":3,"method":"tools/list"})");
  down();
  require("3", "{}");
  EXPECT_NE(error_words().find("input_required"), std::string::npos);
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyRounds, the_request_state_is_echoed_byte_for_byte_or_omitted) {
  call();
  down();
  const std::string state = "\"\\u0041" + std::string(1 << 20, 'x') + "\\/\"";
  require("7", fmt::format(R"({{"a":{}}})", roots), state);
  client_answers(R"("ask-7-0-0")", "{}");
  EXPECT_EQ(at(down(), {"params", "requestState"}), state);
  answer(R"("retry-7-1")",
         fmt::format(R"({{"resultType":"input_required","inputRequests":{{"b":{}}}}})", roots));
  client_answers(R"("ask-7-1-0")", "{}");
  const std::string again = down();
  EXPECT_EQ(at(again, {"params", "requestState"}), "");
  EXPECT_EQ(at(again, {"params", "inputResponses"}), R"({"b":{}})");
}

TEST_F(LegacyRounds, a_retry_replaces_the_calls_own_members_of_the_same_names) {
  client(
      R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"inputResponses":{"x":1},"name":"t","requestState":"old","InputResponses":1}})");
  down();
  require("7", "{}");
  EXPECT_EQ(
      at(down(), {"params"}),
      fmt::format(R"({{"inputResponses":{{}},"requestState":"s","name":"t","_meta":{{{}}}}})", stamp_of_all));
}

TEST_F(LegacyRounds, a_round_with_only_a_request_state_is_retried_at_once) {
  call();
  down();
  answer("7", R"({"resultType":"input_required","requestState":"more"})");
  const std::string again = down();
  EXPECT_EQ(at(again, {"id"}), R"("retry-7-1")");
  EXPECT_EQ(at(again, {"params", "requestState"}), R"("more")");
  EXPECT_EQ(at(again, {"params", "inputResponses"}), "");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyRounds, a_round_without_questions_or_request_state_is_an_error) {
  for (const std::string_view result :
       {R"({"resultType":"input_required"})",
        R"({"resultType":"input_required","inputRequests":null,"requestState":null})"}) {
    call();
    down();
    answer("7", result);
    EXPECT_NE(error_words().find("neither"), std::string::npos);
    EXPECT_TRUE(ends.down.empty());
  }
}

TEST_F(LegacyRounds, a_call_whose_server_never_stops_asking_is_ended) {
  call();
  down();
  std::string id = "7";
  for (int round = 1; round <= 16; ++round) {
    require(id, "{}");
    id = at(down(), {"id"});
    EXPECT_EQ(id, fmt::format(R"("retry-7-{}")", round));
    EXPECT_TRUE(ends.up.empty());
  }
  require(id, "{}");
  EXPECT_TRUE(ends.down.empty());
  EXPECT_NE(error_words().find("16 rounds"), std::string::npos);
}

TEST_F(LegacyRounds, a_round_has_at_most_32_questions) {
  const auto ask = [&](int count) {
    std::string requests;
    for (int i = 0; i < count; ++i) requests += fmt::format(R"({}"{}":{})", i == 0 ? "" : ",", i, roots);
    call();
    require("7", "{" + requests + "}");
  };
  ask(33);
  EXPECT_NE(error_words().find("more than 32"), std::string::npos);
  EXPECT_TRUE(ends.up.empty());
  ask(32);
  EXPECT_EQ(ends.up.size(), 32U);
}

TEST_F(LegacyRounds, the_error_for_malformed_questions_says_what_is_wrong) {
  const auto words = [&](std::string_view requests) {
    call();
    require("7", requests);
    EXPECT_EQ(ends.up.size(), 1U);
    return error_words();
  };
  EXPECT_NE(words("[]").find("aren't an object"), std::string::npos);
  EXPECT_NE(words("5").find("aren't an object"), std::string::npos);
  EXPECT_NE(words(R"({"a":5})").find(R"("a")"), std::string::npos);
  EXPECT_NE(words(R"({"a":{}})").find("without a method"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"tools/call"}})").find("tools/call"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"roots/list","params":[]}})").find("roots/list"), std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"elicitation/create"}})").find("without params"), std::string::npos);
  EXPECT_NE(words(fmt::format(R"({{"a":{0},"\u0061":{0}}})", roots)).find("two questions"),
            std::string::npos);
  EXPECT_NE(words(R"({"a":{"method":"roots/list","params":{"uri":1,"uri":2}}})").find("ambiguous params"),
            std::string::npos);
}

TEST_F(LegacyRounds, a_url_elicitation_gets_an_id_unless_it_has_one) {
  call();
  require(
      "7",
      R"({"a":{"method":"elicitation/create","params":{"mode":"url","url":"u"}},"b":{"method":"elicitation/create","params":{"mode":"url","elicitationId":"e"}}})");
  EXPECT_EQ(at(up(), {"params"}), R"({"elicitationId":"secret1","mode":"url","url":"u"})");
  EXPECT_EQ(at(up(), {"params"}), R"({"mode":"url","elicitationId":"e"})");
  EXPECT_EQ(ends.secrets, 1);
}

TEST_F(LegacyRounds, a_client_s_error_to_an_elicitation_means_cancel) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", elicit));
  client_refuses(R"("ask-7-0-0")", "no");
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":{"action":"cancel"}})");
}

TEST_F(LegacyRounds, a_client_s_error_to_sampling_or_roots_ends_the_call_with_it) {
  for (const auto& [question, method] :
       {std::pair(sample, "sampling/createMessage"), std::pair(roots, "roots/list")}) {
    call();
    down();
    require("7", fmt::format(R"({{"a":{},"b":{}}})", elicit, question));
    up(), up();
    client_refuses(R"("ask-7-0-1")", "rejected");
    EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");  // no longer needs an answer
    const std::string words = error_words();
    EXPECT_NE(words.find(method), std::string::npos) << words;
    EXPECT_NE(words.find("rejected"), std::string::npos) << words;
    client_answers(R"("ask-7-0-0")", "{}");
    EXPECT_TRUE(ends.down.empty());
    EXPECT_TRUE(ends.up.empty());
  }
}

TEST_F(LegacyRounds, a_question_asked_before_the_era_was_known_is_answered) {
  for (const std::string_view id : {R"("x")", "7", R"("ask-7-0")", R"("ask-7-0-99999999999999999999")"}) {
    client_answers(id, "{}");
    EXPECT_EQ(at(down(), {"id"}), id);
  }
}

TEST_F(LegacyRounds, an_answer_to_a_question_that_was_not_asked_is_ignored) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  up(), up();
  for (const std::string_view id : {R"("ask-7-0-2")", R"("ask-7-1-0")", R"("ask-8-0-0")", R"("retry-7-1")"}) {
    client_answers(id, "{}");
    client_refuses(id, "no");
  }
  client_answers(R"("ask-7-0-0")", "1");
  client_answers(R"("ask-7-0-0")", "2");
  client_refuses(R"("ask-7-0-0")", "no");
  EXPECT_TRUE(ends.down.empty());
  EXPECT_TRUE(ends.up.empty());
  client_answers(R"("ask-7-0-1")", "3");
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":1,"b":3})");
  client_answers(R"("ask-7-0-1")", "4");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyRounds, a_second_response_from_the_server_is_dropped) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  answer("7", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
  client_answers(R"("ask-7-0-0")", "{}");
  answer("7", R"({"content":[]})");
  answer(R"("retry-7-2")", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
  answer(R"("retry-7-1")", R"({"content":[]})");
  EXPECT_FALSE(up().empty());
  answer(R"("retry-7-1")", R"({"content":[]})");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyRounds, a_client_may_answer_a_question_while_others_are_being_sent) {
  ends.on_client = [&](const std::string& line) {
    if (!at(line, {"method"}).empty()) client_answers(at(line, {"id"}), at(line, {"id"}));
  };
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  EXPECT_EQ(at(down(), {"params", "inputResponses"}), R"({"a":"ask-7-0-0","b":"ask-7-0-1"})");
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyRounds, a_client_may_cancel_the_call_while_questions_are_being_sent) {
  ends.on_client = [&](const std::string& line) {
    if (at(line, {"method"}) == R"("roots/list")") cancel();
  };
  call();
  down();
  require("7", fmt::format(R"({{"a":{},"b":{}}})", roots, roots));
  EXPECT_EQ(at(up(), {"id"}), R"("ask-7-0-0")");
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyRounds, an_answer_nested_too_deeply_to_forward_ends_the_call) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  client_answers(R"("ask-7-0-0")", std::string(1023, '[') + std::string(1023, ']'));
  EXPECT_NE(error_words().find("nested too deeply"), std::string::npos);
  EXPECT_TRUE(ends.down.empty());
}

// Capabilities

class LegacyCapabilities : public testing::Test {
 protected:
  // The error for a client with these capabilities that is asked this; empty: it is asked.
  static std::string refusal(std::string_view capabilities, std::string_view question) {
    LegacyFacadeEnds ends;
    LegacyFacade facade(ends, fmt::format(R"({{"capabilities":{}}})", capabilities));
    facade.from_client(
        *read_message(R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t"}})"), {});
    const std::string answer = fmt::format(
        R"({{"jsonrpc":"2.0","id":7,"result":{{"resultType":"input_required","inputRequests":{{"a":{}}}}}}})",
        question);
    facade.from_server(*read_message(answer));
    EXPECT_EQ(ends.up.size(), 1U);
    EXPECT_EQ(ends.down.size(), 1U);
    const std::string words = string_value(at(ends.up.front(), {"error", "message"}));
    const auto named = words.rfind(' ');
    return words.empty() ? words : words.substr(named + 1);
  }
};

TEST_F(LegacyCapabilities, a_question_for_which_the_client_lacks_a_capability_is_never_sent) {
  const std::string_view form = R"({"method":"elicitation/create","params":{"mode":"form"}})";
  const std::string_view no_mode = R"({"method":"elicitation/create","params":{}})";
  const std::string_view url = R"({"method":"elicitation/create","params":{"mode":"url"}})";
  const std::string_view other = R"({"method":"elicitation/create","params":{"mode":"telepathy"}})";
  EXPECT_EQ(refusal("{}", form), "elicitation");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", form), "");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", no_mode), "");
  EXPECT_EQ(refusal(R"({"elicitation":{}})", url), "elicitation.url");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", url), "");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", form), "elicitation.form");
  EXPECT_EQ(refusal(R"({"elicitation":{"url":{}}})", no_mode), "elicitation.form");
  EXPECT_EQ(refusal(R"({"elicitation":{"form":{},"url":{}}})", other), R"(elicitation."telepathy")");
  EXPECT_EQ(refusal("{}", R"({"method":"roots/list"})"), "roots");
  EXPECT_EQ(refusal(R"({"roots":{}})", R"({"method":"roots/list"})"), "");
  EXPECT_EQ(refusal("{}", R"({"method":"sampling/createMessage","params":{}})"), "sampling");
  EXPECT_EQ(refusal(R"({"sampling":{}})", R"({"method":"sampling/createMessage","params":{}})"), "");
  EXPECT_EQ(refusal(R"({"sampling":{}})", R"({"method":"sampling/createMessage","params":{"tools":[]}})"),
            "sampling.tools");
  EXPECT_EQ(
      refusal(R"({"sampling":{"tools":{}}})", R"({"method":"sampling/createMessage","params":{"tools":[]}})"),
      "");
}

// Progress

TEST_F(LegacyRounds, progress_keeps_increasing_across_rounds) {
  const auto progress = [&](std::string_view numbers) {
    server(fmt::format(
        R"({{"jsonrpc":"2.0","method":"notifications/progress","params":{{"progressToken":7,{},"message":"m"}}}})",
        numbers));
    return at(up(), {"params"});
  };
  call();
  EXPECT_EQ(progress(R"("progress":1.50,"total":3)"),
            R"({"progressToken":7,"progress":1.50,"total":3,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":3e0)"), R"({"progressToken":7,"progress":3e0,"message":"m"})");
  require("7", "{}");
  EXPECT_EQ(progress(R"("progress":1,"total":2)"),
            R"({"progressToken":7,"progress":4,"total":5,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":2)"), R"({"progressToken":7,"progress":5,"message":"m"})");
  require(R"("retry-7-1")", "{}");
  EXPECT_EQ(progress(R"("progress":0,"total":1e2)"),
            R"({"progressToken":7,"progress":6,"total":106,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":0.25)"), R"({"progressToken":7,"progress":6.25,"message":"m"})");
  EXPECT_EQ(progress(R"("progress":1e20)"),
            R"({"progressToken":7,"progress":100000000000000000000,"message":"m"})");
  require(R"("retry-7-2")", "{}");
  EXPECT_EQ(progress(R"("progress":"x")"), "");
  EXPECT_EQ(progress(R"("progress":1e999)"), "");
}

TEST_F(LegacyRounds, progress_is_unchanged_if_the_first_round_reported_none) {
  call();
  require("7", "{}");
  const std::string_view line =
      R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":0}})";
  server(line);
  EXPECT_EQ(up(), line);
}

TEST_F(LegacyRounds, progress_of_a_finished_round_is_dropped) {
  call();
  require("7", fmt::format(R"({{"a":{}}})", roots));
  up();
  server(R"({"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}})");
  EXPECT_TRUE(ends.up.empty());
}

// Cancellation

TEST_F(LegacyRounds, a_call_in_its_first_round_is_cancelled_at_the_server) {
  call();
  down();
  cancel();
  EXPECT_EQ(down(), R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  EXPECT_TRUE(ends.up.empty());
}

TEST_F(LegacyRounds, a_call_in_a_later_round_is_cancelled_by_the_id_of_that_round) {
  call();
  down();
  require("7", "{}");
  down();
  const auto message = read_message(
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"client's","reason":"r"}})");
  facade.from_client(*message, Edits().replace(message->request_id, "7").list());
  EXPECT_EQ(
      down(),
      R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"retry-7-1","reason":"r"}})");
  answer(R"("retry-7-1")", R"({"content":[]})");
  require(R"("retry-7-1")", "{}");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

TEST_F(LegacyRounds, cancelling_a_call_with_open_questions_cancels_only_those_at_the_client) {
  call();
  down();
  require("7", fmt::format(R"({{"a":{0},"b":{0},"c":{0}}})", roots));
  up(), up(), up();
  client_answers(R"("ask-7-0-1")", "{}");
  cancel();
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-0")");
  EXPECT_EQ(at(up(), {"params", "requestId"}), R"("ask-7-0-2")");
  client_answers(R"("ask-7-0-0")", "{}");
  client_answers(R"("ask-7-0-2")", "{}");
  EXPECT_TRUE(ends.up.empty());
  EXPECT_TRUE(ends.down.empty());
}

}  // namespace
}  // namespace mcpivot
