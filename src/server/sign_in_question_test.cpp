#include "server/sign_in_question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;

const SignInQuestion question{.id = "s1", .server = "app", .url = "https://i.example/a?b=\"c\""};
constexpr std::string_view browses = R"({"capabilities":{"elicitation":{"url":{}}}})";

std::string call(std::string_view more = "", std::string_view capabilities = R"({"elicitation":{"url":{}}})",
                 std::string_view method = "tools/call") {
  return std::string(R"({"jsonrpc":"2.0","id":"7","method":")") + std::string(method) +
         R"(","params":{"name":"echo","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",)"
         R"("io.modelcontextprotocol/clientCapabilities":)" +
         std::string(capabilities) + "}" + std::string(more) + "}}";
}

TEST(SignInQuestion, is_sent_to_clients_that_can_open_a_url) {
  const std::string line = call();
  const Message request = *read_message(line);
  EXPECT_TRUE(can_ask_to_sign_in(request, Era::legacy, browses));
  EXPECT_FALSE(can_ask_to_sign_in(request, Era::legacy, R"({"capabilities":{"elicitation":{}}})"));
  EXPECT_FALSE(can_ask_to_sign_in(request, Era::legacy, R"({"capabilities":{"elicitation":{"form":{}}}})"));
  EXPECT_FALSE(can_ask_to_sign_in(request, Era::legacy, ""));
  EXPECT_TRUE(can_ask_to_sign_in(request, Era::modern, ""));
  const std::string other = call("", R"({"elicitation":{"form":{}}})");
  EXPECT_FALSE(can_ask_to_sign_in(*read_message(other), Era::modern, browses)) << "each request says it";
}

TEST(SignInQuestion, is_not_sent_between_other_questions_or_for_a_list) {
  for (const std::string& line : {call(R"(,"requestState":"of the server")"), call(R"(,"task":{})"),
                                  call("", R"({"elicitation":{"url":{}}})", "tools/list")})
    EXPECT_FALSE(can_ask_to_sign_in(*read_message(line), Era::modern, "")) << line;
}

TEST(SignInQuestion, has_the_form_of_each_era) {
  const std::string line = call();
  const Message request = *read_message(line);
  const std::string legacy = ask_to_sign_in(request, Era::legacy, question);
  ASSERT_TRUE(read_message(legacy)) << legacy;
  EXPECT_THAT(legacy, HasSubstr(R"("id":"7")"));
  EXPECT_THAT(legacy, HasSubstr(R"("code":-32042)"));
  EXPECT_THAT(legacy,
              HasSubstr(R"("elicitations":[{"mode":"url","url":"https://i.example/a?b=\"c\"","message":")"));
  EXPECT_THAT(legacy, HasSubstr(R"("elicitationId":"s1"}])"));
  const std::string modern = ask_to_sign_in(request, Era::modern, question);
  ASSERT_TRUE(read_message(modern)) << modern;
  EXPECT_THAT(modern, HasSubstr(R"("resultType":"input_required")"));
  EXPECT_THAT(modern, HasSubstr(R"({"sign_in":{"method":"elicitation/create","params":{"mode":"url",)"));
  EXPECT_EQ(
      sign_in_is_over(question),
      R"({"jsonrpc":"2.0","method":"notifications/elicitation/complete","params":{"elicitationId":"s1"}})");
}

TEST(SignInQuestion, is_answered_when_the_client_retries_the_call) {
  const std::string first = call();
  const std::string answer = ask_to_sign_in(*read_message(first), Era::modern, question);
  const std::string state(find_member(find_member(answer, "result"), "requestState"));
  const auto again = [&](std::string_view response) {
    return call(std::string(R"(,"requestState":)") + state + R"(,"inputResponses":{"sign_in":)" +
                std::string(response) + "}");
  };
  const std::string agreed = again(R"({"action":"accept"})");
  EXPECT_TRUE(follows_sign_in(*read_message(agreed)));
  EXPECT_TRUE(agrees_to_sign_in(*read_message(agreed)));
  for (const char* const response :
       {R"({"action":"decline"})", R"({"action":"cancel"})", R"({})", R"("accept")"}) {
    const std::string line = again(response);
    EXPECT_TRUE(follows_sign_in(*read_message(line)));
    EXPECT_FALSE(agrees_to_sign_in(*read_message(line))) << response;
  }
  const std::string other =
      call(R"(,"requestState":"of the server","inputResponses":{"sign_in":{"action":"accept"}})");
  EXPECT_FALSE(follows_sign_in(*read_message(other)));
}

}  // namespace
}  // namespace mcpivot
