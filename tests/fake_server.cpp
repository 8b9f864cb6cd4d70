// fake_server: the MCP server that tests put behind mcpivot. By default it is small and correct; its options
// and tools (see --help and fake/) make it late, rude, short-lived or dead.
#include <sys/resource.h>

#include <csignal>
#include <cstdio>

#include "fake/options.h"
#include "fake/server.h"
#include "fake/tools.h"

namespace {

// A deliberate crash should not leave a core file in the middle of a test.
void forbid_core_dumps() {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
}

void begin_life(const fake::Options& options) {
  signal(SIGPIPE, SIG_IGN);
  if (options.ignore_term) signal(SIGTERM, SIG_IGN);
  for (long i = 1; i <= options.stderr_flood; ++i)
    std::fprintf(stderr, "flood %ld of %ld\n", i, options.stderr_flood);
  if (!options.fork.empty()) fake::fork_sleeper(options.fork == "stubborn");
  if (options.die_at == fake::DieAt::start) fake::die(options.die_how);
}

}  // namespace

int main(int argc, char** argv) {
  forbid_core_dumps();
  const fake::Options options = fake::read_options(argc, argv);
  begin_life(options);
  fake::Server server(options);
  if (!options.garbage.empty()) server.wire().raw(options.garbage + "\n");
  server.run();
}
