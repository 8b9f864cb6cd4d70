// What every new generation of a server must be told, because its clients told the earlier ones: the
// handshake, the log level, the resource subscriptions, and the last successful call of each tool that the
// user named for replay. With several clients, the most verbose level counts, everything that any of them
// subscribed to, and whichever call was last.
//
// Plain data; one thread.
#pragma once

#include <functional>
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

  // Which calls are kept from now on.
  void set_rules(std::vector<ReplayRule> rules) { rules_ = std::move(rules); }

  // The params of `initialize`, as JSON text. Empty until it has come.
  std::string hello;

  // Resources that one client may be subscribed to: all of them are subscribed to again at each start.
  static constexpr std::size_t most_subscriptions = 4'096;

  // Learns from a request that was answered. Cheap for the many that don't matter. False: it was one
  // subscription too many.
  bool learn(const Generation::Requests::Request& request, const Message& answer);

  // Learns a setting that was answered without a server, because none could take it. False: as above.
  bool learn_setting(ClientId by, Method method, std::string_view params);
  // A client is gone. The calls that it made still count.
  void forget(ClientId client) { settings_.erase(client); }

  // The params of logging/setLevel for the most verbose level that a client set; empty: none did.
  std::string level() const;
  // The params of what a client subscribed to.
  std::vector<std::string> subscriptions_of(ClientId client) const;
  bool is_subscribed(std::string_view uri) const;
  bool has_subscriptions() const;
  // Who is subscribed to this resource, or to one that contains it.
  std::vector<ClientId> subscribers(std::string_view uri) const;

  // A call to replay, and the rule that says so.
  struct Kept {
    ReplayRule rule;
    std::string params;
    bool operator==(const Kept&) const = default;
  };
  // What one client has told the server.
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
    std::string label;   // for the notice, if it fails
  };
  // What to ask after the handshake, in this order.
  std::vector<Call> calls() const;
  // It does more harm than good: it won't be replayed.
  void drop(const Call& call);

 private:
  struct Settings {
    std::string log_level;  // params of the last logging/setLevel
    // Params of each resources/subscribe that is in force, by URI.
    std::map<std::string, std::string, std::less<>> subscriptions{};
  };
  struct Made {
    ClientId by;
    Kept call;
  };

  // A terminal acts for the client whose instance it is.
  ClientId whose(ClientId by) const { return client_ == ClientId::nobody ? by : client_; }
  void learn_call(ClientId by, const Message& request, const Message& answer);

  ClientId client_;
  std::vector<ReplayRule> rules_;
  std::map<ClientId, Settings> settings_;
  std::vector<Made> calls_;  // in the order in which they were made
};

// The answer to the subscription that is one too many.
std::string too_many_subscriptions(std::string_view id);

}  // namespace mcpivot
