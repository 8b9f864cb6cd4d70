// Where a server can listen, and the error when it can't.
#include <fcntl.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>

#include "front/http_server_fixture.h"
#include "front/listening_socket.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

class ListeningTest : public HttpServerTest {
 protected:
  void SetUp() override {
    HttpServerTest::SetUp();
    server.emplace(loop, corks, handler);
    answer_all();
  }
  std::string why_not(const std::string& address) {
    const auto bound = server->listen(*parse_listen_address(address));
    EXPECT_FALSE(bound) << address;
    return bound ? "" : bound.error();
  }
};

bool has_ipv6() {
  return open_listening_sockets(*parse_listen_address("[::1]:0")).has_value();
}

TEST_F(ListeningTest, port_0_is_any_free_port_and_the_real_one_is_reported) {
  const auto bound = server->listen(*parse_listen_address("127.0.0.1:0"));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_NE(bound->port, 0);
  EXPECT_EQ(bound->addresses, std::vector{"127.0.0.1:" + std::to_string(bound->port)});
  RawClient client(*this, bound->port);
  EXPECT_EQ(client.ask(get()).status, 200);
  EXPECT_EQ(handler.requests.at(0).ask.local_port, bound->port);
}

TEST_F(ListeningTest, localhost_is_both_loopback_addresses_on_one_port) {
  const auto bound = server->listen(*parse_listen_address("localhost:0"));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->addresses.size(), has_ipv6() ? 2U : 1U);
  RawClient client(*this, bound->port);
  EXPECT_EQ(client.ask(get()).status, 200);
  if (!has_ipv6()) return;
  const int six = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in6 to{};
  to.sin6_family = AF_INET6;
  to.sin6_port = htons(bound->port);
  to.sin6_addr = in6addr_loopback;
  ASSERT_EQ(::connect(six, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0);
  RawClient other(*this, RawClient::Descriptor{six});
  EXPECT_EQ(other.ask(get()).status, 200);
  EXPECT_EQ(handler.requests.at(1).ask.peer, "::1");
}

TEST_F(ListeningTest, all_addresses_includes_ipv4_whose_peers_are_shown_as_ipv4) {
  const auto bound = server->listen(*parse_listen_address("*:0"));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->addresses, std::vector{"*:" + std::to_string(bound->port)});
  RawClient client(*this, bound->port);
  EXPECT_EQ(client.ask(get()).status, 200);
  EXPECT_EQ(handler.requests.at(0).ask.peer, "127.0.0.1");
}

TEST_F(ListeningTest, an_unavailable_address_is_an_error_with_advice) {
  const auto bound = server->listen(*parse_listen_address("127.0.0.1:0"));
  ASSERT_TRUE(bound) << bound.error();
  const std::string taken = "127.0.0.1:" + std::to_string(bound->port);
  EXPECT_EQ(why_not(taken), "can't listen on " + taken +
                                ": another program listens on that port. Stop it, or choose another port.");
  EXPECT_NE(why_not("localhost:" + std::to_string(bound->port)).find("another program"), std::string::npos);
  EXPECT_NE(why_not("192.0.2.1:0").find("no such address"), std::string::npos);  // reserved for documentation
  EXPECT_NE(why_not("unix:/no/such/folder/socket").find("folder"), std::string::npos);
  EXPECT_NE(why_not("unix:/tmp/" + std::string(200, 'x')).find("too long"), std::string::npos);
}

TEST_F(ListeningTest, a_unix_socket_is_private_and_removed_with_the_server) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "socket";
  const auto bound = server->listen(*parse_listen_address("unix:" + path));
  ASSERT_TRUE(bound) << bound.error();
  EXPECT_EQ(bound->addresses, std::vector{"unix:" + path});
  EXPECT_EQ(bound->port, 0);
  struct stat file{};
  ASSERT_EQ(::stat(path.c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777, 0600U);
  RawClient client(*this, path);
  EXPECT_EQ(client.ask(get()).status, 200);
  EXPECT_EQ(handler.requests.at(0).ask.peer, "unix");
  EXPECT_EQ(handler.requests.at(0).ask.local_port, 0);
  server->close();
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(ListeningTest, only_an_abandoned_socket_file_is_replaced) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "socket";
  ASSERT_TRUE(server->listen(*parse_listen_address("unix:" + path)));
  EXPECT_NE(why_not("unix:" + path).find("another process listens"), std::string::npos);
  RawClient client(*this, path);
  EXPECT_EQ(client.ask(get()).status, 200) << "it was not disturbed";

  const std::string left = folder / "left";
  const int dead = ::socket(AF_UNIX, SOCK_STREAM, 0);
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  std::memcpy(name.sun_path, left.c_str(), left.size());
  ASSERT_EQ(::bind(dead, reinterpret_cast<sockaddr*>(&name), sizeof(name)), 0);
  ::close(dead);  // its file stays
  ASSERT_TRUE(std::filesystem::exists(left));
  const auto bound = server->listen(*parse_listen_address("unix:" + left));
  ASSERT_TRUE(bound) << bound.error();
  RawClient other(*this, left);
  EXPECT_EQ(other.ask(get()).status, 200);

  folder.write("file", "precious");
  EXPECT_NE(why_not("unix:" + (folder / "file")).find("Remove it"), std::string::npos);
  EXPECT_TRUE(std::filesystem::exists(folder / "file"));
}

TEST_F(ListeningTest, a_socket_file_created_by_another_process_is_not_removed) {
  const host::TemporaryDirectory folder;
  const std::string path = folder / "socket";
  ASSERT_TRUE(server->listen(*parse_listen_address("unix:" + path)));
  folder.remove("socket");
  folder.write("placeholder", "");  // may get the old inode number, so the next one does not
  folder.write("socket", "another's");
  server->close();
  EXPECT_TRUE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace mcpivot
