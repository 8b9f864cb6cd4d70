// What is written into the tables of a journal, as plain data: docs/journal.md describes them.
//
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "journal/journal_entry.h"
#include "journal/recorded_call.h"

namespace mcpivot {

struct MessageRow {
  std::int64_t id = 0;
  std::int64_t at = 0;  // µs since 1970
  JournalEntry::Way way = JournalEntry::Way::from_client;
  JournalEntry::What what = JournalEntry::What::passed;
  JournalEntry::Kind kind = JournalEntry::Kind::unknown;
  bool bridged = false;
  std::uint64_t client = 0;
  std::string server{};
  int generation = 0;
  std::int64_t call = 0;  // 0: of none
  std::int64_t pair = 0;
  std::string method{};
  std::uint64_t size = 0;
  std::int64_t same_as = 0;  // the message with the same text except for ids; 0: it has its own
  std::size_t redacted = 0;  // how many secrets were replaced
  std::string why{};
  std::optional<std::string> text{};
};

struct CallRow {
  std::int64_t id = 0;
  std::int64_t at = 0;
  std::int64_t took = 0;  // µs
  std::uint64_t client = 0;
  std::string client_name{};
  std::string method{};
  std::string name{};  // as the client called it
  std::string server{};
  std::string tool{};  // as the server calls it
  int generation = 0;
  RecordedCall::Outcome outcome = RecordedCall::Outcome::open;
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
  int retries = 0;
  bool complete = true;
  // The messages: as the client sent it, as the server got it, as the server answered, as the client got it.
  std::int64_t request = 0;
  std::int64_t sent = 0;
  std::int64_t received = 0;
  std::int64_t answer = 0;
};

struct ToolRow {
  std::string server;
  std::string tool;
  std::string annotations;  // JSON
};

struct GapRow {
  std::int64_t after = 0;  // the message before it
  std::int64_t at = 0;
  std::uint64_t messages = 0;
};

// What is written at once.
struct JournalRows {
  std::vector<MessageRow> messages{};
  std::vector<CallRow> calls{};  // replace those with the same id
  std::vector<ToolRow> tools{};
  std::vector<GapRow> gaps{};

  bool empty() const { return messages.empty() && calls.empty() && tools.empty() && gaps.empty(); }
  void clear() { *this = {}; }
};

}  // namespace mcpivot
