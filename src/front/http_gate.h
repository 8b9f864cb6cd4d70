// Where clients of both protocol eras connect over Streamable HTTP: finds out who a request is from, and
// passes it to that client.
//
// A client is a legacy session, identified by its id; or, in the modern era, a principal with a profile. It
// is never a connection, nor what a client calls itself. Without tokens everybody is anonymous, and all of
// them together are one modern client.
//
// One thread.
#pragma once

#include <chrono>
#include <expected>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "front/admission.h"
#include "front/http_server.h"
#include "front/session_seal.h"
#include "front/session_store.h"
#include "front/web_client.h"
#include "gateway/crowd.h"
#include "gateway/gateway.h"

namespace mcpivot {

class HttpGate final : public HttpServer::Handler, public Crowd, private WebClient::Owner {
 public:
  struct Settings {
    std::chrono::milliseconds session_idle{std::chrono::minutes(10)};
    std::chrono::seconds session_life{std::chrono::hours(24 * 30)};
    std::size_t most_clients = 10'000;
    std::size_t most_instances = 256;  // of servers that aren't shared
  };

  // The references must outlive it. The server is set later, because it needs the gate.
  HttpGate(World& world, Clients& clients, Gateway& gateway, SessionStore& store, Admission admission,
           SessionSeal seal, Settings settings);
  ~HttpGate() override;
  void serve(HttpServer& server) { server_ = &server; }

  // The token file has changed: clients whose token is gone are disconnected.
  void use(Tokens tokens);
  // The key file has changed: ids that none of its keys opens are no longer known.
  void use(SessionKeys keys) { seal_.use(std::move(keys)); }
  // The keys to check tokens with have arrived, or can't be fetched: requests that wait for them are
  // answered.
  void on_keys();
  // From now on, new requests are refused. `done` is called when those in flight have been answered, or after
  // this time.
  void drain(std::chrono::milliseconds patience, std::function<void()> done);
  // Ends every stream.
  void close();

  std::size_t clients() const { return lives_.size(); }

  // Crowd
  std::vector<ClientFacts> facts() const override;
  std::string label(ClientId client) const override;
  void list_sessions(std::function<void(SessionList)> then) override;
  void end_session(const std::string& id,
                   std::function<void(std::expected<SessionFacts, std::string>)> then) override;

  // HttpServer::Handler
  std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) override;
  void on_request(ReplyId reply, const HttpAsk& ask, std::string body) override;
  void on_gone(ReplyId reply) override;
  void on_drained(ReplyId reply) override;

 private:
  using Modern = std::pair<std::string, std::string>;  // principal, profile
  struct Life {
    Visitor who;
    std::string profile;
    std::string uid;                     // of a legacy session; empty: it is a modern client
    std::chrono::sys_seconds expires{};  // of its id
    std::size_t saved = 0;               // hash of what was saved last
    std::unique_ptr<WebClient> client;
    bool has_id() const { return expires != std::chrono::sys_seconds(); }  // one that its client knows
  };

  // WebClient::Owner
  std::optional<std::string> on_opened(WebClient& client) override;
  void on_done(ReplyId reply) override;

  // A request, and whose it is.
  struct Visit {
    ReplyId reply;
    Visitor who;
    std::string profile;
    std::string session;  // its id; empty: none
    std::string headers;  // of its answer
  };
  using Do = std::function<void(Life& life, const Visit& visit)>;

  // The profile of a visitor who asks for this one; nothing: it may not have it.
  std::optional<std::string> profile_of(const Visitor& who, const std::string& asked_for) const;
  // The answer to a visitor who has no right to this profile, because of scopes; nothing: it has.
  std::optional<HttpAnswer> ungranted(const HttpAsk& ask, const Visitor& who,
                                      const std::string& profile) const;
  bool is_granted(const Visitor& who, const std::string& profile) const;
  std::expected<Visitor, Rejection> admit(const HttpAsk& ask) const;
  // Why a request is refused because of its head alone, although its sender is let in.
  std::optional<HttpAnswer> unfit(const HttpAsk& ask, const Visitor& who) const;
  // The answer that refuses a request from this visitor; nothing: it is let in.
  std::optional<HttpAnswer> refusal(const HttpAsk& ask,
                                    const std::expected<Visitor, Rejection>& visitor) const;
  bool may_wait(std::size_t bytes) const;
  void wait_for_keys(ReplyId reply, const HttpAsk& ask, std::size_t bytes, std::optional<std::string> body);
  void take(ReplyId reply, const HttpAsk& ask, std::string body,
            const std::expected<Visitor, Rejection>& visitor);
  std::string sender(const HttpAsk& ask, const Visitor& who) const;
  void post(Visit visit, const HttpAsk& ask, std::string body);
  void post_modern(const Visit& visit, const HttpAsk& ask, const Message& message, std::string body);
  void listen(Visit visit, const HttpAsk& ask);
  void end_by(Visit visit);
  void answer(const Visit& visit, HttpAnswer answer);
  void refuse(const Visit& visit, int status, std::string_view id, int code, std::string_view words);
  std::optional<SessionTicket> ticket_of(const Visit& visit);
  void no_session(const Visit& visit);
  // Runs in the session that the request names, now or when it has been restored; if there is none, answers
  // that.
  void in_session(Visit visit, Do then);
  Life& open(const Visit& visit, Era era, std::string uid);
  Life& seat(const Visit& visit, Desk& desk, Era era, std::string uid);
  Life* restore(const Visit& visit, const SessionTicket& ticket, const std::optional<SessionRecord>& record);
  // Whether a request asks a server for something, so that one may have to be started. Listening lasts as
  // long as the client likes.
  enum class Asks : std::uint8_t { nothing, something, to_listen };
  void hand_over(Life& life, const Visit& visit, std::string body, Asks asks);
  // Whether another server may be started for this client; stops the one that has been idle for longest if
  // needed.
  bool has_room_for(const Life& life);
  void save_soon(ClientId client);
  SessionRecord record_of(Life& life, std::chrono::sys_seconds expires) const;
  void save(Life& life);
  void open_when_saved(Life& life, std::chrono::sys_seconds expires, std::string headers);
  void end(ClientId client);
  // For good: it can't be resumed. `done` is called when that will hold even after we end.
  void revoke(const std::string& uid, SessionStore::Done done);
  SessionFacts facts_of(const Life& life) const;
  SessionFacts facts_of(const SessionRecord& record) const;
  SessionList sessions_with(const SessionDb::Listed& stored) const;
  void end_idle();

  World& world_;
  Clients& clients_;
  Gateway& gateway_;
  SessionStore& store_;
  HttpServer* server_ = nullptr;
  Admission admission_;
  SessionSeal seal_;
  Settings settings_;
  std::map<std::string, ClientId> sessions_;  // by uid
  std::map<Modern, ClientId> modern_;
  struct Under {
    ClientId client;
    Visitor who;                       // with the token that it connected with
    std::chrono::sys_seconds until{};  // when that ends it
  };
  void put_under(ReplyId reply, const Life& life, const Visitor& who, std::chrono::seconds grace);
  std::optional<ClientId> take_from_under(ReplyId reply);
  // A client with this answer is sent away.
  void cut(ReplyId reply);
  void end_expired();
  std::map<ReplyId, Under> by_reply_;
  std::set<std::pair<std::chrono::sys_seconds, ReplyId>> expiring_;  // of those
  Alarm expiry_;
  struct Waiting {
    ReplyId reply;
    HttpAsk ask;
    std::size_t bytes;                // of the body, arrived or announced
    std::optional<std::string> body;  // nothing: it hasn't arrived
  };
  std::vector<Waiting> waiting_;  // for keys to check their tokens with
  std::size_t waiting_bytes_ = 0;
  std::map<ReplyId, bool> looked_up_;  // waiting for the store; true: its sender is gone
  std::set<ClientId> to_save_;
  Alarm save_;
  Alarm idle_;
  std::size_t freed_ = 0;  // clients whose memory was freed, but not returned to the system
  Alarm drain_;
  bool draining_ = false;
  std::function<void()> drained_;
  EventRoom events_;
  std::map<ClientId, Life> lives_;  // destroyed first: clients tell the others that they are gone
};

}  // namespace mcpivot
