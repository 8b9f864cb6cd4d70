// A side that doesn't read stops the side that writes to it, and mcpivot holds no more than a few buffers
// in the meantime; when it reads again, everything arrives, complete and in order.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>

#include "memory_bounds.h"
#include "streams.h"

namespace harness {
namespace {

using testing::HasSubstr;
using testing::Lt;

constexpr long megabyte = 1'000'000;

// A shell command that prints the notifications 1 to `count`, of about 1,000 bytes each.
std::string count_aloud(long count) {
  return R"(seq -f '{"jsonrpc":"2.0","method":"notifications/n","params":{"n":%.0f,"pad":")" +
         std::string(930, 'x') + "\"}}' 1 " + std::to_string(count);
}

ClientOptions running(const std::string& script) {
  ClientOptions options;
  options.command = {"sh", "-c", script, fake_server_binary()};
  options.environment = measurable;
  return options;
}

// Reads this many bytes, or fewer if no more arrive.
std::size_t read_up_to(int fd, char* into, std::size_t count) {
  std::size_t got = 0;
  while (got < count) {
    pollfd readable = {fd, POLLIN, 0};
    if (poll(&readable, 1, 60'000) != 1) break;
    const ssize_t more = read(fd, into + got, count - got);
    if (more <= 0) break;
    got += static_cast<std::size_t>(more);
  }
  return got;
}

// The next line is the notification with this number.
testing::AssertionResult is_next(Client& client, long number) {
  const auto line = client.child().read_line(in(std::chrono::seconds(10)));
  if (line && line->find("\"n\":" + std::to_string(number) + ",") != std::string::npos)
    return testing::AssertionSuccess();
  return testing::AssertionFailure() << "expected notification " << number << ", got "
                                     << line.value_or("nothing").substr(0, 200);
}

std::string requests(long from, long to, const std::string& padding = {},
                     const std::string& method = "ping") {
  std::string all;
  for (long id = from; id <= to; ++id)
    all += R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + method +
           R"(","params":{"pad":")" + padding + "\"}}\n";
  return all;
}

// Writes as much as mcpivot accepts, until every process is blocked; true if something is left.
bool offer_until_stuck(Client& client, std::string_view bytes) {
  client.child().offer(bytes, in(std::chrono::milliseconds(1)));
  std::size_t left = 0;
  do {
    left = client.child().unsent();
    wait_until_stuck(client.child());
    client.child().offer("", in(std::chrono::milliseconds(1)));
  } while (client.child().unsent() != left);
  return left > 0;
}

TEST(BackPressure, a_client_that_does_not_read_stops_the_server) {
  Client client(running(count_aloud(500'000)));
  client.child().pause_reading(true);
  wait_until_stuck(client.child());
  for (const pid_t pid : descendants_of(client.child().pid()))
    EXPECT_THAT(bytes_written(pid), Lt(8 * megabyte)) << command_name(pid);
  EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(20)));

  client.child().pause_reading(false);
  for (long n = 1; n <= 20'000; ++n) ASSERT_TRUE(is_next(client, n));
  EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(20)));
}

TEST(BackPressure, a_server_that_does_not_read_stops_the_client) {
  ClientOptions options;
  options.environment = measurable;
  Client client(options);
  client.initialize();
  client.call("stop_reading");
  const std::string all = requests(1'000, 100'000, std::string(950, 'x'), "custom/method");
  EXPECT_TRUE(offer_until_stuck(client, all));
  EXPECT_THAT(all.size() - client.child().unsent(), Lt(8 * megabyte));
  EXPECT_THAT(peak_rss_kb(client.child().pid()),
              Lt(bound_kb(30)));  // requests in flight are kept for a retry
}

TEST(BackPressure, both_directions_full_at_once_continue_and_lose_nothing) {
  constexpr long count = 20'000;
  // Doesn't read until it has written everything.
  Client client(running(count_aloud(count) + "; exec \"$0\""));
  client.child().pause_reading(true);
  wait_until_stuck(client.child());
  ASSERT_TRUE(offer_until_stuck(client, requests(1, count, std::string(950, 'x'))));
  EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(30)));

  client.child().pause_reading(false);
  for (long n = 1; n <= count; ++n) ASSERT_TRUE(is_next(client, n));
  for (long id = 1; id <= count; ++id) ASSERT_EQ(client.child().read_line(in_a_while()), ping_answer(id));
  EXPECT_THAT(peak_rss_kb(client.child().pid()), Lt(bound_kb(30)));
}

// The natural way to get there: a client that sends many requests before it reads a response.
TEST(BackPressure, piled_up_responses_are_all_delivered_when_the_client_reads) {
  constexpr long count = 3'000;
  Client client;
  client.initialize();
  client.child().pause_reading(true);
  std::string all;
  for (long id = 1'001; id <= 1'000 + count; ++id)
    all += R"({"jsonrpc":"2.0","id":)" + std::to_string(id) +
           R"(,"method":"tools/call","params":{"name":"echo","arguments":{"text":")" +
           std::string(3'000, 'x') + std::to_string(id) + "\"}}}\n";
  ASSERT_TRUE(offer_until_stuck(client, all));
  client.child().pause_reading(false);
  for (long id = 1'001; id <= 1'000 + count; ++id)
    ASSERT_THAT(text_of(client.await(id, in_a_while())), testing::EndsWith("x" + std::to_string(id)));
}

// Some of these end with everything they wrote in buffers, some can't end before the client reads.
TEST(BackPressure, the_last_output_of_a_dead_server_waits_for_the_client) {
  for (const long count : {1'500, 2'000, 2'500, 3'000, 3'500, 10'000}) {
    SCOPED_TRACE(count);
    Client client(running(count_aloud(count) + "; exit 3"));
    client.child().pause_reading(true);
    wait_until_stuck(client.child());
    // While mcpivot is suspended, the client makes room; then mcpivot immediately sees that it may write
    // again, and that it has waited for a long time.
    client.child().signal(SIGSTOP);
    client.child().pause_reading(false);
    EXPECT_FALSE(client.child().wait_exit(in(std::chrono::milliseconds(300))));
    client.child().signal(SIGCONT);
    for (long n = 1; n <= count; ++n) ASSERT_TRUE(is_next(client, n));
    EXPECT_THAT(text_of(client.request("ping")), HasSubstr("exited with code 3"));
  }
}

// There is always something waiting to be written, but not always the same.
TEST(BackPressure, a_client_that_is_always_a_little_behind_does_not_make_memory_grow) {
  const Ends out = Ends::of_pipe();
  const TemporaryDirectory directory;
  Environment environment = private_folders(directory.path());
  environment.insert(environment.end(), measurable.begin(), measurable.end());
  const Child child(mcpivot_command(running(count_aloud(500'000))), environment, directory.path(),
                    {.out = out.write});
  std::string piece(300'000, '\0');
  for (int i = 0; i < 150; ++i) {
    ASSERT_TRUE(wait_at_rest({child.pid()}, in_a_while()));
    ASSERT_EQ(read_up_to(out.read, piece.data(), piece.size()), piece.size());
  }
  EXPECT_THAT(peak_rss_kb(child.pid()), Lt(bound_kb(20)));
}

// A client that reads 1,000 bytes at a time, each time only when mcpivot has nothing left to do.
TEST(BackPressure, a_slow_reader_gets_a_result_of_5_MB_byte_for_byte) {
  std::string text;
  for (int i = 0; text.size() < 5'000'000; ++i) text += std::to_string(i * 7919) + "\\n\\u00e9 € \\\" ";
  const Ends out = Ends::of_pipe();
  const TemporaryDirectory directory;
  ClientOptions options;
  options.command = {"sh", "-c", R"(head -n 1 | sed 's/"method":"echo"/"result":{}/'; exec sleep 600)"};
  Child child(mcpivot_command(options), private_folders(directory.path()), directory.path(),
              {.out = out.write});
  const std::string tail = R"(,"text":")" + text + "\"}\n";
  child.offer(R"({"jsonrpc":"2.0","id":"a","method":"echo")" + tail, in_a_while());

  const std::string expected = R"({"jsonrpc":"2.0","id":"a","result":{})" + tail;
  std::string received;
  std::array<char, 1'000> piece{};
  while (received.size() < expected.size()) {
    if (received.size() % 500'000 == 0) wait_at_rest({child.pid()}, soon());
    const std::size_t wanted = std::min(piece.size(), expected.size() - received.size());
    ASSERT_EQ(read_up_to(out.read, piece.data(), wanted), wanted);
    received.append(piece.data(), wanted);
  }
  EXPECT_TRUE(received == expected);
}

TEST(BackPressure, ten_thousand_requests_at_once_are_each_answered_once_and_in_order) {
  Client client;
  ASSERT_TRUE(client.child().offer(requests(1, 10'000), in_a_while()));
  for (long id = 1; id <= 10'000; ++id) ASSERT_EQ(client.child().read_line(in_a_while()), ping_answer(id));
  client.child().close_stdin();
  EXPECT_TRUE(client.child().wait_end(soon())) << "there was one answer more";
}

TEST(BackPressure, messages_that_arrive_byte_by_byte_are_joined) {
  ClientOptions options;
  options.command = {"sh", "-c", "\"$0\" | dd bs=1 status=none", fake_server_binary()};
  Client client(options);
  for (const char byte : requests(1, 3)) client.child().send_raw({&byte, 1});
  for (long id = 1; id <= 3; ++id) EXPECT_EQ(client.child().read_line(soon()), ping_answer(id));
}

TEST(BackPressure, messages_that_arrive_in_one_write_are_split) {
  Client client(running("printf '%s\\n%s\\n\\n%s\\n' '" + ping_answer(0) +
                        R"(' '{"jsonrpc":"2.0","method":"a"}' '{"jsonrpc":"2.0","method":"b"}'; exec "$0")"));
  EXPECT_EQ(client.child().read_line(soon()), R"({"jsonrpc":"2.0","method":"a"})");
  EXPECT_EQ(client.child().read_line(soon()), R"({"jsonrpc":"2.0","method":"b"})");
  client.child().send_raw(requests(1, 2) + "\r\n\n" + requests(3, 4));
  for (long id = 1; id <= 4; ++id) EXPECT_EQ(client.child().read_line(soon()), ping_answer(id));
}

}  // namespace
}  // namespace harness
