// What an HTTP daemon may answer: any bytes in any pieces. The client reports the same events however they
// are split; the link on top of it answers each request at most once, and only with complete messages.
//
// The sockets are simulated here: connecting and writing always succeed, and each connection reads the next
// part of the input.
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <map>

#include "fuzz.h"
#include "link/http_client.h"
#include "link/http_link.h"
#include "log/log.h"

namespace {

using namespace mcpivot;
using fuzz::check;

// What the daemon sends, one part for each connection.
struct Script {
  std::deque<std::string> connections;
  std::string cuts;
};

class ScriptedSocket final : public HttpSocket, public std::enable_shared_from_this<ScriptedSocket> {
 public:
  ScriptedSocket(boost::asio::io_context& loop, std::string says, bool refuses, const std::string& cuts)
      : loop_(loop), says_(std::move(says)), refuses_(refuses) {
    for (const auto piece : fuzz::pieces(says_, cuts)) pieces_.push_back(piece);
  }
  void connect(OnConnected on_connected) override {
    boost::asio::post(loop_, [self = shared_from_this(), on_connected = std::move(on_connected)] {
      if (!self->closed_) on_connected(self->refuses_ ? "nobody is there" : "");
    });
  }
  void read_some(std::span<char> room, OnBytes on_bytes) override {
    room_ = room;
    reader_ = std::move(on_bytes);
    if (written_) deliver();
  }
  void write(std::string_view head, std::string_view body, OnBytes on_bytes) override {
    written_ = true;
    boost::asio::post(
        loop_, [self = shared_from_this(), size = head.size() + body.size(), on_bytes = std::move(on_bytes)] {
          if (!self->closed_) on_bytes({}, size);
          if (!self->closed_ && self->reader_) self->deliver();
        });
  }
  bool closed_by_peer() override { return pieces_.empty() && written_; }
  void close() override { closed_ = true; }

 private:
  void deliver() {
    boost::asio::post(loop_, [self = shared_from_this()] {
      if (self->closed_ || !self->reader_) return;
      const OnBytes reader = std::exchange(self->reader_, nullptr);
      if (self->pieces_.empty()) return reader(boost::asio::error::eof, 0);
      std::string_view& piece = self->pieces_.front();
      const std::size_t size = std::min(piece.size(), self->room_.size());
      std::copy_n(piece.data(), size, self->room_.data());
      piece.remove_prefix(size);
      if (piece.empty()) self->pieces_.pop_front();
      reader({}, size);
    });
  }

  boost::asio::io_context& loop_;
  std::string says_;
  bool refuses_;
  std::deque<std::string_view> pieces_;
  std::span<char> room_;
  OnBytes reader_;
  bool written_ = false;
  bool closed_ = false;
};

class ScriptedDialer final : public HttpDialer {
 public:
  ScriptedDialer(boost::asio::io_context& loop, Script script) : loop_(loop), script_(std::move(script)) {
    origin_.url = *parse_url("http://127.0.0.1:8080/mcp");
  }
  std::shared_ptr<HttpSocket> socket() override {
    std::string says;
    const bool refuses = script_.connections.empty() || ++count_ > 40;
    if (!refuses) {
      says = std::move(script_.connections.front());
      script_.connections.pop_front();
    }
    return std::make_shared<ScriptedSocket>(loop_, std::move(says), refuses, script_.cuts);
  }
  const HttpOrigin& origin() const override { return origin_; }

 private:
  boost::asio::io_context& loop_;
  Script script_;
  HttpOrigin origin_;
  int count_ = 0;
};

// --- the client alone

class Listener final : public HttpExchange {
 public:
  void on_head(const HttpHead& head) override {
    check(!ended && !headed, "the head comes once, and first");
    headed = true;
    story += "head " + std::to_string(head.status) + " " + head.reason + "|" + head.content_type + "|" +
             head.session_id + "|" + head.location + "\n";
  }
  void on_body(std::string_view piece) override {
    check(headed && !ended, "the body comes behind the head");
    story += piece;
  }
  void on_done() override {
    check(headed && !ended, "an exchange ends once");
    ended = true;
    story += "\ndone";
  }
  void on_failed(const HttpFailure& failure) override {
    check(!ended, "an exchange ends once");
    ended = true;
    check(!failure.text.empty(), "a failure has words");
    // How far it got before it failed depends on the pieces.
    story = "failed";
  }
  std::string story;
  bool headed = false;
  bool ended = false;
};

std::string story_of(std::string_view says, std::string_view cuts) {
  boost::asio::io_context loop;
  HttpClient client(
      loop, std::make_unique<ScriptedDialer>(loop, Script{{std::string(says)}, std::string(cuts)}), "");
  auto listener = std::make_shared<Listener>();
  client.send({.method = "GET", .target = "/", .headers = {}, .body = {}}, listener);
  while (!listener->ended && loop.poll() > 0) {
  }
  check(listener->ended, "an exchange comes to its end");
  client.close();
  loop.poll();
  return listener->story;
}

// --- the link

class Peer final : public Link::Handler {
 public:
  explicit Peer(std::size_t limit) : limit_(limit) {}
  void on_message(const Message& message) override {
    check(read_message(message.raw).has_value(), "what is delivered is a message");
    check(message.raw.find('\n') == std::string_view::npos, "on one line");
    if (message.is_answer() && message.id) ++answers[std::string(message.text(message.id))];
  }
  void on_batch(std::string_view line) override {
    check(line.find('\n') == std::string_view::npos || !read_batch(line), "a batch is on one line");
  }
  void on_unreadable(std::string_view, const Refusal& refusal) override {
    check(!refusal.reason.empty(), "a refusal has a reason");
  }
  void on_oversize(const Skim& skim, std::size_t) override {
    check(skim.size() > limit_, "it is over the limit");
  }
  void on_writable() override {}
  void on_lost(std::string_view id, bool, std::string_view why) override {
    check(!why.empty(), "a loss has a reason");
    ++losses[std::string(id)];
  }
  void on_broken(std::string_view) override {}
  void on_end(std::string_view why) override {
    check(!ended && !why.empty(), "a link ends once, and says why");
    ended = true;
  }
  std::map<std::string, int> answers;
  std::map<std::string, int> losses;
  bool ended = false;

 private:
  std::size_t limit_;
};

void run_link(const Script& script, std::size_t limit) {
  boost::asio::io_context loop;
  LinkContext context{loop};
  auto client = std::make_unique<HttpClient>(loop, std::make_unique<ScriptedDialer>(loop, script), "");
  auto link = std::make_shared<HttpLink>(
      context, std::move(client),
      HttpLink::Options{
          .url = *parse_url("http://127.0.0.1:8080/mcp"), .peer = "p", .limit = limit, .advice = {}});
  Peer peer(limit);
  link->start(peer);
  auto settle = [&] {
    for (int i = 0; i < 2000 && loop.poll() > 0; ++i) {
    }
  };
  for (const char* line : {R"({"jsonrpc":"2.0","id":1,"method":"initialize","params":{}})",
                           R"({"jsonrpc":"2.0","method":"notifications/initialized"})",
                           R"({"jsonrpc":"2.0","id":2,"method":"tools/list"})",
                           R"({"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"x"}})"}) {
    link->send(line);
    settle();
  }
  link->send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}})");
  settle();
  for (const char* id : {"1", "2", "3"}) check(peer.losses[id] <= 1, "a loss is told once");
  bool done = false;
  link->end_session(std::chrono::milliseconds(0), [&] { done = true; });
  settle();
  link->close();
  settle();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::string whole = story_of(input.text, "\xff");
  fuzz::check_same(story_of(input.text, {}), whole, "byte by byte, it is the same story");
  fuzz::check_same(story_of(input.text, input.settings), whole, "in pieces, too");

  Script script{{""}, std::string(input.settings)};  // the first connection is only tried
  std::string_view rest = input.text;
  while (!rest.empty() && script.connections.size() < 12) {
    const auto end = rest.find("\n====\n");
    script.connections.emplace_back(rest.substr(0, end));
    rest = end == std::string_view::npos ? "" : rest.substr(end + 6);
  }
  run_link(script, input.settings.empty() ? 10'000 : 16 + 8 * input.setting(0));
  return 0;
}
