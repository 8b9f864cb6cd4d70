#include "front/listen_address.h"

#include <gtest/gtest.h>

#include <string>

namespace mcpivot {
namespace {

TEST(ListenAddress, is_parsed_and_formatted_as_users_write_it) {
  for (const char* text : {"127.0.0.1:7420", "[::1]:0", "localhost:7420", "*:65535", "unix:/run/a.sock",
                           "unix:relative", "0.0.0.0:80", "[2001:db8::1]:80"}) {
    const auto address = parse_listen_address(text);
    ASSERT_TRUE(address) << address.error();
    EXPECT_EQ(address->text(), text);
  }
  EXPECT_EQ(parse_listen_address("LocalHost:1")->text(), "localhost:1");
  EXPECT_EQ(parse_listen_address("[0:0:0:0:0:0:0:1]:1")->text(), "[::1]:1");
}

TEST(ListenAddress, knows_whether_only_local_clients_can_connect) {
  for (const char* text : {"127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "localhost:1", "unix:/a"})
    EXPECT_TRUE(parse_listen_address(text)->is_local()) << text;
  for (const char* text : {"*:1", "0.0.0.0:1", "[::]:1", "192.168.1.2:1", "[fe80::1]:1"})
    EXPECT_FALSE(parse_listen_address(text)->is_local()) << text;
}

TEST(ListenAddress, an_error_says_what_to_write_instead) {
  const auto wrong = [](const char* text) {
    const auto address = parse_listen_address(text);
    EXPECT_FALSE(address) << text;
    const std::string error = address ? "" : address.error();
    EXPECT_NE(error.find(text), std::string::npos) << error;
    return error;
  };
  EXPECT_NE(wrong("7420").find("127.0.0.1:7420"), std::string::npos);
  EXPECT_NE(wrong(":7420").find("*:7420"), std::string::npos);
  EXPECT_NE(wrong("127.0.0.1:65536").find("65535"), std::string::npos);
  EXPECT_NE(wrong("127.0.0.1:").find("port"), std::string::npos);
  EXPECT_NE(wrong("127.0.0.1:http").find("port"), std::string::npos);
  EXPECT_NE(wrong("127.0.0.1:-1").find("port"), std::string::npos);
  EXPECT_NE(wrong("example.com:80").find("IP address"), std::string::npos);
  EXPECT_NE(wrong("::1:80").find("brackets"), std::string::npos);
  EXPECT_NE(wrong("[127.0.0.1]:80").find("brackets"), std::string::npos);
  EXPECT_NE(wrong("unix:").find("path"), std::string::npos);
  wrong("");
  wrong("[::1:80");
  wrong("127.1:80");
}

}  // namespace
}  // namespace mcpivot
