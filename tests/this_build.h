// What this build tests. Nothing else of the end-to-end tests differs between two builds of the same
// sources, so one build can take the compiled tests of another (MCPIVOT_E2E_FROM).
#pragma once

#include <string>

namespace harness {

std::string mcpivot_binary();
std::string fake_server_binary();
std::string fake_cli_binary();
std::string fake_daemon_binary();
std::string build_directory();
// Whether the program under test has sanitizers or counters in it, which make it slow and large.
bool is_instrumented();
// Whether it records which lines it ran, which it can't if it is killed at once.
bool counts_lines();

}  // namespace harness
