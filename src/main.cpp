// mcpivot: the fixed point between an AI client and its MCP servers.
#include <fcntl.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <vector>

#include "app/run.h"
#include "cli/check.h"
#include "cli/options.h"
#include "install/skill.h"
#include "proc/end_now.h"
#include "proc/launcher.h"

namespace {

// Pipes that we open must not become 0, 1 or 2 because somebody started us with those closed.
void open_standard_descriptors() {
  int descriptor = 0;
  do descriptor = ::open("/dev/null", O_RDWR);
  while (descriptor >= 0 && descriptor <= 2);
}

}  // namespace

int main(int argc, char** argv) {
#ifdef MCPIVOT_COVERAGE
  std::atexit(mcpivot::choose_counts_folder);  // servers must not inherit it
#endif
  mcpivot::hold_reload_signal(true);
  open_standard_descriptors();
  mcpivot::end_with_launcher();
  try {
    const auto invocation = mcpivot::parse_command_line({argv + 1, argv + argc});
    std::fputs(invocation.out.c_str(), stdout);
    std::fputs(invocation.err.c_str(), stderr);
    if (!invocation.run) mcpivot::hold_reload_signal(false);
    if (invocation.instead) return invocation.instead();
    if (invocation.check) return mcpivot::check(invocation.options);
    if (invocation.run) mcpivot::refresh_kept_skill(mcpivot::places_here());
    return invocation.run ? mcpivot::run(invocation.options) : invocation.exit_code;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "mcpivot: %s\n", error.what());
    return 1;
  }
}
