// A legacy server (up to 2025-11-25) as a complete modern one (2026-07-28): sends `initialize` for the
// clients, adds the members that modern answers need, turns the server's questions into rounds of the call
// they are asked in (ModernCalls), and passes its announcements to the clients that listen (Listens).
//
// What isn't modern passes unchanged both ways, with its answers: the core's own requests, and those of
// legacy clients of the same server. While such a client has a call open and no modern one has, the server's
// questions pass too.
//
// A change without a listener passes without a subscription id, for the core. Log messages are passed on
// while exactly one running request asked for them, at the level that it asked for; all others are kept with
// what the server writes to stderr.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <set>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "bridge/bridge.h"
#include "bridge/listens.h"
#include "bridge/log_levels.h"
#include "bridge/modern_calls.h"
#include "rpc/kept_message.h"

namespace mcpivot {

class ModernFacade final : public Bridge {
 public:
  static constexpr std::chrono::minutes usual_patience{10};

  // `initialize_result`: the server's, if it has been initialized already; empty: the first request does
  // that. `patience`: how long a call waits for its client to come back.
  ModernFacade(Ends& ends, const Clock& clock, std::string initialize_result = {},
               std::chrono::milliseconds patience = usual_patience);

  using Bridge::from_client;
  void from_client(const Message& message, std::span<const Edit> edits, std::uint64_t client) override;
  void from_server(const Message& message) override;
  std::string lost(std::string_view id) override;
  std::string_view version() const override;
  void expire() override { calls_.expire(); }
  void forget(std::uint64_t client) override { calls_.forget(client); }
  std::vector<std::string> parked_states() const override { return calls_.states(); }
  bool idle() const override { return calls_.parked() == 0; }
  bool has_parked(std::string_view request_state) const override { return calls_.has_parked(request_state); }

  // Several clients use it: we can't know which of them a question is for, so none is asked.
  void share() { shared_ = true; }

  // The server's answer to `initialize`; empty until it arrives.
  const std::string& initialize_result() const { return initialize_result_; }

 private:
  struct Waiting {
    std::int64_t id;
    std::uint64_t client;
    KeptMessage request;
  };

  void modern_request(const Message& message, std::span<const Edit> edits, std::uint64_t client);
  void legacy_request(const Message& message, std::span<const Edit> edits);
  void cancel(const Message& message, std::span<const Edit> edits);

  void initialize(const Message& message, std::span<const Edit> edits, std::int64_t id, std::uint64_t client);
  void initialized(const Message& answer);
  bool learn(std::string_view initialize_result);
  void fail_waiting(std::string_view why);
  bool stop_waiting(std::int64_t id);

  void server_answered(const Message& message);
  void server_notified(const Message& message);
  void server_asked(const Message& message);
  void log(const Message& message);

  void pass_up(const Message& message) { ends_.to_client(message, {}); }
  void answer(std::string_view id, std::string_view result);
  void refuse(std::string_view id, int code, std::string_view why);

  Ends& ends_;
  LogLevels logs_;
  ModernCalls calls_;
  Listens listens_;
  std::string initialize_result_;
  std::string initialize_id_;  // while it is under way, as JSON text
  int initialize_count_ = 0;
  bool shared_ = false;
  std::deque<Waiting> waiting_;  // for that
  // For legacy clients:
  std::int64_t handshake_ = 0;         // an `initialize` that passed
  std::set<std::int64_t> neighbours_;  // calls during which the server may ask
};

}  // namespace mcpivot
