// `mcpivot journal`: shows messages from the journals of running and ended mcpivots.
//
// Blocks. One thread.
#pragma once

#include <string>
#include <vector>

namespace mcpivot {

// What the command line said.
struct JournalWish {
  std::vector<std::string> words{};  // show ID, stats, export, keep ID…, on, off; or a text to look for
  std::string session{};             // a session, a file, a folder, or "last"
  std::string instance{};            // for on and off
  std::string tool{};
  std::string server{};
  std::string slow{};
  std::string since{};
  bool errors = false;
  bool all = false;  // not only calls of tools
  bool follow = false;
  bool as_json = false;
  int lines = 50;
};

// Returns the exit code.
int journal_command(const JournalWish& wish);

}  // namespace mcpivot
