// What the user configured: the servers, and how they are shown to clients. Plain data, whether it comes from
// a command line that names one server or a file that names many.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "config/server_config.h"

namespace mcpivot {

// Which of a server's tools are offered, and how.
struct ToolRules {
  std::optional<std::vector<std::string>> allow;  // patterns: only these; not given: all
  std::vector<std::string> deny;                  // patterns: never these
  std::map<std::string, std::string> rename;
  std::map<std::string, std::string> describe;
  bool operator==(const ToolRules&) const = default;
};

enum class StartMode : std::uint8_t {
  eager,  // with mcpivot
  lazy    // at its first use
};

struct ServerEntry {
  ServerConfig server;
  std::optional<bool> active;  // in the context from the start; not given: only if it is alone
  StartMode start = StartMode::eager;
  std::optional<std::chrono::milliseconds> idle_stop;  // an inactive one is stopped after this time
  std::optional<Sharing> sharing;  // as in the file; the value in effect is in the server's config
  ToolRules tools;
  ToolRules granted{};             // what the client's profile allows and denies in addition
  std::optional<bool> pivot_call;  // whether pivot_call reaches it; not given: as the file says
  bool operator==(const ServerEntry&) const = default;
};

enum class Naming : std::uint8_t {
  prefixed,  // server__tool
  bare       // as the servers call them, while no two are the same
};

// Whose control tools are listed: ours, or those of an earlier program.
enum class Compat : std::uint8_t { none, mcpflow, mcp_sitter, mcpflip };

// Whether clients that support both protocol eras are offered the modern one.
enum class Front : std::uint8_t {
  automatic,  // if a server behind us has it
  legacy,
  modern
};

// Which servers' tools pivot_call reaches, unless their own entries say otherwise.
enum class CallThrough : std::uint8_t {
  active,  // of servers in the context
  all,
  off  // there is no pivot_call, whatever the entries say
};

// Which control tools a client has beyond those for looking and choosing.
struct Powers {
  bool build = true;
  bool restart = true;  // and stop
  bool logs = true;
  bool others = true;  // a stop also ends other processes that run the program
  bool operator==(const Powers&) const = default;
};
inline constexpr Powers no_powers{.build = false, .restart = false, .logs = false, .others = false};

// What clients that connect under its name see and may do.
struct Profile {
  bool broken = false;                              // has errors in the file: lets nobody in
  std::optional<std::vector<std::string>> servers;  // not given: all
  ToolRules tools;                                  // only allow and deny
  std::optional<std::vector<std::string>> active;   // not given: as each server's entry says
  std::vector<std::string> control;                 // of control_grants
  // That a token of --oauth-issuer needs, all of them; not given: no such token opens it.
  std::optional<std::vector<std::string>> scopes;
  bool operator==(const Profile&) const = default;
};

// What was said is written down, for people to look at and for calls to be played again.
struct JournalConfig {
  bool on = false;
  std::size_t days = 14;              // then a file is deleted
  std::size_t bytes = 500'000'000;    // of all files; the oldest are deleted first
  std::vector<std::string> redact{};  // regular expressions: what they match is replaced
  bool operator==(const JournalConfig&) const = default;
};

struct GatewayConfig {
  std::vector<ServerEntry> servers;
  std::size_t left_out = 0;  // servers in the file that have errors
  Naming names = Naming::prefixed;
  bool remember = false;  // remember across runs which servers were active
  Compat compat = Compat::none;
  Front front = Front::automatic;
  CallThrough pivot_call = CallThrough::all;
  Powers powers{};
  JournalConfig journal{};
  std::map<std::string, Profile> profiles{};  // by name
  std::string file;                           // where it came from; empty: the command line
  std::string trouble;                        // what is wrong with it, in one line; empty: nothing
};

}  // namespace mcpivot
