// What every new generation of a server must be told, because the client told the earlier ones: its
// handshake, the log level, the resource subscriptions, and the last successful call of each tool that the
// user named for replay.
//
// Plain data; one thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/server_config.h"
#include "server/generation.h"

namespace mcpivot {

class Replay {
 public:
  // Which calls count from now on.
  void set_rules(std::vector<ReplayRule> rules) { rules_ = std::move(rules); }

  // The params of the client's `initialize`, as JSON text. Empty until it has come.
  std::string hello;

  // Learns from a request that was answered. Cheap for the many that do not matter.
  void learn(const Generation::Requests::Request& request, const Message& answer);

  // Learns of a setting that was answered without a server, because there is none that could take it.
  void learn_setting(Method method, std::string_view params);

  // A call to be made again, and the rule that says so.
  struct Kept {
    ReplayRule rule;
    std::string params;
    bool operator==(const Kept&) const = default;
  };
  struct Memory {
    std::string log_level;                   // params of the last logging/setLevel
    std::vector<std::string> subscriptions;  // params of each resources/subscribe that is in force
    std::vector<Kept> calls;                 // in the order in which they were made
    bool operator==(const Memory&) const = default;
  };
  const Memory& memory() const { return memory_; }
  void set_memory(Memory memory) { memory_ = std::move(memory); }

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
  void learn_call(const Message& request, const Message& answer);

  std::vector<ReplayRule> rules_;
  Memory memory_;
};

}  // namespace mcpivot
