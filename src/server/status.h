// How a server is doing, as plain data, and as short lines that are easy for models to read and programs to
// parse.
//
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "server/call_counts.h"
#include "server/executable.h"

namespace mcpivot {

// What has happened to a server so far.
struct History {
  using Milliseconds = std::chrono::milliseconds;

  int starts = 0;
  Milliseconds last_start_took{0};
  std::string last_diff;   // what the last new generation changed
  int kills = 0;           // by us: swaps, stops
  int crashes = 0;         // its own fault
  int outside_deaths = 0;  // another program's
  std::string last_exit;
  std::optional<int> last_exit_code;  // as in a shell
  Milliseconds last_lifetime{0};
  std::string last_kill;  // why
  std::optional<std::chrono::system_clock::time_point> last_kill_at;
  int builds = 0;
  int failed_builds = 0;
  std::string last_build;
  std::string last_check;  // the outcome of the recorded calls that the last new generation got
};

// How its tools are used.
struct Usage {
  std::uint64_t calls = 0;   // sent to the server and ended
  std::uint64_t errors = 0;  // among these
  std::optional<std::chrono::microseconds> p50{};

  static Usage of(const CallCounts& counts) { return {counts.calls(), counts.errors(), counts.median()}; }
};

struct Status {
  std::chrono::system_clock::time_point at{};  // when this was the status
  std::string server;
  std::string own_name;  // what it calls itself, if that differs
  std::string state;
  std::string trouble;   // why it is not ready
  std::string command;   // as the user gave it
  bool daemon = false;   // its generations are sessions
  bool away = false;     // and no process accepted the last connection
  std::string version;   // as reported by the server
  std::string protocol;  // "2026-07-28 (modern era)"
  std::optional<FileFacts> executable;
  bool newer_on_disk = false;  // than what runs

  struct Life {  // of the generation that serves
    int generation = 0;
    pid_t pid = 0;
    std::chrono::milliseconds uptime{0};
    std::size_t in_flight = 0;
  };
  std::optional<Life> life;
  std::size_t waiting = 0;
  std::size_t draining = 0;
  std::optional<std::chrono::milliseconds> building;  // for how long
  History past;
  Usage usage;
  std::size_t tools = 0;
  std::string untold;                                     // notices that no answer has carried yet
  std::string held;                                       // what differs in a build that waits to be accepted
  std::vector<std::pair<std::string, std::string>> more;  // specific to this kind of server

  // The state in a word: a daemon that can't be reached hasn't failed, it is away. One that is up but refuses
  // us has failed.
  std::string condition() const;
  std::string text() const;
};

// "2026-11-15T16:20:04Z"
std::string time_text(std::chrono::system_clock::time_point time);

}  // namespace mcpivot
