// `mcpivot replay`: plays recorded calls against another build, and reports which answers differ.
//
// Blocks. One thread.
#pragma once

#include <string>
#include <vector>

namespace mcpivot {

struct ReplayCommand {
  std::string which;  // "last", a session of the journal, or a file
  std::string config{};
  std::string server{};                // which of the configuration, and whose calls
  std::vector<std::string> command{};  // instead of one of the configuration
  std::vector<std::string> ignore{};
  std::vector<std::string> safe{};
  std::string timeout{};
  bool unsafe = false;
  bool as_json = false;
};

// The exit code: 0 all answers are the same, 1 some differ, 2 nothing could be compared.
int replay_command(const ReplayCommand& command);

}  // namespace mcpivot
