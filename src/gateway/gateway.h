// Decides who answers a client: mcpivot itself (the handshake, lists from the catalog, the control tools,
// ping), or the server. Today there is one server; the gateway is the room for many.
//
// A client that does not shake hands gets everything from the server, as it is. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "gateway/control_tools.h"
#include "gateway/list_announcer.h"
#include "gateway/session.h"
#include "server/server.h"
#include "server/source_watch.h"

namespace mcpivot {

class Gateway final : private Server::Watcher {
 public:
  Gateway(LinkContext& context, Guard& guard, const ServerConfig& config, Compat compat);

  void add(Session& session);
  void start() { server_.start(); }
  // A new generation, because somebody outside wants one.
  void reload(const std::string& reason);
  void shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
    server_.shut_down(patience, std::move(done));
  }

  void request(Session& session, Asker& asker, const Message& message);
  void notify(const Message& message);
  void cancel(Asker& client, const Message& cancelled);

  bool full() const { return server_.full(); }
  // A client that was full reads again.
  void clients_writable() { server_.resume(); }
  // Whether the server waits for the client to say that it is initialized.
  bool shakes_hands() const { return server_.knows_client(); }

 private:
  void on_writable() override;
  void on_list_changed(ListKind kind) override { announcer_.changed(kind); }
  void on_reload_begins() override {
    if (watch_) watch_->reload_begins();
  }
  void on_reload_ends() override {
    if (watch_) watch_->reload_ends();
  }

  void initialize(Session& session, Asker& asker, const Message& message);
  void list(Asker& asker, const Message& message, ListKind kind);
  void call_tool(Asker& asker, const Message& message);
  std::string tools() const;
  std::string words_of_trouble() const;
  // For what the server does not have, though the client was told that it might.
  void request_if(bool has, std::string_view otherwise, Asker& asker, const Message& message);

  Server server_;
  ControlTools control_;
  ListAnnouncer announcer_;
  std::unique_ptr<SourceWatch> watch_;
  std::vector<Session*> sessions_;
};

}  // namespace mcpivot
