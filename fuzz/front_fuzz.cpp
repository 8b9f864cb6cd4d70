// What an HTTP client may send: any bytes in any pieces. The requests in them are the same however they are
// split; the server asks one thing at a time, answers in order, and keeps nothing when the client has
// gone.
//
// The first setting says what the handler does, the others how the bytes are split.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <set>

#include "front/http_server.h"
#include "front/request_reader.h"
#include "fuzz.h"

namespace {

using namespace mcpivot;
using fuzz::check;
using Step = RequestReader::Step;

// --- the reader alone

std::string story_of(std::string_view bytes, std::string_view cuts) {
  // No input is as long as the head may be: where that limit is reached does depend on the pieces.
  RequestReader reader({.header_bytes = 100'000, .body_bytes = 1000}, {});
  std::string story;
  std::string in;
  for (const std::string_view piece : fuzz::pieces(bytes, cuts)) {
    in += piece;
    for (bool more = false; !more;) {
      std::string_view rest = in;
      const Step step = reader.read(rest);
      check(rest.size() <= in.size(), "it takes what is there");
      in.erase(0, in.size() - rest.size());
      switch (step) {
        case Step::more:
          more = true;
          break;
        case Step::head: {
          const HttpAsk& ask = reader.ask();
          check(!ask.method.empty() && !ask.target.empty(), "a request has a method and a target");
          check(reader.is_http_1_0() || ask.has("host"), "and a host");
          check(!ask.repeated("host") && !ask.repeated("content-length"), "and no more than one");
          check(!(ask.has("content-length") && ask.has("transfer-encoding")),
                "its length is said in one way");
          story += ask.method + " " + ask.target + " " + std::string(ask.header("host")) + "\n";
          if (reader.too_large()) return story + "413";
          break;
        }
        case Step::request: {
          const std::string body = reader.take_body();
          check(body.size() <= 1000, "a body has a limit");
          story += "[" + body + "]\n";
          reader.next();
          break;
        }
        case Step::refused:
          check(!reader.refusal().body.empty(), "a refusal has words");
          return story + std::to_string(reader.refusal().status);
      }
    }
  }
  return story;
}

// --- the server

class Handler final : public HttpServer::Handler {
 public:
  explicit Handler(unsigned manner) : manner_(manner) {}
  HttpServer* server = nullptr;
  std::set<ReplyId> open;

  std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) override {
    check(open.empty() && coming_ == ReplyId::none, "one request at a time");
    check(reply > last_, "an id is never used again");
    last_ = reply;
    if (manner_ % 8 == 7 && ask.method == "GET") return plain_answer(403, "no");
    coming_ = reply;
    return std::nullopt;
  }
  void on_request(ReplyId reply, const HttpAsk& ask, std::string body) override {
    check(open.empty(), "one request at a time");
    check(std::exchange(coming_, ReplyId::none) == reply, "its head was judged");
    open.insert(reply);
    const std::string echo = ask.target + body;
    switch ((manner_ + static_cast<unsigned>(reply)) % 6) {
      case 0:
        close(reply);
        return server->respond(reply, {.body = echo});
      case 1:
        server->begin_stream(reply, 200, "");
        server->write(reply, echo);
        close(reply);
        return server->end(reply);
      case 2:
        server->begin_stream(reply, 204, "");
        return;  // answered later
      case 3:
        close(reply);
        return server->abort(reply);
      default:
        return;  // answered later
    }
  }
  void on_gone(ReplyId reply) override {
    if (coming_ == reply) {
      coming_ = ReplyId::none;
      return;
    }
    check(open.erase(reply) == 1, "only a reply that is open can be gone, and only once");
  }
  void on_drained(ReplyId) override {}

  void answer_later() {
    if (open.empty() || manner_ % 5 == 4) return;
    const ReplyId reply = *open.begin();
    close(reply);
    server->write(reply, "x");
    if (manner_ % 2 == 0) {
      server->end(reply);
      server->respond(reply, {.status = 200, .body = "later"});
    } else {
      server->begin_stream(reply, 200, "");
      server->write(reply, "later");
      server->end(reply);
    }
  }

 private:
  void close(ReplyId reply) { open.erase(reply); }

  unsigned manner_;
  ReplyId last_ = ReplyId::none;
  ReplyId coming_ = ReplyId::none;  // the request whose body isn't there yet
};

void run_server(const fuzz::Input& input) {
  boost::asio::io_context loop;
  Corks corks;
  Handler handler(input.setting(0));
  // A client that sends more than is read ahead can't be seen to disconnect.
  const bool leaves = input.setting(1) % 2 == 0;
  HttpServer server(loop, corks, handler,
                    {.header_bytes = 1000, .body_bytes = 1000, .pipelined_bytes = leaves ? 10'000U : 100U});
  handler.server = &server;
  int ends[2];
  check(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends) == 0,
        "there are descriptors");
  server.adopt(ends[0], "fuzz");
  std::string heard;
  const auto settle = [&] {
    for (;;) {
      loop.restart();
      if (loop.poll() > 0) continue;
      handler.answer_later();
      loop.restart();
      if (loop.poll() == 0) break;
    }
    char room[4096];
    for (ssize_t count = 0; (count = ::recv(ends[1], room, sizeof(room), MSG_DONTWAIT)) > 0;)
      heard.append(room, static_cast<std::size_t>(count));
  };
  settle();
  for (const std::string_view piece :
       fuzz::pieces(input.text, input.settings.substr(std::min<std::size_t>(input.settings.size(), 2)))) {
    if (::send(ends[1], piece.data(), piece.size(), MSG_DONTWAIT | MSG_NOSIGNAL) < 0) break;
    settle();
  }
  check(heard.empty() || heard.starts_with("HTTP/1.1 "), "an answer begins as one");
  if (leaves) {
    ::close(ends[1]);
    settle();
    check(handler.open.empty(), "everybody who waited is told");
    check(server.connections() == 0, "nothing is left of a client that has gone");
  } else {
    server.close();
    ::close(ends[1]);
    settle();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::string whole = story_of(input.text, "\xff");
  fuzz::check_same(story_of(input.text, {}), whole, "byte by byte, the requests are the same");
  fuzz::check_same(story_of(input.text, input.settings), whole, "in pieces, too");
  run_server(input);
  return 0;
}
