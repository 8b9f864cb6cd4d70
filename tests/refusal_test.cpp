// A process that rejects the handshake is running: callers are told at once what it said.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Refusal, each_call_fails_at_once_with_the_servers_message_and_tries_again) {
  Client client({.options = {"--name", "dev"},
                 .server = {"--lives", "lives", "--refuse", "initialize=set API_KEY first"}});
  client.initialize();
  client.call("echo", {{"text", "hello"}});  // ends with the attempt that the handshake may have caused
  const auto lives = [&] { return std::stoi(content_of(client.directory() / "lives")); };
  for (int i = 0; i < 2; ++i) {
    const int before = lives();
    const auto began = std::chrono::steady_clock::now();
    EXPECT_THAT(text_of(client.call("echo", {{"text", "hello"}})),
                AllOf(HasSubstr("server \"dev\" can't be used"), HasSubstr("set API_KEY first"),
                      HasSubstr("the next one tries again")));
    EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(5)) << "not --queue-timeout";
    EXPECT_GT(lives(), before);
  }
}

}  // namespace
}  // namespace harness
