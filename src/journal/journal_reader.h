// Reads what mcpivots have written into their journals, whether they are running or not.
//
// A journal is opened for each question and closed again, so nobody is kept from writing it. Everything here
// may block on the disk. Any thread, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <vector>

#include "journal/recorded_call.h"

namespace mcpivot {

// Which calls; what isn't given matches all of them.
struct CallFilter {
  std::string tool{};        // part of its name, as the client or the server calls it
  std::string server{};      // part of its name
  std::string text{};        // somewhere in the request or in the answer
  bool errors = false;       // only what failed: tool errors, JSON-RPC errors
  bool all_methods = false;  // not only tools/call
  bool with_own = true;      // also what mcpivot answered itself: control tools
  std::chrono::microseconds slow{0};
  std::optional<std::chrono::system_clock::time_point> since{};
  std::size_t most = 0;  // the newest ones; 0: all
};

class JournalReader {
 public:
  // `which`: "last" (the newest session that has a call), the name of a session, a file, or a folder. Empty:
  // all sessions in the user's folder. The error says what isn't there, or can't be read.
  static std::expected<JournalReader, std::string> open(const std::string& which = {});

  // The oldest first.
  std::expected<std::vector<RecordedCall>, std::string> calls(const CallFilter& filter) const;
  // "SESSION:ID", or "ID" in the newest session, or "last".
  std::expected<RecordedCall, std::string> call(const std::string& name) const;

  // What was left out, and why: files of a newer mcpivot, damaged ones.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<std::string> files_;  // the oldest first
  mutable std::vector<std::string> notes_;
};

}  // namespace mcpivot
