#include "proc/launcher.h"

#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace mcpivot {

void end_with_launcher() {
  const char* variable = std::getenv("MCPIVOT_LAUNCHER");
  if (variable == nullptr) return;
  const std::string launcher = variable;
  ::unsetenv("MCPIVOT_LAUNCHER");
  const pid_t parent = ::getppid();
  // The variable came from somebody else's environment, or the launcher has ended already; then only the end
  // of stdin tells us.
  if (std::to_string(parent) != launcher) return;
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (::getppid() != parent) ::raise(SIGTERM);
}

}  // namespace mcpivot
