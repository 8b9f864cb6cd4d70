// Reads one session of a journal: its files, the calls in them, and what was said in each call.
//
// Blocks on the disk. One thread at a time.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "journal/journal_reader.h"
#include "sqlite/sqlite.h"

namespace mcpivot {

// A journal file that can be read. The error begins with its name.
std::expected<Sqlite, std::string> open_journal(const std::string& path);

// What found_call() reads of the table `calls`.
extern const char* const call_columns;

// A call, and where its messages are.
struct FoundCall {
  RecordedCall call{};
  std::int64_t client = 0;
  std::int64_t request = 0, sent = 0, received = 0, answer = 0;
  bool operator<(const FoundCall& other) const {
    return std::tie(call.when, call.session, call.id) <
           std::tie(other.call.when, other.call.session, other.call.id);
  }
};
FoundCall found_call(const SqliteStatement& row, const std::string& session);

// What found_message() reads, and of which tables.
extern const char* const message_columns;
extern const char* const message_tables;

struct FoundMessage {
  RecordedMessage message{};
  bool redacted = false;
  std::int64_t pair = 0;
  std::int64_t same_as = 0;
};
FoundMessage found_message(const SqliteStatement& row, const std::string& session);

// The files are opened when they are needed: what belongs to a call may be in several of them.
class RecordedSession {
 public:
  RecordedSession(std::string name, std::vector<std::string> paths);

  // In order.
  std::vector<FoundMessage> messages_of(std::int64_t call);
  // What was asked and answered, and the questions meanwhile.
  void add_texts(FoundCall& found) { add_texts(found, 0); }

 private:
  void add_texts(FoundCall& found, int rounds);
  void add_rounds(FoundCall& found, std::string_view params, int rounds);
  std::vector<const Sqlite*> all();

  std::string name_;
  std::vector<std::pair<std::string, std::optional<Sqlite>>> files_;
};

}  // namespace mcpivot
