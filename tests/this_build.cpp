#include "this_build.h"

namespace harness {

std::string mcpivot_binary() {
  return MCPIVOT_BINARY;
}
std::string fake_server_binary() {
  return FAKE_SERVER_BINARY;
}
std::string fake_cli_binary() {
  return FAKE_CLI_BINARY;
}
std::string fake_daemon_binary() {
  return FAKE_DAEMON_BINARY;
}
std::string build_directory() {
  return BUILD_DIRECTORY;
}
bool is_instrumented() {
  return IS_INSTRUMENTED;
}
bool counts_lines() {
  return COUNTS_LINES;
}

}  // namespace harness
