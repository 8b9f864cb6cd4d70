// A client that connects over HTTP. Each of its requests is an exchange, with an answer of its own: JSON, or
// an event stream as soon as there is more to send than the answer, or the answer takes a while.
//
// In the legacy era it is a session: what belongs to no exchange waits for the stream that it opens with GET,
// a broken stream can be resumed, and disconnecting cancels nothing. In the modern era each exchange stands
// alone, and closing it cancels it.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "front/event_log.h"
#include "front/http_server.h"
#include "gateway/desk.h"
#include "gateway/outlet.h"
#include "gateway/session.h"
#include "server/timers.h"

namespace mcpivot {

class WebClient final : private Outlet {
 public:
  class Owner {
   public:
    virtual ~Owner() = default;
    // Its handshake is done: returns the headers of the answer, with the session's id, which is only known
    // now. None: the answer waits for opened().
    virtual std::optional<std::string> on_opened(WebClient& client) = 0;
    // This request has been answered, or won't be.
    virtual void on_done(ReplyId reply) = 0;
  };

  // The references must outlive it.
  WebClient(HttpServer& server, Timers& timers, Clients& clients, EventRoom& events, Desk& desk, Era era,
            Owner& owner);
  ~WebClient() override;
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;

  ClientId id() const { return desk_.client(); }
  Desk& desk() { return desk_; }
  Era era() const { return era_; }
  Clock::Time last_used() const { return last_used_; }
  // It waits for an answer, or listens.
  bool waits() const;
  // It disconnected while something was in flight.
  bool abandoned() const { return !exchanges_.empty() && !waits(); }
  Clock::Time began() const { return began_; }
  // The calls in flight, and all calls so far.
  std::size_t calls() const;
  std::size_t calls_made() const { return calls_made_; }
  // That are open.
  std::size_t streams() const;
  // It waits for an answer of its servers, not just for notifications.
  bool owes_answers() const;
  // It has as many requests in flight as it may have.
  bool crowded() const { return under_way() >= most_requests; }

  // A POST with this body. `headers` go with its answer.
  void post(ReplyId reply, std::string body, std::string headers);
  // A GET: the session's own stream, or another one after this event.
  void listen(ReplyId reply, std::string_view last_event, const std::string& headers);
  void gone(ReplyId reply);
  void drained(ReplyId reply);
  // Sends the answer to its handshake, with these headers; or another answer instead.
  void opened(const std::string& headers);
  void not_opened(HttpAnswer instead);
  // Ends every open stream; what was not answered gets this status.
  void close(int status);
  // The negotiated version, if it is known from elsewhere.
  void set_version(std::string_view version) { agreed_version(version); }
  const std::string& version() const { return version_; }

 private:
  struct Exchange {
    explicit Exchange(Timers& timers) : patience(timers) {}
    ReplyId reply = ReplyId::none;  // none: the connection is gone
    std::string headers{};
    std::string id{};       // of the request; empty for a batch
    int expected = 1;       // answers
    std::size_t bytes = 0;  // of the request, which is kept until it is answered
    bool batch = false;
    bool call = false;  // during which a server may ask something
    bool logs = false;  // wants log messages
    bool initializes = false;
    bool listens = false;  // for notifications; its answer ends them
    bool streams = false;
    bool named = false;                // an event that its client can continue from has been sent
    Clock::Time left{};                // when the connection broke
    std::string answers{};             // of a batch
    std::optional<HttpAnswer> held{};  // waits for opened()
    Alarm patience;                    // until it becomes a stream
  };
  using Exchanges = std::map<std::uint32_t, std::unique_ptr<Exchange>>;
  static constexpr std::size_t most_requests = 256;
  // Of all requests in flight together; a single one may be as large as any message.
  static constexpr std::size_t most_bytes = 128 * 1024 * 1024;

  // Outlet
  void answer(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) override;
  void answer(std::uint32_t exchange, std::string_view line) override;
  void withdrawn(std::uint32_t exchange) override;
  void tell(std::uint32_t exchange, const Message& message, std::span<const Edit> edits) override;
  void tell(std::uint32_t exchange, std::string_view line) override;
  void ask(const Message& request, std::span<const Edit> edits) override;
  void agreed_version(std::string_view version) override;
  bool full() const override { return !full_.empty(); }
  bool overflows() const override { return false; }  // the server disconnects it instead
  void resume() override {}

  void post_batch(ReplyId reply, std::string_view body, std::string headers);
  void resume_stream(ReplyId reply, EventLog::Place place, const std::string& headers);
  std::uint32_t open(ReplyId reply, std::size_t bytes, std::string headers);
  std::size_t under_way() const;
  // Why nothing more can be accepted from it now; empty: it can.
  std::string_view why_not(std::size_t requests, std::size_t bytes) const;
  void turn_away(ReplyId reply, std::string_view why, const std::string& headers);
  void refuse(ReplyId reply, const Refusal& refusal, const std::string& headers);
  void end(ReplyId reply);
  void respond(ReplyId reply, HttpAnswer answer);
  void let_go(const std::function<void(HttpAnswer&)>& change);
  void settle(std::uint32_t number, const Message& message, std::string text);
  void settle_one(std::uint32_t number, std::string text);
  // Where something goes that may belong to any call: to the only call, if there is just one; else to the
  // client's own stream; else to the latest call, so that it arrives at all.
  std::uint32_t likely_call() const;
  // Its connection broke a moment ago, and its client knows where to continue.
  bool comes_back(const Exchange& exchange) const;
  std::uint32_t only_one_with_logs() const;
  void say(std::uint32_t number, std::string_view text);
  void begin_stream(std::uint32_t number, Exchange& exchange);
  void begin_events(ReplyId reply, const std::string& headers);
  void write(ReplyId reply, std::string text);
  void finish(std::uint32_t number);
  void keep_alive();

  HttpServer& server_;
  Timers& timers_;
  Desk& desk_;
  const Era era_;
  Owner& owner_;
  Exchanges exchanges_;
  std::map<ReplyId, std::uint32_t> by_reply_;
  std::uint32_t last_exchange_ = 0;
  ReplyId listener_ = ReplyId::none;  // the GET
  EventLog events_;
  Alarm keep_alive_;
  const Clock::Time began_;
  Clock::Time last_used_;
  std::size_t calls_made_ = 0;
  std::set<ReplyId> full_;  // streams whose client doesn't keep up
  Alarm room_;              // resumes the servers, outside of any other call
  std::string version_;     // as JSON text
  bool beats_ = false;      // keep-alives are sent
  bool batches_ = false;    // its version has them
  bool primes_ = false;     // its version has events without data
  Session session_;
};

}  // namespace mcpivot
