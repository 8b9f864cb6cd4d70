// One MCP server as the user configured it, whatever happens to the processes behind it. Clients put requests
// to the server; it hands them to its current generation, or answers why it cannot.
//
// One thread.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/generation.h"

namespace mcpivot {

class Server final : private Generation::Owner {
 public:
  enum class State : std::uint8_t { stopped, ready, failed };

  Server(LinkContext& context, Guard& guard, ServerConfig config);

  // Called when a server that was full() takes messages again.
  void on_writable(std::function<void()> handler) { on_writable_ = std::move(handler); }
  void add_client(Asker& client) { clients_.push_back(&client); }

  void start();
  // Ends the current generation within twice the patience, then calls back.
  void stop(std::chrono::milliseconds patience, std::function<void()> stopped);

  // Every request is answered, sooner or later, and once.
  void request(Asker& asker, const Message& message);
  void notify(const Message& message);
  void cancel(Asker& client, const Message& cancelled);

  bool full() const { return current_ && current_->full(); }
  void resume() {
    if (current_) current_->resume();
  }

  const std::string& name() const { return config_.name; }
  State state() const { return state_; }
  // Of the current generation; empty without one or before its handshake.
  std::string protocol_version() const { return current_ ? current_->protocol_version() : std::string(); }

 private:
  void on_notification(const Message& message) override;
  void on_request(Generation& from, const Message& request) override;
  void on_cancelled(Generation& from, const Message& cancelled) override;
  bool clients_full() const override;
  void on_writable() override;
  void on_death(Generation& generation, const std::string& how) override;

  void become(State state, std::string reason);
  void answer_why_not(const Generation::Requests::Request& request, const std::string& why) const;

  LinkContext& context_;
  Guard& guard_;
  ServerConfig config_;
  StderrRing ring_;
  std::vector<Asker*> clients_;
  std::shared_ptr<Generation> current_;
  int generations_ = 0;
  State state_ = State::stopped;
  std::string reason_ = "it has not been started";
  std::function<void()> on_writable_;
  std::function<void()> stopped_;
};

}  // namespace mcpivot
