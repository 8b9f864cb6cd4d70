// What is too large, too deep or not a message affects only the message concerned, and is
// never held in memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "memory_bounds.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Lt;

constexpr std::size_t client_limit = 64 << 20;

// Where the id is in a message.
constexpr std::array<std::string_view, 2> id_places = {"first", "last"};

int error_code(const json::object& answer) {
  const json::value* error = answer.if_contains("error");
  return error ? error->at("code").to_number<int>() : 0;
}

// A message of exactly this many bytes: PAD in its text is replaced by as many x as needed.
std::string padded(std::string message, std::size_t size) {
  const std::size_t at = message.find("PAD");
  return message.replace(at, 3, size + 3 - message.size(), 'x');
}

std::string notification_of(std::size_t size) {
  return padded(
      R"({"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"PAD"}})", size);
}

// A call of the tool `count` of exactly this many bytes.
std::string call_of(std::size_t size, std::string_view id, std::string_view place) {
  const std::string body =
      R"("method":"tools/call","params":{"name":"count","arguments":{"pad":"PAD"}},"jsonrpc":"2.0")";
  const std::string id_member = R"("id":)" + std::string(id);
  return padded(place == "first" ? "{" + id_member + "," + body + "}" : "{" + body + "," + id_member + "}",
                size);
}

// A server that reads the id of its first request, does what `script` says with $id and the $arguments, and
// then becomes the fake server. A shell can write what the fake server would have to hold in memory, or can't
// say.
ClientOptions first(const std::string& script, const std::vector<std::string>& arguments = {}) {
  ClientOptions options;
  options.command = {"sh", "-c",
                     "fake=$1; shift\n"
                     "next() { read -r line; id=${line#*'\"id\":'}; id=${id%%[,\\}]*}; }\n" +
                         script + "\nexec \"$fake\"",
                     "sh", fake_server_binary()};
  options.command.insert(options.command.end(), arguments.begin(), arguments.end());
  options.environment = measurable;
  return options;
}

std::string zeros_as(const std::string& character, long count) {
  return "head -c " + std::to_string(count) + " /dev/zero | tr '\\0' '" + character + "'";
}

TEST(Limits, a_response_over_the_limit_becomes_an_error_for_only_that_request) {
  for (const std::string_view place : id_places) {
    SCOPED_TRACE(place);
    std::vector<std::string> server;
    if (place == "last") server.emplace_back("--id-last");
    Client client({.options = {"--max-message", "100000"}, .server = server});
    client.initialize();
    const auto before = client.send_call("echo", {{"text", "before"}});
    const auto large = client.send_call("big", {{"bytes", 150'000}});
    const auto after = client.send_call("echo", {{"text", "after"}});
    EXPECT_EQ(text_of(client.await(before)), "before");
    const json::object refused = client.await(large);
    EXPECT_EQ(error_code(refused), -32603);
    EXPECT_THAT(text_of(refused), AllOf(ContainsRegex("150[0-9][0-9][0-9] bytes"), HasSubstr("100000")));
    EXPECT_EQ(text_of(client.await(after)), "after");
    EXPECT_EQ(client.call_text("echo", {{"text", "much later"}}), "much later");
    EXPECT_THAT(client.answers, IsEmpty());
  }
}

TEST(Limits, a_response_of_200_MB_is_rejected_without_being_stored) {
  for (const std::string_view place : id_places) {
    SCOPED_TRACE(place);
    const std::string text = zeros_as("x", 200'000'000);
    Client client(place == "first" ? first(R"(next; printf '{"jsonrpc":"2.0","id":%s,"result":"' "$id"; )" +
                                           text + R"(; echo '"}')")
                                   : first(R"(next; printf '{"result":"'; )" + text +
                                           R"(; printf '","jsonrpc":"2.0","id":%s}\n' "$id")"));
    const auto large = client.send_call("large");
    EXPECT_THAT(text_of(client.await(large, in_a_while())),
                AllOf(HasSubstr(" 2000000"), HasSubstr("limit of 10000000")));
    EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
    EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(40)));
  }
}

TEST(Limits, a_message_of_exactly_the_limit_passes_and_one_byte_more_does_not) {
  Client client({.options = {"--max-message", "2000"}});
  client.initialize();
  client.call("garbage", {{"text", notification_of(2000)}});
  ASSERT_EQ(client.notifications.size(), 1U);
  EXPECT_EQ(json::serialize(client.notifications.front()).size(), 2000U);
  client.notifications.clear();
  EXPECT_EQ(client.call_text("garbage", {{"text", notification_of(2001)}}), "printed");
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Limits, a_servers_request_over_the_limit_is_rejected) {
  for (const std::string_view place : id_places) {
    SCOPED_TRACE(place);
    std::vector<std::string> server;
    if (place == "last") server.emplace_back("--id-last");
    Client client({.options = {"--max-message", "2000"}, .server = server});
    client.initialize();
    const json::object arguments = {{"method", "sampling/createMessage"},
                                    {"params", {{"systemPrompt", std::string(3000, 'x')}}},
                                    {"id", "mine"}};
    const json::object answer = client.call("ask", arguments);
    EXPECT_EQ(answer.at("result").at("isError"), true);
    // The first words are mcpivot's, about a list of tools that is too long as well.
    const std::string servers(answer.at("result").at("content").as_array().back().at("text").as_string());
    EXPECT_THAT(servers, AllOf(ContainsRegex("3[0-9][0-9][0-9] bytes"), HasSubstr("2000")));
    EXPECT_THAT(client.requests, IsEmpty());
  }
}

TEST(Limits, a_clients_message_over_64_MiB_is_rejected_and_the_connection_continues) {
  for (const std::string_view place : id_places) {
    SCOPED_TRACE(place);
    ClientOptions options;
    options.environment = measurable;
    Client client(options);
    client.child().offer(call_of(client_limit + 1, R"("too large")", place) + "\n", in_a_while());
    const json::object refused = client.await("too large", in_a_while());
    EXPECT_EQ(error_code(refused), -32600);
    EXPECT_THAT(text_of(refused), AllOf(HasSubstr("67108865 bytes"), HasSubstr("67108864")));
    EXPECT_EQ(client.call_text("count"), "1") << "the server saw it";
    EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(100)));
  }
}

TEST(Limits, a_clients_message_of_64_MiB_passes) {
  Client client;
  client.child().offer(call_of(client_limit, R"("just right")", "first") + "\n", in_a_while());
  EXPECT_EQ(text_of(client.await("just right", in_a_while())), "1");
}

TEST(Limits, a_clients_answer_over_64_MiB_becomes_an_error_for_the_server) {
  Client client;
  client.initialize();
  const auto call = client.send_call("ask", {{"method", "sampling/createMessage"}});
  const json::object request = client.expect_request("sampling/createMessage");
  const std::string id = json::serialize(request.at("id"));
  client.child().offer(
      padded(R"({"jsonrpc":"2.0","result":{"text":"PAD"},"id":)" + id + "}", client_limit + 1) + "\n",
      in_a_while());
  const json::object answer = client.await(call, in_a_while());
  EXPECT_EQ(answer.at("result").at("isError"), true);
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("67108865 bytes"), HasSubstr("67108864")));
}

TEST(Limits, an_id_that_is_not_utf8_is_not_repeated_to_the_client) {
  Client client;
  client.child().offer(call_of(client_limit + 1, "\"\xff\"", "first") + "\n", in_a_while());
  EXPECT_EQ(client.call_text("count"), "1");  // throws if something came that is not UTF-8
}

TEST(Limits, a_line_of_300_MB_from_the_server_is_skipped) {
  // Plain text, and text that repeatedly looks like the keys of a message.
  const std::string endless_keys = R"(yes '{"id":999,"method":"' | tr -d '\n' | head -c 30000000)";
  for (const std::string& line : {zeros_as("x", 300'000'000), endless_keys}) {
    SCOPED_TRACE(line);
    Client client(first(line + "; echo"));
    const auto id = client.send("ping");
    EXPECT_TRUE(client.await(id, in_a_while()).contains("result"));
    EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
    EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(40)));
  }
}

TEST(Limits, text_from_the_client_that_is_not_utf8_is_rejected) {
  Client client;
  const std::vector<std::string> broken = {
      "\xff",
      "\xc3",
      "\xc0\xaf",
      "\xe2\x82",
      "\xed\xa0\x80",
      "\xf4\x90\x80x",
      "\xf8\x88\x80",
      "a long text\x80, broken",
      "\xe2\x82\xac\xbf",
  };
  for (const std::string& text : broken) {
    SCOPED_TRACE(testing::PrintToString(text));
    for (const std::string& line :
         {R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","text":")" + text +
              R"("}})",
          R"({"jsonrpc":"2.0","id":7,"method":")" + text + R"("})",
          R"({"jsonrpc":"2.0","id":")" + text + R"(","method":"ping"})",
          R"({"jsonrpc":"2.0","id":7,"method":"ping",")" + text + R"(":1})"}) {
      client.child().send_line(line);
      ASSERT_TRUE(client.receive(soon()));
      ASSERT_EQ(client.answers.size(), 1U);
      EXPECT_EQ(error_code(client.answers.front()), -32700);
      EXPECT_FALSE(client.answers.front().contains("id"));
      client.answers.clear();
    }
  }
  // The server has seen one line: this call.
  const std::string seen = client.call_text("seen");
  EXPECT_EQ(std::ranges::count(seen, '\n'), 1) << seen;
}

// What each of these servers writes contains the request's id, but isn't a message.
TEST(Limits, an_invalid_message_with_the_id_of_a_request_becomes_its_error) {
  const std::vector<std::string> formats = {
      R"({"jsonrpc":"2.0","id":%s,"result":{"text":"\377\376"}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{"text":"\303"}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"te)",
      R"({"jsonrpc":"2.0","id":%s,"result":{"content":[]})",
      R"({"jsonrpc":"2.0","id":%s,"result":{},})",
      R"({"jsonrpc":"2.0","id":%s,"result":{"number":NaN}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{"text":"a\011b"}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{}}})",
      R"(listening {"jsonrpc":"2.0","id":%s,"result":{}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{}} ready)",
      R"({"id":%s,"result":{}})",
      R"({"jsonrpc":"2.0","id":%s})",
      R"({"jsonrpc":"2.0","id":%s,"result":{},"error":{"code":1,"message":"both"}})",
      R"({"jsonrpc":"2.0","id":%s,"result":{},"result":{}})",
      R"({"result":{"text":"\377"},"jsonrpc":"2.0","id":%s})",
  };
  Client client(first(R"(for format in "$@"; do next; printf "$format\n" "$id"; done)", formats));
  for (const std::string& format : formats) {
    SCOPED_TRACE(format);
    const json::object answer = client.request("anything");
    EXPECT_EQ(error_code(answer), -32603);
    EXPECT_THAT(text_of(answer), HasSubstr(R"(server "sh")"));
  }
  EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
  EXPECT_THAT(client.answers, IsEmpty());
  EXPECT_THAT(client.notifications, IsEmpty());
}

TEST(Limits, an_unsupported_batch_becomes_an_error_for_the_requests_it_answers) {
  const std::vector<std::string> formats = {
      R"([{"jsonrpc":"2.0","id":%s,"result":{}}])",
      R"([INFO] {"jsonrpc":"2.0","id":%s,"result":{}})",
  };
  Client client(first(R"(for format in "$@"; do next; printf "$format\n" "$id"; done)", formats));
  for (const std::string& format : formats) {
    SCOPED_TRACE(format);
    EXPECT_EQ(error_code(client.request("anything")), -32603);
  }
  EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
}

// As if a server forgot to end its lines, or wrote from two threads.
TEST(Limits, several_messages_on_one_line_become_errors_for_the_requests_they_answer) {
  Client client(first(R"(next; printf '{"jsonrpc":"2.0","id":%s,"result":{}}' "$id"
                         echo '{"jsonrpc":"2.0","method":"notifications/x"}'
                         next; printf '{"jsonrpc":"2.0","id":%s,"result":{}}' "$id"
                         next; printf '{"jsonrpc":"2.0","id":%s,"result":{}}\n' "$id")"));
  const auto beside_a_notification = client.send("anything");
  EXPECT_EQ(error_code(client.await(beside_a_notification)), -32603);
  const auto one = client.send("anything");
  const auto other = client.send("anything");
  EXPECT_EQ(error_code(client.await(one)), -32603);
  EXPECT_EQ(error_code(client.await(other)), -32603);
  EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
}

TEST(Limits, garbage_between_messages_is_not_forwarded) {
  Client client;
  client.initialize();
  for (const char* text : {"Server running on stdio", "{", "}", "]", "\"", "null", "true", "17", "{}", "[]",
                           "[1,2]", R"({"jsonrpc":"2.0"})", R"({"jsonrpc":"2.0","id":null})"})
    EXPECT_EQ(client.call_text("garbage", {{"text", text}}), "printed") << text;
  EXPECT_THAT(client.answers, IsEmpty());
  EXPECT_THAT(client.notifications, IsEmpty());
  EXPECT_THAT(client.requests, IsEmpty());
}

// A server that turns each request into its answer, with everything that was in it.
ClientOptions echoing() {
  ClientOptions options;
  options.command = {"sed", "-u", R"(s/"method":"echo"/"result":{}/)"};
  return options;
}

std::string nested(int depth) {
  const auto half = static_cast<std::size_t>(depth - 1);
  return R"({"jsonrpc":"2.0","id":"deep","method":"echo","params":)" + std::string(half, '[') +
         std::string(half, ']') + "}";
}

TEST(Limits, a_message_nested_1000_deep_passes_both_ways) {
  Client client(echoing());
  client.child().send_line(nested(1000));
  std::string expected = nested(1000);
  expected.replace(expected.find(R"("method":"echo")"), 15, R"("result":{})");
  EXPECT_EQ(client.child().read_line(soon()), expected);
}

TEST(Limits, a_message_nested_too_deeply_is_rejected) {
  Client client(echoing());
  for (const int depth : {100'000, 10'000'000}) {
    client.child().send_line(nested(depth));
    ASSERT_TRUE(client.receive(soon()));
    EXPECT_EQ(error_code(client.answers.front()), -32700);
    client.answers.clear();
  }
  EXPECT_TRUE(client.request("echo").contains("result"));
}

TEST(Limits, a_response_nested_too_deeply_becomes_an_error) {
  Client client(first(R"(next; printf '{"jsonrpc":"2.0","id":%s,"result":' "$id"; )" +
                      zeros_as("[", 100'000) + "; " + zeros_as("]", 100'000) + "; echo '}'"));
  EXPECT_EQ(error_code(client.request("anything")), -32603);
  EXPECT_EQ(client.call_text("echo", {{"text", "after"}}), "after");
}

TEST(Limits, requests_with_the_same_id_in_flight_are_both_answered) {
  Client client({.server = {"--delay", "prompts/list=20"}});
  client.initialize();
  for (const std::string_view method : {"prompts/list", "tools/list", "resources/list"})
    client.child().send_line(R"({"jsonrpc":"2.0","id":77,"method":")" + std::string(method) + R"("})");
  std::vector<std::string> keys;
  for (int i = 0; i < 3; ++i) {
    const json::object answer = client.await(77);
    keys.emplace_back(answer.at("result").as_object().begin()->key());
  }
  EXPECT_THAT(keys, testing::UnorderedElementsAre("prompts", "tools", "resources"));
}

TEST(Limits, a_message_without_memory_for_it_is_answered_and_the_next_one_read) {
  if (is_instrumented()) GTEST_SKIP() << "a sanitizer needs more memory than there would be";
  Client client;
  client.initialize();
  // It may use 40 MB more than now; to hold the message, its buffer would have to grow from 32 to 64 MB.
  const pid_t pivot = client.child().pid();
  const rlim_t pages = std::stoul(content_of("/proc/" + std::to_string(pivot) + "/statm"));
  const rlim_t most = pages * static_cast<rlim_t>(getpagesize()) + (40 << 20);
  const rlimit limit{most, RLIM_INFINITY};
  ASSERT_EQ(::prlimit(pivot, RLIMIT_AS, &limit, nullptr), 0);
  const std::string huge = call_of(60 << 20, "\"huge\"", "first");
  client.child().send_raw(huge + "\n");
  const json::object answer = client.await("huge", in_a_while());
  EXPECT_THAT(json::serialize(answer), HasSubstr("no memory left for a message of 62914560 bytes"));
  EXPECT_FALSE(client.call("count").contains("error"));
}

}  // namespace
}  // namespace harness
