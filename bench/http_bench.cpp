// What does it cost to have mcpivot between a client and an HTTP daemon? Compared with a plain HTTP client
// that keeps its connection, and npm's mcp-remote, all in turns against the same daemon, and held against the
// project's bars.
#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "bars.h"
#include "client.h"
#include "cores.h"
#include "memory.h"
#include "options.h"
#include "times.h"

namespace {

namespace fs = std::filesystem;
constexpr size_t in_flight = 32;

// One connection, one request at a time.
class PlainClient {
 public:
  explicit PlainClient(uint16_t port) : fd_(socket(AF_INET, SOCK_STREAM, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons(port);
    if (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) != 0)
      throw SubjectError("no daemon");
    const int one = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    const std::string body =
        R"({"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"echo","arguments":{"text":")" +
        std::string(100, 'x') + R"("}}})";
    request_ =
        "POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: application/json, text/event-stream\r\n"
        "Content-Type: application/json\r\nContent-Length: " +
        std::to_string(body.size()) + "\r\n\r\n" + body;
  }
  ~PlainClient() { close(fd_); }
  PlainClient(const PlainClient&) = delete;
  PlainClient& operator=(const PlainClient&) = delete;

  Clock::duration call() {
    const auto begin = Clock::now();
    if (write(fd_, request_.data(), request_.size()) < 0) throw SubjectError("the daemon is gone");
    std::string answer;
    while (!answer.ends_with("]}}")) {
      char buffer[4096];
      const ssize_t got = read(fd_, buffer, sizeof(buffer));
      if (got <= 0) throw SubjectError("the daemon is gone");
      answer.append(buffer, static_cast<size_t>(got));
    }
    return Clock::now() - begin;
  }

 private:
  int fd_;
  std::string request_;
};

struct Contender {
  std::string name;
  std::vector<std::string> command;
  std::unique_ptr<Client> client = nullptr;
  std::vector<double> round_trips = {};  // medians of each round, µs
  std::vector<double> streams = {};      // calls/s
};

void measure(Contender& contender, size_t calls, size_t streamed) {
  std::vector<double> times;
  for (size_t i = 0; i < calls; ++i) {
    deadline::arm();
    times.push_back(microseconds(contender.client->call_with_text()));
  }
  contender.round_trips.push_back(median(times));
  deadline::arm();
  const auto took = contender.client->stream(streamed, in_flight);
  contender.streams.push_back(static_cast<double>(streamed) / (microseconds(took) / 1e6));
}

}  // namespace

int main(int argc, char** argv) {
  bool check = false;
  CommandLine line("http_bench", "usage: http_bench [--check]\n");
  line.flag("--check", check);
  line.read(argc, argv);
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path peers = folder.parent_path().parent_path() / "tests/peers/node_modules";
  setenv("XDG_CACHE_HOME", "/dev/null", 1);
  deadline::install();
  deadline::arm();
  // As in relay_bench: the cost of a proxy, and not of waking cores that sleep.
  Cores().use_one();
  Subject daemon({folder / "echo_daemon"});
  const std::string port(daemon.read_line());
  const std::string url = fmt::format("http://127.0.0.1:{}/mcp", port);
  Contender pivot{"mcpivot", {folder / "mcpivot", "--log", "/dev/null", "--url", url}};
  Contender remote{"mcp-remote",
                   {"/usr/bin/env", "node", peers / "mcp-remote/dist/proxy.js", url, "--allow-http",
                    "--transport", "http-only", "--silent"}};
  const bool has_remote = fs::exists(peers / "mcp-remote");
  std::vector<double> direct;
  PlainClient plain(static_cast<uint16_t>(std::stoi(port)));
  pivot.client = std::make_unique<Client>(pivot.command);
  pivot.client->finish_handshake();
  if (has_remote) {
    deadline::arm();
    remote.client = std::make_unique<Client>(remote.command);
    remote.client->finish_handshake();
  }
  for (int round = 0; round < 7; ++round) {
    std::vector<double> times;
    for (int i = 0; i < 1000; ++i) times.push_back(microseconds(plain.call()));
    direct.push_back(median(times));
    measure(pivot, 1000, 5000);
    if (has_remote) measure(remote, 100, 500);
  }
  const Memory memory = memory_of(pivot.client->pid());
  const double added = median(pivot.round_trips) - median(direct);
  const double ratio = has_remote ? median(pivot.streams) / median(remote.streams) : 0;
  fmt::print("{:28}{:>14}{:>14}{:>14}\n", "HTTP, loopback, medians", "plain client", "mcpivot", "mcp-remote");
  fmt::print("{:28}{:>11.1f} µs{:>11.1f} µs{:>11.1f} µs\n", "200 B round trip, p50", median(direct),
             median(pivot.round_trips), median(remote.round_trips));
  fmt::print("{:28}{:>14}{:>14.0f}{:>14.0f}\n", "calls/s, 32 in flight", "", median(pivot.streams),
             median(remote.streams));
  fmt::print("{:28}{:>14}{:>11.1f} MB{:>11.1f} MB\n\n", "memory, peak", "", memory.peak,
             has_remote ? memory_of(remote.client->pid()).peak : 0.0);
  Bars bar;
  bar(added <= 60, fmt::format("adds at most 60 µs to a round trip: {:.1f}", added));
  if (has_remote) bar(ratio >= 5, fmt::format("at least 5 times the calls of mcp-remote: {:.1f}", ratio));
  bar(memory.peak < 15, fmt::format("memory under 15 MB: {:.1f}", memory.peak));
  return check && !bar.all_cleared() ? 1 : 0;
}
