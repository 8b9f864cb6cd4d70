// Where clients come in over Streamable HTTP, of both protocol eras: finds out who a request is from, and
// hands it to that client.
//
// A client is a legacy session, which its id names; or, in the modern era, a principal with a profile. It is
// never a connection, nor what a client calls itself. Whoever has no token is nobody in particular, and all
// of them together are one modern client.
//
// One thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "front/admission.h"
#include "front/http_server.h"
#include "front/session_seal.h"
#include "front/web_client.h"
#include "gateway/gateway.h"

namespace mcpivot {

class HttpGate final : public HttpServer::Handler, private WebClient::Owner {
 public:
  struct Settings {
    std::chrono::milliseconds session_idle{std::chrono::minutes(10)};
    std::chrono::seconds session_life{std::chrono::hours(24 * 30)};
    std::size_t most_clients = 10'000;
  };

  // The others must outlive it. The server comes later, because it needs the gate.
  HttpGate(World& world, Clients& clients, Gateway& gateway, Admission admission, SessionSeal seal,
           Settings settings);
  ~HttpGate() override;
  void serve(HttpServer& server) { server_ = &server; }

  // The file of tokens is another one: whoever came in with one that is gone is sent away.
  void use(Tokens tokens);
  // From now on nobody gets an answer to anything new. `done` is called when what is under way has been
  // answered, or after this time.
  void drain(std::chrono::milliseconds patience, std::function<void()> done);
  // Ends every stream.
  void close();

  std::size_t clients() const { return lives_.size(); }

  // HttpServer::Handler
  std::optional<HttpAnswer> judge(const HttpAsk& ask) override;
  void on_request(ReplyId reply, const HttpAsk& ask, std::string body) override;
  void on_gone(ReplyId reply) override;
  void on_drained(ReplyId reply) override;

 private:
  using Modern = std::pair<std::string, std::string>;  // principal, profile
  struct Life {
    Visitor who;
    std::string profile;
    std::string uid;  // of a legacy session; empty: it is a modern client
    std::unique_ptr<WebClient> client;
  };

  // WebClient::Owner
  std::string on_opened(WebClient& client) override;
  void on_done(ReplyId reply) override { by_reply_.erase(reply); }

  // What a request is about.
  struct Visit {
    ReplyId reply;
    const HttpAsk& ask;
    Visitor who;
    std::string profile;
    std::string headers;  // of whatever answers it
  };
  void post(Visit visit, std::string body);
  void post_modern(Visit visit, const Message& message, std::string body);
  void post_legacy(Visit visit, const Message* message, std::string body);
  void listen(const Visit& visit);
  void end_session(const Visit& visit);
  void answer(const Visit& visit, HttpAnswer answer);
  void refuse(const Visit& visit, int status, std::string_view id, int code, std::string_view words);
  // The session that the request names; null: it has been answered.
  Life* session_of(const Visit& visit);
  Life& open(const Visit& visit, Era era, std::string uid);
  Life& seat(const Visit& visit, Desk& desk, Era era, std::string uid);
  Life* restore(const Visit& visit, const SessionTicket& ticket);
  void hand_over(Life& life, const Visit& visit, std::string body);
  void end(ClientId client);
  void end_idle();

  World& world_;
  Clients& clients_;
  Gateway& gateway_;
  HttpServer* server_ = nullptr;
  Admission admission_;
  SessionSeal seal_;
  Settings settings_;
  std::map<ClientId, Life> lives_;
  std::map<std::string, ClientId> sessions_;  // by uid
  std::map<Modern, ClientId> modern_;
  std::map<ReplyId, ClientId> by_reply_;
  std::set<std::string> revoked_;  // uids
  Alarm idle_;
  Alarm drain_;
  bool draining_ = false;
  std::function<void()> drained_;
};

}  // namespace mcpivot
