// One file of a journal, while it is being written: an SQLite database (WAL, 0600). docs/journal.md describes
// its tables.
//
// Blocks on the disk. One thread at a time.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>

#include "journal/journal_rows.h"
#include "sqlite/sqlite.h"

namespace mcpivot {

inline constexpr int journal_schema = 1;
inline constexpr int journal_application = 0x6d63706a;  // "mcpj": identifies our files

// The mcpivot that writes it.
struct JournalRun {
  std::string session;
  std::string name;  // of this mcpivot: its server, or "mcpivot"
  std::string folder;
  std::string version;
  std::int64_t pid = 0;
  std::int64_t started = 0;  // µs since 1970
};

// Their names in the tables.
std::string_view way_text(JournalEntry::Way way);
std::string_view what_text(JournalEntry::What what);
std::string_view kind_text(JournalEntry::Kind kind);
std::string_view outcome_text(RecordedCall::Outcome outcome);
RecordedCall::Outcome outcome_of(std::string_view text);

class JournalFile {
 public:
  // There must be no such file yet. Creates the folder if needed, for our user only.
  static SqliteResult<JournalFile> create(const std::string& path, const JournalRun& run);
  JournalFile(JournalFile&&) noexcept;
  JournalFile& operator=(JournalFile&&) noexcept;
  ~JournalFile();

  // All of them or none.
  SqliteResult<void> write(const JournalRows& rows);
  // False: the file was moved or deleted.
  bool in_place() const;
  std::uint64_t bytes() const;
  const std::string& path() const;

 private:
  struct Parts;
  explicit JournalFile(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace mcpivot
