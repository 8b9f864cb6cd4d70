// The kinds of HTTP exchanges that make up a session. Only http_link.cpp and http_exchanges.cpp need to know
// them.
//
// An exchange keeps its link alive until the link's HTTP client releases it. One thread.
#pragma once

#include "link/http_link.h"
#include "link/sse_parser.h"

namespace mcpivot {

// What they have in common: the head of the answer, and the first bytes of one that isn't a message.
class HttpLink::Exchange : public HttpExchange {
 protected:
  explicit Exchange(std::shared_ptr<HttpLink> link) : link_(std::move(link)), token_(link_->token()) {}

  void on_head(const HttpHead& head) override;
  void on_body(std::string_view piece) override;
  bool ok() const { return head_.status / 100 == 2; }
  bool is_stream() const { return ok() && head_.content_type == "text/event-stream"; }
  // The daemon says that it does not know our session.
  bool is_forgotten() const;
  bool is_of_other_era() const;
  // It, or the gateway in front of it, says that it is down.
  bool is_down() const { return head_.status >= 502 && head_.status <= 504; }
  bool is_redirect() const;
  // Where to continue, or why not.
  std::expected<std::string, std::string> redirected();
  // "answered 404 Not Found: no such page"
  std::string complaint() const;
  // It was turned away, and another token could help: true, and `then` is called when there is one, or isn't.
  bool authorize(Authorizer::Then then);

  std::shared_ptr<HttpLink> link_;
  HttpHead head_;
  std::string text_;
  std::string token_;  // that it was sent with
  int redirects_ = 0;
  int authorizations_ = 0;
};

// A request, until its answer arrives.
class HttpLink::Call final : public Exchange, public std::enable_shared_from_this<Call> {
 public:
  Call(std::shared_ptr<HttpLink> link, Outgoing outgoing);

  const std::string& id() const { return outgoing_.id; }
  std::uint64_t position() const { return outgoing_.position; }
  bool begun() const { return begun_; }
  // It is a subscription, and its stream is open.
  bool listens() const { return outgoing_.known == Method::listen && is_stream(); }
  void post();
  // Reports that the request failed, and ends it. `status`: that of the HTTP answer, if there was
  // one.
  void fail(int code, const std::string& why, int status = 0);
  void fail_as_refused() { on_refused(); }
  // It turned us away when we asked for its stream, which it wants to be asked for first.
  void refused_stream(const HttpHead& head, const std::string& text, const std::string& token);
  void finish();

 private:
  void on_begun() override;
  void on_head(const HttpHead& head) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_failed(const HttpFailure& failure) override;

  void on_json(std::string_view piece);
  void on_json_complete();
  void on_events(std::string_view piece);
  void on_error_status();
  void on_authorized(const std::expected<void, Authorizer::Refusal>& outcome);
  void on_refused();
  bool is_own(std::string_view id) const;
  void stream_ended(bool broken, const std::string& why);
  void resume_later(bool broken);
  void resume_stream();

  Outgoing outgoing_;
  SseParser parser_;
  BufferRef body_;
  std::size_t body_size_ = 0;
  boost::asio::steady_timer timer_;
  int resends_ = 0;
  int breaks_ = 0;  // of the stream, since it last made progress
  std::string resumed_at_;
  bool begun_ = false;
  bool resuming_ = false;
  bool answered_ = false;
  bool finished_ = false;
};

// A notification, or the answer to a request of the daemon's.
class HttpLink::Brief final : public Exchange, public std::enable_shared_from_this<Brief> {
 public:
  Brief(std::shared_ptr<HttpLink> link, Outgoing outgoing);
  void post(const std::string& redirected_to = {});

 private:
  void on_begun() override;
  void on_head(const HttpHead& head) override;
  void on_done() override;
  void on_failed(const HttpFailure& failure) override;
  void finish();

  Outgoing outgoing_;
  bool repeated_ = false;
};

// The stream of messages that the daemon sends unasked.
class HttpLink::Listener final : public Exchange {
 public:
  Listener(std::shared_ptr<HttpLink> link, bool again);

 private:
  void on_head(const HttpHead& head) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_failed(const HttpFailure& failure) override;

  SseParser parser_;
  bool again_;  // there was one before, in this session
  std::chrono::steady_clock::time_point since_ = std::chrono::steady_clock::now();
};

// The one stream of the old transport, over which everything comes.
class HttpLink::OldStream final : public Exchange {
 public:
  // If there is no such stream, the call is answered with what the daemon said about it before.
  OldStream(std::shared_ptr<HttpLink> link, std::shared_ptr<Call> call);

 private:
  void on_head(const HttpHead& head) override;
  void on_body(std::string_view piece) override;
  void on_done() override;
  void on_failed(const HttpFailure& failure) override;
  void on_endpoint(std::string_view reference);

  std::shared_ptr<Call> call_;
  SseParser parser_;
  bool open_ = false;
};

// Tells the daemon that the session ends.
class HttpLink::Farewell final : public HttpExchange {
 public:
  explicit Farewell(std::function<void()> done) : done_(std::move(done)) {}

 private:
  void on_head(const HttpHead&) override {}
  void on_body(std::string_view) override {}
  void on_done() override { std::exchange(done_, nullptr)(); }
  void on_failed(const HttpFailure&) override { std::exchange(done_, nullptr)(); }
  std::function<void()> done_;
};

}  // namespace mcpivot
