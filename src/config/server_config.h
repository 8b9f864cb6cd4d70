// A server as the user configured it: plain data, wherever it comes from.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/command.h"
#include "base/era.h"

namespace mcpivot {

// Which calls are repeated after each start: those of this tool, or only those with this argument.
struct ReplayRule {
  std::string tool;
  std::string key;    // empty: any arguments
  std::string value;  // as text; a JSON string is compared without its quotes
  bool operator==(const ReplayRule&) const = default;
};

enum class SwapMode : std::uint8_t {
  overlap,    // the new generation starts while the old one still serves
  stop_first  // for servers that can't run twice
};

// What happens to a call that arrives while a saved change is being built or started.
enum class OnSave : std::uint8_t {
  wait,  // the call waits for the new generation
  serve  // the old generation answers it, and a remark in the answer says so
};

enum class Sharing : std::uint8_t {
  per_client,  // every client has an instance of its own
  shared       // all clients use one
};

// A CLI that describes its own tools and runs once per call. Its program is the server's command.
struct CliConfig {
  std::vector<std::string> schema_args{"schema", "--json"};  // print the schema
  std::vector<std::string> result_args{"--json"};            // after the arguments of each call
  std::size_t jobs = 0;                                      // concurrent calls; 0: four per core
  std::size_t max_output = 1024UL * 1024;                    // of a call, in bytes; more is cut in the middle
  bool operator==(const CliConfig&) const = default;
};

// How mcpivot identifies itself to the authorization server of a daemon that wants users to sign in. All of
// it may be empty.
struct OauthConfig {
  std::string client_id;  // that the user registered
  std::string client_secret;
  std::string client_metadata_url;  // a document that describes mcpivot, for servers that accept one
  std::string scopes;               // to ask for, instead of those that the server wants
  std::size_t redirect_port = 0;    // where browsers come back to; 0: one that depends on the URL
  bool operator==(const OauthConfig&) const = default;
};

// A server that is an HTTP daemon.
struct HttpConfig {
  std::string url;                   // empty: it is a process
  std::vector<std::string> headers;  // "Name: value", with ${VAR}
  std::string cacert;                // a file with certificates to trust
  bool insecure = false;             // trust any certificate
  OauthConfig oauth{};
  std::string login;  // what to give `mcpivot login`; empty: the server's name
  std::string start;  // a shell command that starts the daemon; empty: somebody else does
  std::string stop;   // a shell command that stops it
  std::chrono::milliseconds start_after = std::chrono::seconds(5);  // gives a developer time to restart it
  bool operator==(const HttpConfig&) const = default;
};

// What the control tools are called, for texts that tell a model what to do next. Empty: there is none.
struct ControlNames {
  std::string_view rebuild = "pivot_rebuild";
  std::string_view restart = "pivot_restart";
  std::string_view status = "pivot_status";
  std::string_view logs = "pivot_logs";
  bool operator==(const ControlNames&) const = default;
};

// What each new build is checked with, before it serves.
struct VerifyConfig {
  std::string calls{};                // "journal", or a file of kept calls; empty: nothing
  bool gate = false;                  // a build that answers differently waits until a user accepts it
  std::vector<std::string> ignore{};  // paths in answers that may be different (mcp/answer_diff.h)
  std::chrono::milliseconds budget = std::chrono::seconds(2);  // for all calls together
  bool operator==(const VerifyConfig&) const = default;

  static constexpr std::string_view journal = "journal";
  bool wanted() const { return !calls.empty(); }
  bool from_journal() const { return calls == journal; }
};

struct ServerConfig {
  std::string name;
  HttpConfig http;
  bool is_daemon() const { return !http.url.empty(); }
  ControlNames control;
  Command command;
  std::optional<CliConfig> cli;  // the command is a CLI; not given: it is an MCP server
  std::string build;             // a shell command; empty: nothing to build
  std::vector<std::string>
      watch;  // globs, relative to the command's folder; none: its own executable or script
  bool watching = true;
  bool passes_stderr = true;  // to our own stderr, where clients look for it
  std::optional<Era> era;     // of the server; not given: mcpivot asks it
  SwapMode swap = SwapMode::overlap;
  // Not given: depends on how many clients there can be.
  std::optional<OnSave> on_save;
  bool waits_for_saves() const { return on_save ? *on_save == OnSave::wait : !for_many; }
  Sharing sharing = Sharing::per_client;
  bool for_many = false;  // there are several clients: what one of them does must not affect the others
  std::vector<ReplayRule> replay;
  VerifyConfig verify;
  // Patterns: tools whose calls mcpivot may make again, even if the tools don't declare that they only read.
  std::vector<std::string> replay_safe;
  // The old generation keeps running until the new one is accepted.
  bool can_gate() const { return !is_daemon() && !cli && swap == SwapMode::overlap; }
  std::size_t max_message = 10'000'000;  // longest message to the client, in bytes

  std::chrono::milliseconds start_timeout =
      std::chrono::seconds(30);                                // from exec to the end of the handshake
  std::chrono::milliseconds drain = std::chrono::seconds(10);  // for calls in flight on an old generation
  std::chrono::milliseconds call_timeout = std::chrono::minutes(10);   // without an answer or progress
  std::chrono::milliseconds queue_timeout = std::chrono::seconds(30);  // of each waiting request
  std::chrono::milliseconds build_timeout = std::chrono::minutes(10);
  bool operator==(const ServerConfig&) const = default;
};

// A generation keeps the configuration that it was started with, even if the server's has changed since.
using ConfigRef = std::shared_ptr<const ServerConfig>;

}  // namespace mcpivot
