// A link to an HTTP daemon: one session of MCP's Streamable HTTP transport or, if the daemon supports nothing
// newer, of the HTTP+SSE transport (2024-11-05).
//
// Each message is a POST of its own; the answers, immediate or as an event stream, are messages to us. What
// the daemon sends unasked comes over one GET that stays open. A broken stream is resumed if the daemon
// supports it.
//
// In the modern era there are only POSTs: no session, no GET, nothing to resume. Closing its connection
// cancels a request, and what the daemon sends unasked is the answer to `subscriptions/listen`, an endless
// stream.
//
// The link ends when the daemon can't be reached any more, or no longer knows the session. The loss of a
// single answer is reported by on_lost(), and an HTTP error becomes the error answer of the one request that
// got it.
//
// One thread.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>

#include "link/authorizer.h"
#include "link/http_client.h"
#include "link/mirrored_headers.h"
#include "link/pipe_link.h"
#include "mcp/era.h"
#include "rpc/link.h"

namespace mcpivot {

class SseParser;

class HttpLink final : public Link, public std::enable_shared_from_this<HttpLink> {
 public:
  struct Options {
    Url url;
    std::string peer;                          // names the other side for the log
    std::size_t limit;                         // longest message that is delivered
    std::string advice;                        // which credentials to look at when they are refused
    std::shared_ptr<Authorizer> authorizer{};  // null: the credentials are what they are
  };
  HttpLink(LinkContext& context, std::unique_ptr<HttpClient> client, Options options);
  ~HttpLink() override { close(); }

  void start(Handler& handler);
  // The era of what is sent from now on. Legacy, unless told otherwise.
  void speak(Era era) { era_ = era; }
  // The daemon's tools, in the modern era; removes those that must not be offered.
  void learn_tools(std::vector<Item>& tools);
  // Ends the session; `done` is called when the daemon has been told, or at once if there is nothing to tell.
  void end_session(std::chrono::milliseconds patience, std::function<void()> done);

  void send(const Message& message, std::span<const Edit> edits) override;
  void send(std::string_view line) override;
  bool full() const override;
  bool overflows() const override;
  // In messages, not in bytes.
  std::uint64_t position() const override { return position_; }
  bool reached(std::uint64_t position) const override { return !unwritten_.contains(position); }
  void pause() override { client_->pause(); }
  void resume() override;
  void finish() override { finishing_ = true; }
  void close() override;

  // Why it ended: the daemon is alive, but no longer knows our session.
  bool forgotten() const { return forgotten_; }
  // Or: no process accepts connections there.
  bool was_unreachable() const { return unreachable_; }
  bool modern() const { return era_ == Era::modern; }
  bool old_transport() const { return !old_target_.empty(); }
  bool has_session() const { return !session_id_.empty(); }
  bool listening() const;
  std::size_t connections() const { return client_->connections(); }

 private:
  class Exchange;
  class Call;
  class Brief;
  class Listener;
  class OldStream;
  class Farewell;

  // A message that is being sent.
  struct Outgoing {
    std::shared_ptr<const std::string> body;
    std::string headers{};  // that repeat parts of it
    std::string id;         // of a request
    std::string cancels;    // the id of a request that is cancelled
    Method known = Method::other;
    std::uint64_t position = 0;
  };

  void send_modern(std::string body);
  void take(Outgoing outgoing);
  void post(Outgoing outgoing);
  void release();
  const std::string& token() const;
  std::string authorization() const;
  HttpRequest request(const Outgoing& outgoing) const;
  HttpRequest stream_request(const std::string& last_id) const;

  // For exchanges, to pass on what came. Turns the bytes into one line, in place.
  std::expected<Message, Refusal> read(char* data, std::size_t size, const BufferRef& buffer);
  void handle(const Message& message);
  void deliver_batch(char* data, std::size_t size);
  void deliver_events(SseParser& parser, std::string_view piece);
  void deliver_own(const std::string& line);
  // For exchanges, to report.
  void begun(std::uint64_t position);
  void opened_session(const HttpHead& head);
  void agreed(const Message& initialize_answer);
  void on_initialized();
  void drop_call(const std::string& id);
  void listen_at(const std::string& target);
  void listen_later(std::chrono::milliseconds delay);
  void try_old_transport(std::shared_ptr<Call> call);
  void old_transport_opened(const Url& endpoint);
  // What went wrong. A position is given if the daemon certainly didn't act on what was sent there.
  void lost(const std::string& id, bool reached, std::string_view why);
  void doubt(const std::shared_ptr<Call>& call, const std::string& why);
  void unreachable(const std::string& why);
  void forget_session(std::uint64_t position);
  void down(std::uint64_t position, const std::string& why);
  void end(const std::string& why);

  LinkContext& context_;
  std::unique_ptr<HttpClient> client_;
  Options options_;
  Era era_ = Era::legacy;
  MirroredHeaders mirrored_;
  std::string target_;      // where to POST; a redirect may change it
  std::string old_target_;  // the same in the old transport; empty: not in use
  Handler* handler_ = nullptr;
  std::string session_id_;
  std::string version_;
  std::string session_headers_;
  std::uint64_t position_ = 0;
  std::set<std::uint64_t> unwritten_;  // what the daemon has not seen
  std::unordered_map<std::string, std::shared_ptr<Call>> calls_;
  std::deque<Outgoing> held_;  // must wait for what was sent before them
  std::size_t held_bytes_ = 0;
  bool holding_ = false;
  bool was_full_ = false;
  std::shared_ptr<HttpExchange> stream_;  // the daemon's own
  bool listened_ = false;                 // there was one before
  int listens_rejected_ = 0;              // for its credentials, in a row
  bool listen_refused_ = false;           // until the daemon takes our credentials again
  bool listening_ = false;
  std::string last_event_id_;
  std::shared_ptr<Call> initialize_;  // kept for the old transport
  boost::asio::steady_timer listen_timer_;
  bool finishing_ = false;
  bool ended_ = false;
  bool forgotten_ = false;
  bool unreachable_ = false;
};

}  // namespace mcpivot
