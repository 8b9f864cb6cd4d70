// Says what became of a birth, to those who wait for it and to a model that has to do with the server: which
// generation serves now and what is different in it, or why there is none.
//
// Any thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "server/connection_record.h"

namespace mcpivot {

struct NewGeneration {
  std::string server;
  int number;
  std::string where;
  std::string_view did;  // "runs", "restarted"
  std::chrono::milliseconds took;
  std::string reason;
  std::optional<ConnectionRecord::Absence> absence;
  bool reloaded;  // somebody waits for it
};
// "[mcpivot] "dev" restarted: generation 2, pid 4242, ready in 1.8 s (after a crash)."
std::string generation_headline(const NewGeneration& generation);
// The same of a session with a daemon, which may have been restarted for it.
std::string session_headline(const NewGeneration& generation, bool daemon_restarted);

struct NewProgram {
  std::string file;
  std::string version_before;
  std::string version;
};
// Lines about a program that is another one, or says that it is: one of ours, or behind a URL.
std::string binary_line(const NewProgram& program);
std::string version_line(const NewProgram& program);

struct BirthNews {
  std::string headline;
  std::optional<std::string> diff;  // if that is of interest; empty: nothing changed
  bool was_guess;                   // until now clients saw what the last run of mcpivot had seen
  std::string program;              // a line
  std::vector<std::string> failed_replays;
  std::string no_tools;  // why it has none
  std::string crash;     // how the one before ended, if that has not been told
};
std::string birth_report(const BirthNews& news);

// `serving`: the generation that still does.
std::string failure_report(std::string_view server, std::string_view why, std::optional<int> serving);

// One that was started on request, before a client was there to shake hands with it.
std::string unused_report(std::string_view server, std::string_view life, int number, std::string_view where);

}  // namespace mcpivot
