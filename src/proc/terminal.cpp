#include "proc/terminal.h"

#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

namespace mcpivot {
namespace {

volatile sig_atomic_t end_is_due = 0;

void note_signal(int) {
  end_is_due = 1;
}

void handle_with(void (*handler)(int)) {
  struct sigaction action{};
  action.sa_handler = handler;
  action.sa_flags = static_cast<int>(SA_RESETHAND);  // no SA_RESTART: a sleep must end
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
}

}  // namespace

bool is_terminal(int descriptor) {
  return ::isatty(descriptor) == 1;
}

std::optional<std::size_t> terminal_width() {
  winsize size{};
  if (!is_terminal(STDOUT_FILENO) || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
    return std::nullopt;
  return size.ws_col;
}

EndOnSignal::EndOnSignal() {
  end_is_due = 0;
  handle_with(note_signal);
}

EndOnSignal::~EndOnSignal() {
  handle_with(SIG_DFL);
}

bool EndOnSignal::due() {
  return end_is_due != 0;
}

}  // namespace mcpivot
