// The HTTP daemon behind every subject of http_bench: as small and as fast as it can be, so that what the
// benchmark measures is the proxy. One thread, epoll, Streamable HTTP without sessions; its one tool, `echo`,
// returns {"text": …} or makes {"size": N} bytes of text.
//
// usage: echo_daemon [PORT]; it prints the port, which it chooses if it is given none.
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
#include "sample_text.h"

namespace {

std::string_view member(std::string_view object, std::string_view key) {
  Members members(object);
  while (members.next())
    if (members.key() == key) return members.value();
  return {};
}

// Made once for each size.
const std::string& text_of(size_t size) {
  static std::map<size_t, std::string> texts;
  std::string& text = texts[size];
  if (!text.empty()) return text;
  text = R"({"content":[{"type":"text","text":")";
  for (const char c : sample_text(size)) {
    if (c == '"' || c == '\\') text += '\\';
    c == '\n' ? text += "\\n" : text += c;
  }
  return text += R"("}]})";
}

std::string result_of(std::string_view method, std::string_view params) {
  if (method == R"("tools/call")") {
    const std::string_view arguments = member(params, "arguments");
    if (const std::string_view size = member(arguments, "size"); !size.empty())
      return text_of(std::strtoul(std::string(size).c_str(), nullptr, 10));
    const std::string text(member(arguments, "text"));
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
  for (size_t written = 0; written < out.size();) {
    const ssize_t step = send(fd, out.data() + written, out.size() - written, MSG_NOSIGNAL);
    if (step <= 0) return false;
    written += static_cast<size_t>(step);
  }
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  const int yes = 1;
  setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (argc > 1) address.sin_port = htons(static_cast<uint16_t>(std::strtoul(argv[1], nullptr, 10)));
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
