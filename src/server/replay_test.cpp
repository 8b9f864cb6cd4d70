#include "server/replay.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace mcpivot {
namespace {

constexpr std::string_view done = R"({"jsonrpc":"2.0","id":1,"result":{"content":[]}})";

// How many calls are repeated after one with these params was answered like this.
std::size_t repeated(std::string_view params, std::string_view answer = done) {
  Replay replay(ClientId{1});
  replay.set_rules({{.tool = "log_in", .key = {}, .value = {}}});
  const std::string line =
      fmt::format(R"({{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}})", params);
  Generation::Requests::Request request;
  request.kept.keep(*read_message(line));
  request.known = Method::tools_call;
  replay.learn(request, *read_message(answer));
  return replay.calls().size();
}

TEST(Replay, repeats_a_successful_call) {
  EXPECT_EQ(repeated(R"({"name":"log_in","arguments":{}})"), 1U);
  EXPECT_EQ(repeated(R"({"name":"other","arguments":{}})"), 0U);
  EXPECT_EQ(repeated(R"({"name":"log_in"})", R"({"jsonrpc":"2.0","id":1,"result":{"isError":true}})"), 0U);
}

TEST(Replay, does_not_repeat_answers_to_an_earlier_generations_questions) {
  EXPECT_EQ(repeated(R"({"name":"log_in","inputResponses":{"a":{}},"requestState":"s"})"), 0U);
  EXPECT_EQ(repeated(R"({"name":"log_in","requestState":"s"})"), 0U);
  EXPECT_EQ(repeated(R"({"name":"log_in","inputResponses":{"a":{}}})"), 0U)
      << "a server needs no requestState";
}

}  // namespace
}  // namespace mcpivot
