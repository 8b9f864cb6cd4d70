// Reads what mcpivots have written into their journals, whether they are running or not.
//
// A journal is opened for each question and closed again, so its writer is never held up. Everything here may
// block on the disk. Any thread, one at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "journal/recorded_call.h"

namespace mcpivot {

// Which calls to read; a member that isn't set matches all of them.
struct CallFilter {
  std::string tool{};        // part of its name, as the client or the server calls it
  std::string server{};      // part of its name
  std::string of_server{};   // its whole name
  std::string folder{};      // where mcpivot was started: servers of two projects may have the same name
  std::string text{};        // somewhere in the request or in the answer
  bool errors = false;       // only what failed: tool errors, JSON-RPC errors
  bool all_methods = false;  // not only tools/call
  bool with_own = true;      // also what mcpivot answered itself: control tools
  bool with_texts = true;    // else arguments, answers and questions are left out, which is quicker
  std::chrono::microseconds slow{0};
  std::optional<std::chrono::system_clock::time_point> since{};
  std::size_t most = 0;          // the newest ones; 0: all
  std::uint64_t most_bytes = 0;  // those of them, from the newest, that are together no larger; 0: all
};

// One thing that happened to a message: the names are those of the table `messages`.
struct RecordedMessage {
  std::int64_t id = 0;
  std::string session{};
  std::chrono::system_clock::time_point when{};
  std::string way{};
  std::string what{};
  std::string kind{};
  std::string method{};
  std::int64_t client = 0;
  std::string server{};
  int generation = 0;
  std::int64_t call = 0;
  bool bridged = false;
  bool is_same = false;  // the text is that of what was received, except for ids
  std::uint64_t size = 0;
  std::string why{};
  std::string text{};  // raw JSON
};

class JournalReader {
 public:
  // `which`: "last" (the newest session that has a call, of those started in the current folder if there are
  // any), the name of a session, a file, or a folder. Empty: all sessions in the user's folder. The error
  // says what isn't there, or can't be read.
  static std::expected<JournalReader, std::string> open(const std::string& which = {});

  // The oldest first.
  std::expected<std::vector<RecordedCall>, std::string> calls(const CallFilter& filter) const;
  // "SESSION:ID", or "ID" in the newest session that has it, or "last".
  std::expected<RecordedCall, std::string> call(const std::string& name) const;
  // All that was said in a call, in order.
  std::vector<RecordedMessage> messages_of(const RecordedCall& call) const;
  // Every message of the calls that the filter lets through, or, without one, every message.
  std::expected<void, std::string> each_message(
      const std::optional<CallFilter>& filter,
      const std::function<bool(const RecordedMessage& message)>& take) const;
  // How many messages are missing, because they could not be written in time.
  std::uint64_t missing() const;

  // Calls that have ended since the last time, whose places are in `seen`; new sessions are found, too. No
  // transaction is held in between.
  struct Place {
    std::int64_t answer = 0;  // the last message that ended a call
    std::int64_t stamp = 0;   // when the file was written, and how large it is
  };
  using Seen = std::map<std::string, Place>;  // by file
  // As if all that has ended so far had been seen.
  Seen all_so_far() const;
  std::vector<RecordedCall> newer(const CallFilter& filter, Seen& seen) const;

  // What was left out, and why: files of a newer mcpivot, damaged ones. Each is said once.
  const std::vector<std::string>& notes() const { return notes_; }
  const std::vector<std::string>& files() const { return files_; }

 private:
  std::vector<std::string> current_files() const;
  void note(const std::string& words) const;

  std::string folder_{};            // where new ones appear; empty: nowhere
  std::vector<std::string> files_;  // the oldest first
  mutable std::vector<std::string> notes_;
};

}  // namespace mcpivot
