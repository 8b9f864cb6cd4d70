// The HTTP daemon behind every subject of http_bench: as small and as quick as it can be, so that what the
// benchmark sees is the proxy. One thread, epoll, Streamable HTTP without sessions; its one tool, `echo`,
// returns {"text": …}.
//
// usage: echo_daemon; it prints the port that it chose.
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "json_scan.h"

namespace {

std::string_view member(std::string_view object, std::string_view key) {
  Members members(object);
  while (members.next())
    if (members.key() == key) return members.value();
  return {};
}

std::string result_of(std::string_view method, std::string_view params) {
  if (method == R"("tools/call")") {
    const std::string text(member(member(params, "arguments"), "text"));
    return R"({"content":[{"type":"text","text":)" + (text.empty() ? "\"\"" : text) + "}]}";
  }
  if (method == R"("initialize")")
    return R"({"protocolVersion":"2025-06-18","capabilities":{"tools":{}},)"
           R"("serverInfo":{"name":"echo","version":"1"}})";
  if (method == R"("tools/list")") return R"({"tools":[{"name":"echo","inputSchema":{"type":"object"}}]})";
  return "{}";
}

std::string answer(std::string_view method, std::string_view body) {
  if (method != "POST") return "HTTP/1.1 405 Method Not Allowed\r\nContent-Length: 0\r\n\r\n";
  const std::string_view id = member(body, "id");
  if (id.empty()) return "HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n";
  const std::string json = R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":)" +
                           result_of(member(body, "method"), member(body, "params")) + "}";
  return "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: " +
         std::to_string(json.size()) + "\r\n\r\n" + json;
}

size_t content_length(std::string_view head) {
  for (const char* name : {"\r\nContent-Length: ", "\r\ncontent-length: "}) {
    const auto at = head.find(name);
    if (at == std::string_view::npos) continue;
    size_t length = 0;
    std::from_chars(head.data() + at + 18, head.data() + head.size(), length);
    return length;
  }
  return 0;
}

// Answers all requests that are complete. False: the connection is over.
bool serve(int fd, std::string& input) {
  std::array<char, 65'536> buffer;
  const ssize_t got = read(fd, buffer.data(), buffer.size());
  if (got <= 0) return false;
  input.append(buffer.data(), static_cast<size_t>(got));
  std::string out;
  for (size_t head = input.find("\r\n\r\n"); head != std::string::npos; head = input.find("\r\n\r\n")) {
    const size_t body = content_length(std::string_view(input).substr(0, head));
    if (input.size() < head + 4 + body) break;
    out += answer(std::string_view(input).substr(0, input.find(' ')),
                  std::string_view(input).substr(head + 4, body));
    input.erase(0, head + 4 + body);
  }
  return out.empty() || write(fd, out.data(), out.size()) == static_cast<ssize_t>(out.size());
}

}  // namespace

int main() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  if (bind(listener, reinterpret_cast<sockaddr*>(&address), size) != 0 || listen(listener, 512) != 0)
    return 1;
  getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size);
  std::printf("%d\n", ntohs(address.sin_port));
  std::fflush(stdout);
  const int loop = epoll_create1(0);
  auto watch = [&](int fd) {
    epoll_event event{};
    event.events = EPOLLIN;
    event.data.fd = fd;
    epoll_ctl(loop, EPOLL_CTL_ADD, fd, &event);
  };
  watch(listener);
  std::map<int, std::string> inputs;
  std::array<epoll_event, 64> events{};
  for (;;) {
    const int count = epoll_wait(loop, events.data(), static_cast<int>(events.size()), -1);
    for (int i = 0; i < count; ++i) {
      const int fd = events[static_cast<size_t>(i)].data.fd;
      if (fd != listener) {
        if (serve(fd, inputs[fd])) continue;
        inputs.erase(fd);
        close(fd);
        continue;
      }
      const int accepted = accept4(listener, nullptr, nullptr, 0);
      const int one = 1;
      setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
      watch(accepted);
    }
  }
}
