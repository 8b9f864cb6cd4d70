// The configuration file changes while requests wait for a server in it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;

const json::object missing{{"command", "/no/such/program"}, {"active", true}};

std::int64_t send_hello(Client& client) {
  return client.send("initialize", {{"protocolVersion", "2025-06-18"},
                                    {"capabilities", json::object()},
                                    {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
}

// A client of a single server whose handshake never ends.
ClientOptions hanging() {
  return with({{"alpha", server({"--hold", "initialize", "--tap", "tap"})}});
}

bool wait_hanging(Client& client) {
  return wait_for_text(client.directory() / "tap", "initialize");
}

TEST(FileMeanwhile, a_waiting_handshake_is_told_that_the_new_program_does_not_exist) {
  Client client(hanging());
  const auto hello = send_hello(client);
  ASSERT_TRUE(wait_hanging(client));
  rewrite(client, file_of({{"alpha", missing}}));
  EXPECT_THAT(json::serialize(client.await(hello)), HasSubstr("/no/such/program"));
  EXPECT_TRUE(client.request("ping").contains("result"));
}

TEST(FileMeanwhile, a_waiting_handshake_is_answered_when_a_second_server_is_added) {
  for (const json::object& first : {missing, server({"--hold", "initialize"})}) {
    Client client(hanging());
    const auto hello = send_hello(client);
    ASSERT_TRUE(wait_hanging(client));
    rewrite(client, file_of({{"alpha", first}, {"beta", server({"--only", "echo"}, {{"active", true}})}}));
    EXPECT_THAT(json::serialize(client.await(hello)), HasSubstr("connects several MCP servers"));
    wait_ready(client, {"beta"});
    EXPECT_EQ(own(client, "beta__echo", {{"text", "here"}}), "here");
  }
}

TEST(FileMeanwhile, a_waiting_handshake_and_list_are_answered_when_no_server_is_left) {
  Client client(hanging());
  const auto hello = send_hello(client);
  const auto list = client.send("tools/list");
  ASSERT_TRUE(wait_hanging(client));
  rewrite(client, file_of({}));
  EXPECT_THAT(json::serialize(client.await(hello)), HasSubstr("there is no server"));
  EXPECT_TRUE(client.await(list).contains("result"));
  client.child().close_stdin();
  EXPECT_EQ(client.child().wait_exit(soon()), 0);
}

TEST(FileMeanwhile, a_waiting_handshake_is_answered_when_the_server_is_renamed) {
  Client client(hanging());
  const auto hello = send_hello(client);
  ASSERT_TRUE(wait_hanging(client));
  rewrite(client, file_of({{"beta", server({"--only", "echo"})}}));
  EXPECT_TRUE(client.await(hello).contains("result"));
  client.notify("notifications/initialized");
  EXPECT_TRUE(wait_until([&] { return std::ranges::count(tools_of(client), "echo") == 1; }, soon()));
}

}  // namespace
}  // namespace harness
