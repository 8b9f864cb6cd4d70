// What every new generation of a server must be told, because its clients told the earlier ones: the
// handshake, the log level, the resource subscriptions, and the last successful call of each tool that the
// user named for replay. Of several clients, the most verbose level counts, what any of them subscribed to,
// and whoever made the last call.
//
// Plain data; one thread.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/server_config.h"
#include "server/generation.h"

namespace mcpivot {

class Replay {
 public:
  // Whose instance it is; nobody: many share it, and each has settings of its own.
  explicit Replay(ClientId client) : client_(client) {}

  // Which calls count from now on.
  void set_rules(std::vector<ReplayRule> rules) { rules_ = std::move(rules); }

  // The params of `initialize`, as JSON text. Empty until it has come.
  std::string hello;

  // Learns from a request that was answered. Cheap for the many that do not matter.
  void learn(const Generation::Requests::Request& request, const Message& answer);

  // Learns of a setting that was answered without a server, because there is none that could take it.
  void learn_setting(ClientId by, Method method, std::string_view params);
  // A client is gone. The calls that it made still count.
  void forget(ClientId client) { settings_.erase(client); }

  // The params of logging/setLevel for what the most verbose of them wants; empty: nobody said.
  std::string level() const;
  // The params of what a client subscribed to.
  std::vector<std::string> subscriptions_of(ClientId client) const;
  bool is_subscribed(std::string_view uri) const;
  bool has_subscriptions() const;
  // Who wants to hear that this resource was updated, or that of which it is a part.
  std::vector<ClientId> subscribers(std::string_view uri) const;

  // A call to be made again, and the rule that says so.
  struct Kept {
    ReplayRule rule;
    std::string params;
    bool operator==(const Kept&) const = default;
  };
  // What one client has told.
  struct Memory {
    std::string log_level;                   // params of the last logging/setLevel
    std::vector<std::string> subscriptions;  // params of each resources/subscribe that is in force
    std::vector<Kept> calls;                 // in the order in which they were made
    bool operator==(const Memory&) const = default;
  };
  Memory memory(ClientId client) const;
  void set_memory(ClientId client, Memory memory);

  struct Call {
    std::string_view method;
    std::string params;  // JSON text
    std::string label;   // for the notice, should it fail
  };
  // What to ask after the handshake, in this order.
  std::vector<Call> calls() const;
  // It does more harm than good: it is not made again.
  void drop(const Call& call);

 private:
  struct Settings {
    std::string log_level;                   // params of the last logging/setLevel
    std::vector<std::string> subscriptions;  // params of each resources/subscribe that is in force
  };
  struct Made {
    ClientId by;
    Kept call;
  };

  // A terminal speaks for the client whose instance it is.
  ClientId whose(ClientId by) const { return client_ == ClientId::nobody ? by : client_; }
  void learn_call(ClientId by, const Message& request, const Message& answer);

  ClientId client_;
  std::vector<ReplayRule> rules_;
  std::map<ClientId, Settings> settings_;
  std::vector<Made> calls_;  // in the order in which they were made
};

}  // namespace mcpivot
