// The files of the journals in $XDG_STATE_HOME/mcpivot/journal: one for each run of mcpivot and day, called
// DAY-SESSION.db, and further ones (DAY-SESSION-2.db) when it has grown large. Old ones are deleted.
//
// Blocks on the disk. Any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

struct JournalName {
  std::string day;      // 2026-11-18
  std::string session;  // 1f3a
  int part = 1;

  std::string file() const;
  static std::optional<JournalName> read(std::string_view file);
  auto operator<=>(const JournalName&) const = default;
};

// The user's; empty: there is no home directory.
std::string journal_folder();

// The journals in a folder, the oldest first: as paths.
std::vector<std::string> journals_in(const std::string& folder);

// The name of a session that no journal in the folder has yet.
std::string new_session(const std::string& folder);

// The local date.
std::string day_of(std::chrono::system_clock::time_point time);

struct JournalLimits {
  std::chrono::hours age{std::chrono::days(14)};
  std::uint64_t bytes = 500'000'000;  // of all journals in the folder
  bool operator==(const JournalLimits&) const = default;
};

// Deletes what hasn't been written for longer than that, then the oldest ones until the rest is small enough;
// never `own`. Returns how many.
std::size_t delete_old_journals(const std::string& folder, const JournalLimits& limits,
                                const std::string& own, std::chrono::system_clock::time_point now);

}  // namespace mcpivot
