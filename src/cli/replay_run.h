// Plays recorded calls against a server, in order and one at a time, and compares what it answers with what
// was recorded. mcpivot plays the client, and answers the server's questions as the recorded client did.
//
// One thread; run() has an event loop of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "config/server_config.h"
#include "journal/recorded_call.h"
#include "mcp/answer_diff.h"

namespace mcpivot {

// What came of a call.
struct Played {
  enum class End : std::uint8_t {
    same,
    differs,
    unsafe,   // left out: it may change something
    useless,  // left out: the recorded call can't be made or compared; `why` says why
    gone,     // the server has no such tool any more
    late,     // no answer in time
    died,     // the server died during this call
    not_run   // because of that
  };
  const RecordedCall* call;
  End end = End::not_run;
  AnswerDiff diff{};
  std::string why{};
};

struct ReplayWish {
  ServerConfig server{};
  std::vector<RecordedCall> calls{};
  IgnoredPaths ignored{};
  bool unsafe = false;                                            // also what may change something
  std::chrono::milliseconds patience = std::chrono::seconds(30);  // with one call
  std::function<void(std::size_t number, const RecordedCall& call)> on_call{};
};

struct ReplayOutcome {
  std::string trouble{};  // why nothing was played, in a sentence or more; empty: it was
  std::string death{};    // how the server died: "was killed by SIGSEGV after 45 ms"; empty: it didn't
  std::string last_words{};
  std::vector<Played> played{};
  std::size_t count(Played::End end) const;
};

// The calls of `wish` must outlive the outcome.
ReplayOutcome run_replay(const ReplayWish& wish);

}  // namespace mcpivot
