// The texts about a new generation, for the model and for the callers that wait for it: which generation is
// serving now and what changed, or why there is none.
//
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/server_config.h"
#include "server/connection_record.h"

namespace mcpivot {

struct NewGeneration {
  std::string server;
  int number;
  std::string where;
  std::string_view did;  // "started", "restarted"
  std::chrono::milliseconds took;
  std::string reason;
  std::optional<ConnectionRecord::Absence> absence;
  bool reloaded;     // on request: a caller waits for it
  bool memory_gone;  // that of the previous generation
};
// "[mcpivot] "dev" restarted: generation 2, pid 4242, ready in 1.8 s (after a crash). Anything it held in …"
std::string generation_headline(const NewGeneration& generation);
// The same for a session with a daemon, which may have been restarted for it.
std::string session_headline(const NewGeneration& generation, bool daemon_restarted);

struct NewProgram {
  std::string file;
  bool is_binary = true;  // else a script
  std::string version_before;
  std::string version;
};
// A line about a program that changed, or whose version did: a local one, or one behind a URL.
std::string binary_line(const NewProgram& program);
std::string version_line(const NewProgram& program);

struct BirthNews {
  std::string headline;
  std::optional<std::string> diff;  // if it matters; empty: nothing changed
  bool was_guess;                   // until now, clients saw the lists of its last run
  std::string program;              // a line
  std::vector<std::string> failed_replays;
  std::string checked{};  // what came of the recorded calls, see CheckReport
  std::string no_tools;   // why it has none
};
std::string birth_report(const BirthNews& news);

// `trouble`: "failed to start", if none serves. `serving`: the generation that is still serving. `next`: a
// line that says what to do; may be empty.
std::string failure_report(std::string_view server, std::string_view trouble, std::string_view why,
                           std::optional<int> serving, std::string_view next);

// For a generation that answers differently, or could not be checked, and waits until a user accepts it.
// `checked`: see CheckReport.
std::string held_report(std::string_view server, std::string_view checked, bool unreadable, int serving,
                        const ControlNames& control);

// For one that was started on request before any client had connected.
std::string unused_report(std::string_view server, std::string_view life, int number, std::string_view where);

}  // namespace mcpivot
