// What terminals, descriptors and large calls may use is bounded, and short resources recover.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>

#include "gateways.h"
#include "memory_bounds.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::HasSubstr;

// A terminal's end of the control socket.
class Terminal {
 public:
  explicit Terminal(const Client& client)
      : fd_(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
    const std::string path = client.directory() / "run/mcpivot" /
                             (std::to_string(const_cast<Client&>(client).child().pid()) + ".sock");
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::memcpy(address.sun_path, path.c_str(), path.size());
    connected_ = ::connect(fd_, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) == 0;
  }
  ~Terminal() { ::close(fd_); }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  bool connected() const { return connected_; }

  // All of it at once: the socket has enough room.
  bool say(const std::string& text) const {
    return ::write(fd_, text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }
  // How many lines arrive, up to this many or the end.
  std::size_t lines(std::size_t wanted) const {
    std::size_t count = 0;
    std::vector<char> piece(1 << 20);
    while (count < wanted) {
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, 10'000) != 1) return count;
      const ssize_t got = ::read(fd_, piece.data(), piece.size());
      if (got <= 0) return count;
      count += static_cast<std::size_t>(std::count(piece.begin(), piece.begin() + got, '\n'));
    }
    return count;
  }

 private:
  int fd_;
  bool connected_ = false;
};

std::string requests(std::string_view method, int count) {
  std::string all;
  for (int id = 1; id <= count; ++id)
    all +=
        R"({"jsonrpc":"2.0","id":)" + std::to_string(id) + R"(,"method":")" + std::string(method) + "\"}\n";
  return all;
}

TEST(ControlLimits, a_terminal_that_never_reads_uses_little_memory_and_loses_nothing) {
  json::object servers = two();
  servers["alpha"].as_object()["tools"] = {{"describe", {{"echo", std::string(100'000, 'w')}}}};
  ClientOptions options = with(servers);
  options.environment = measurable;
  Client client(options);
  start(client);
  const pid_t pivot = client.child().pid();
  const Terminal terminal(client);
  ASSERT_TRUE(terminal.connected());
  const long before = rss_kb(pivot);
  ASSERT_TRUE(terminal.say(requests("tools/list", 2'000)));
  ASSERT_TRUE(wait_at_rest({pivot}, in_a_while()));
  EXPECT_LT(rss_kb(pivot), before + bound_kb(20));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "meanwhile"}}), "meanwhile");
  EXPECT_EQ(terminal.lines(2'000), 2'000U);
}

TEST(ControlLimits, large_calls_of_prefixed_tools_leak_no_memory) {
  ClientOptions options = with(two());
  options.environment = measurable;
  Client client(options);
  start(client);
  const std::string text(5'000'000, 'x');
  const auto call = [&] { EXPECT_EQ(own(client, "alpha__count", {{"text", text}}).size() < 10, true); };
  call();
  const long before = rss_kb(client.child().pid());
  for (int i = 0; i < 20; ++i) call();
  EXPECT_LT(rss_kb(client.child().pid()), before + bound_kb(30));
}

TEST(ControlLimits, a_terminal_waits_while_no_descriptor_is_free) {
  Client client(with(two()));
  start(client);
  // UBSan needs a descriptor when it first looks at an object's type.
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "before"}}), "before");
  const pid_t pivot = client.child().pid();
  rlimit usual{};
  ASSERT_EQ(::prlimit(pivot, RLIMIT_NOFILE, nullptr, &usual), 0);
  const rlimit none{3, usual.rlim_max};
  ASSERT_EQ(::prlimit(pivot, RLIMIT_NOFILE, &none, nullptr), 0);
  const Terminal early(client);
  ASSERT_TRUE(early.connected()) << "it is in the kernel's queue";
  ASSERT_TRUE(early.say(requests("status", 1)));
  EXPECT_TRUE(client.child().wait_stderr("can't accept a terminal", soon()));
  EXPECT_EQ(own(client, "alpha__echo", {{"text", "meanwhile"}}), "meanwhile");
  ASSERT_EQ(::prlimit(pivot, RLIMIT_NOFILE, &usual, nullptr), 0);
  EXPECT_EQ(early.lines(1), 1U);
  EXPECT_EQ(run_mcpivot({"status"}, client.directory()).exit_code, 0);
}

// Its configuration is a FIFO, so that the test knows how far it has come.
TEST(ControlLimits, a_reload_signal_during_startup_is_handled_afterwards) {
  const TemporaryDirectory folder;
  const std::string fifo = folder.path() / "config.json";
  Gate gate(fifo);
  Client client({.options = {"--config", fifo}});
  ASSERT_TRUE(gate.wait_for_visitor());
  client.child().signal(SIGHUP);
  std::ofstream(fifo) << file_of({{"alpha", server({"--lives", folder.path() / "lives"})}});
  gate.open();
  client.initialize();
  EXPECT_EQ(own(client, "echo", {{"text", "alive"}}), "alive");
}

}  // namespace
}  // namespace harness
