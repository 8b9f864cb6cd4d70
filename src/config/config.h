// A configuration file as plain data: the servers it names, what the gateway needs to know about each, and
// every problem that it has.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/jsonc.h"
#include "server/config.h"

namespace mcpivot {

enum class StartMode : std::uint8_t {
  eager,  // with mcpivot
  lazy    // at its first use
};

// What the client sees of a tool's or prompt's name.
enum class NameStyle : std::uint8_t {
  prefixed,  // server__tool
  bare       // as the server calls it
};

enum class ServerKind : std::uint8_t { stdio, http, cli };

struct ToolRules {
  std::vector<std::string> allow{};  // globs over the server's own names; none: all of them
  std::vector<std::string> deny{};   // stronger than `allow`
  std::vector<std::pair<std::string, std::string>> rename{};    // the server's name, and ours
  std::vector<std::pair<std::string, std::string>> describe{};  // the server's name, and the description
};

struct ServerEntry {
  ServerConfig server{};
  ServerKind kind = ServerKind::stdio;
  std::optional<bool> active{};  // see is_active()
  StartMode start = StartMode::eager;
  std::optional<std::chrono::milliseconds> idle_stop{};  // none: it stays warm
  std::optional<NameStyle> names{};                      // see name_style()
  ToolRules tools{};

  // Differs when something did that only a new generation can bring about. What the gateway alone looks at
  // (active, start, idle_stop, names, tools) is not in it; the values of variables are.
  std::uint64_t fingerprint = 0;
  JsoncPlace place{};   // of its name
  JsoncValue source{};  // as the file spells it: what is shown of it shows no value of a variable
};

struct Problem {
  enum class Severity : std::uint8_t { error, warning };
  Severity severity = Severity::error;
  unsigned line = 0;  // 0: it is the file as a whole
  unsigned column = 0;
  std::string words{};  // what is wrong, and what to do
};

// A server that the file names and that is not to be run.
struct LeftOut {
  std::string name;
  bool disabled = false;  // by the file's own wish; else there are errors in it
  JsoncPlace place{};
};

struct Config {
  std::vector<ServerEntry> servers{};  // in the file's order; only those without errors
  std::vector<LeftOut> left_out{};
  bool remember = false;  // keep across runs which servers the model activated
  std::optional<NameStyle> names{};
  std::vector<Problem> problems{};  // in the file's order

  bool has_errors() const;
  // At the start. Servers are inactive unless the file says otherwise, but a lone one is active.
  bool is_active(const ServerEntry& entry) const {
    return entry.active.value_or(servers.size() + left_out.size() == 1);
  }
  // Likewise, the names of a lone server are its own.
  NameStyle name_style(const ServerEntry& entry) const;
};

// "FILE:LINE:COLUMN: error: WORDS"
std::string problem_text(const std::string& file, const Problem& problem);

}  // namespace mcpivot
