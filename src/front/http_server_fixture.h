// For tests: a server on a real socket and clients that send arbitrary bytes, in one thread: waiting runs the
// loop.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "front/http_server.h"

namespace mcpivot {

// Answers as scripted, and records what it is called with.
class ScriptedHandler : public HttpServer::Handler {
 public:
  struct Request {
    ReplyId reply;
    HttpAsk ask;
    std::string body;
  };
  std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) override {
    ++judged;
    if (on_judge_of) on_judge_of(reply);
    return on_judge ? on_judge(ask) : std::nullopt;
  }
  void on_request(ReplyId reply, const HttpAsk& ask, std::string body) override {
    requests.push_back({reply, ask, std::move(body)});
    if (then) then(requests.back());
    after += ask.method + " " + ask.target + " " + std::string(ask.header("host")) + ";";
  }
  void on_gone(ReplyId reply) override { gone.push_back(reply); }
  void on_drained(ReplyId reply) override { drained.push_back(reply); }

  std::function<std::optional<HttpAnswer>(const HttpAsk&)> on_judge;
  std::function<void(ReplyId)> on_judge_of;
  std::function<void(const Request&)> then;
  int judged = 0;
  std::vector<Request> requests;
  std::string after;  // what could be seen of the requests after they were handled
  std::vector<ReplyId> gone;
  std::vector<ReplyId> drained;
};

class HttpServerTest : public testing::Test {
 public:
  // Runs the loop until this is true. False: that never happened.
  bool until(const std::function<bool()>& reached) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!reached()) {
      if (std::chrono::steady_clock::now() > end) return false;
      loop.restart();
      loop.run_one_for(std::chrono::milliseconds(2));
    }
    return true;
  }
  // Runs everything that is ready, without waiting.
  void settle() {
    loop.restart();
    while (loop.poll() > 0) loop.restart();
  }

  void start(const HttpLimits& limits = {}) {
    server.emplace(loop, corks, handler, limits);
    const auto bound = server->listen(*parse_listen_address("127.0.0.1:0"));
    ASSERT_TRUE(bound) << bound.error();
    port = bound->port;
  }
  // Every request is answered at once.
  void answer_all(std::string_view body = "hello") {
    handler.then = [this, body = std::string(body)](const ScriptedHandler::Request& request) {
      server->respond(request.reply,
                      {.status = 200, .headers = "Content-Type: text/plain\r\n", .body = body});
    };
  }

  boost::asio::io_context loop;
  Corks corks;
  ScriptedHandler handler;
  std::optional<HttpServer> server;
  std::uint16_t port = 0;

 protected:
  void SetUp() override { ::signal(SIGPIPE, SIG_IGN); }  // as mcpivot does
};

// An answer as it came.
struct Heard {
  int status = 0;
  std::string head;
  std::string body;
  bool whole = false;
  std::string header(std::string_view name) const {
    const auto at = head.find("\r\n" + std::string(name) + ": ");
    if (at == std::string::npos) return {};
    const auto begin = at + name.size() + 4;
    return head.substr(begin, head.find("\r\n", begin) - begin);
  }
};

class RawClient {
 public:
  explicit RawClient(HttpServerTest& test) : RawClient(test, test.port) {}
  RawClient(HttpServerTest& test, std::uint16_t port) : test_(test) {
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    descriptor_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0)
        << std::strerror(errno);
  }
  RawClient(HttpServerTest& test, const std::string& path) : test_(test) {
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, path.c_str(), path.size());
    descriptor_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(::connect(descriptor_, reinterpret_cast<sockaddr*>(&to), sizeof(to)), 0)
        << std::strerror(errno);
  }
  struct Descriptor {
    int number;
  };
  RawClient(HttpServerTest& test, Descriptor descriptor) : test_(test), descriptor_(descriptor.number) {}
  ~RawClient() { close(); }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;

  int descriptor() const { return descriptor_; }
  void close() {
    if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
  }
  void shut() { ::shutdown(descriptor_, SHUT_WR); }

  // However long the server takes to read it. What it sends in the meantime is kept.
  void say(std::string_view bytes) {
    test_.until([&] {
      const ssize_t count = ::send(descriptor_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      if (count > 0) bytes.remove_prefix(static_cast<std::size_t>(count));
      unheard = unheard || (count < 0 && errno != EAGAIN);
      if (!unheard) listen();
      return bytes.empty() || unheard;
    });
  }
  // Reads what is there.
  void listen() {
    char room[65536];
    while (!ended) {
      const ssize_t count = ::recv(descriptor_, room, sizeof(room), MSG_DONTWAIT);
      if (count < 0 && errno == EAGAIN) return;
      if (count > 0) {
        heard.append(room, static_cast<std::size_t>(count));
      } else {
        ended = true;
        reset = count < 0;
      }
    }
  }
  bool hears(std::string_view text) {
    return test_.until([&] {
      listen();
      return heard.find(text) != std::string::npos || ended;
    }) && heard.find(text) != std::string::npos;
  }
  bool hears_the_end() {
    return test_.until([&] {
      listen();
      return ended;
    });
  }
  // The next answer, removed from what was heard. `to_head`: it has no body, whatever its head says.
  Heard answer(bool to_head = false) {
    Heard result;
    test_.until([&] {
      listen();
      result = take_answer(to_head);
      return result.whole || ended;
    });
    return result;
  }
  // If it is complete.
  Heard take_answer(bool to_head = false) {
    Heard result = parse(to_head);
    if (result.whole) heard.erase(0, used_);
    return result;
  }
  Heard ask(std::string_view request) {
    say(request);
    return answer(request.starts_with("HEAD"));
  }

  std::string heard;
  bool ended = false;
  bool reset = false;
  bool unheard = false;  // something couldn't be sent

 private:
  Heard parse(bool to_head) {
    Heard result;
    const auto end = heard.find("\r\n\r\n");
    if (end == std::string::npos) return result;
    result.head = heard.substr(0, end + 2);
    result.status = std::atoi(result.head.substr(9, 3).c_str());
    used_ = end + 4;
    const bool bodiless = to_head || result.status == 204 || result.status == 304 || result.status / 100 == 1;
    if (bodiless) {
      result.whole = true;
    } else if (const std::string length = result.header("Content-Length"); !length.empty()) {
      const std::size_t size = std::stoul(length);
      result.whole = heard.size() >= used_ + size;
      result.body = heard.substr(used_, size);
      used_ += size;
    } else if (result.header("Transfer-Encoding") == "chunked") {
      for (;;) {
        const auto line = heard.find("\r\n", used_);
        if (line == std::string::npos) break;
        const std::size_t size = std::stoul(heard.substr(used_, line - used_), nullptr, 16);
        if (heard.size() < line + 2 + size + 2) break;
        result.body += heard.substr(line + 2, size);
        used_ = line + 2 + size + 2;
        result.whole = size == 0;
        if (result.whole) break;
      }
    } else {
      result.body = heard.substr(used_);
      result.whole = ended;
      used_ = heard.size();
    }
    return result;
  }

  HttpServerTest& test_;
  int descriptor_ = -1;
  std::size_t used_ = 0;
};

inline std::string get(std::string_view more = {}) {
  return "GET /mcp HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) + "\r\n";
}
inline std::string post(std::string_view body, std::string_view more = {}) {
  return "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + std::string(more) +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + std::string(body);
}

}  // namespace mcpivot
