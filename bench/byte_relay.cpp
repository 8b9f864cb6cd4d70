// The floor of the benchmark: the least that any program between a client and a server must do. It starts
// COMMAND and copies bytes both ways, without looking at them, until COMMAND closes its output; the end of
// our input is passed on to it. One thread, poll(), default pipes, blocking writes: what one writes first.
// (Both directions full at once would block it forever; the benchmark's requests are too small for that.)
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>

namespace {

struct Child {
  pid_t pid = -1;
  int to = -1;
  int from = -1;
};

bool start(char** command, Child& child) {
  int in[2];
  int out[2];
  if (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0) return false;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  errno = posix_spawnp(&child.pid, command[0], &actions, nullptr, command, environ);
  const bool started = errno == 0;
  posix_spawn_file_actions_destroy(&actions);
  close(in[0]);
  close(out[1]);
  child.to = in[1];
  child.from = out[0];
  return started;
}

bool write_all(int fd, const char* data, size_t size) {
  while (size > 0) {
    const ssize_t written = write(fd, data, size);
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    data += written;
    size -= static_cast<size_t>(written);
  }
  return true;
}

// Moves what one read() yields; false once either side has closed.
bool move_some(int from, int to) {
  static char buffer[64 * 1024];
  const ssize_t got = read(from, buffer, sizeof buffer);
  if (got < 0) return errno == EINTR;
  return got > 0 && write_all(to, buffer, static_cast<size_t>(got));
}

void relay(Child& child) {
  pollfd fds[] = {{.fd = STDIN_FILENO, .events = POLLIN, .revents = 0},
                  {.fd = child.from, .events = POLLIN, .revents = 0}};
  for (;;) {
    if (poll(fds, 2, -1) < 0) {
      if (errno == EINTR) continue;
      return;
    }
    if (fds[0].revents != 0 && !move_some(STDIN_FILENO, child.to)) {
      close(child.to);
      fds[0].fd = -1;  // poll() skips it from now on
    }
    if (fds[1].revents != 0 && !move_some(child.from, STDOUT_FILENO)) return;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fputs("usage: byte_relay COMMAND [ARG...]\n", stderr);
    return 2;
  }
  signal(SIGPIPE, SIG_IGN);
  Child child;
  if (!start(argv + 1, child)) {
    std::fprintf(stderr, "byte_relay: cannot start %s: %s\n", argv[1], std::strerror(errno));
    return 1;
  }
  relay(child);
}
