// Starting, measuring and ending.
#include "process_tree.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "host/process_table.h"

namespace {

namespace fs = std::filesystem;
constexpr int farewell_ms = 300;

void wait_for_end(pid_t pid, int milliseconds) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return;
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  poll(&ended, 1, milliseconds);
  close(pidfd);
}

// An adopted orphan that has ended stays a zombie until it is waited for.
void bury_orphans(const std::vector<pid_t>& pids) {
  for (const pid_t pid : pids) waitpid(pid, nullptr, WNOHANG);
}

}  // namespace

void adopt_orphans() {
  prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
  signal(SIGPIPE, SIG_IGN);
}

ProcessTree::ProcessTree(const std::vector<std::string>& command, Ends ends) {
  int in[2] = {-1, -1};
  int out[2] = {-1, -1};
  if (ends == Ends::pipes && (pipe2(in, O_CLOEXEC) != 0 || pipe2(out, O_CLOEXEC) != 0))
    throw Failure(std::string("no pipe: ") + std::strerror(errno));
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  if (ends == Ends::pipes) {
    posix_spawn_file_actions_adddup2(&actions, in[0], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, out[1], STDOUT_FILENO);
  } else {
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, "/dev/null", O_WRONLY, 0);
  }
  const char* log = std::getenv("BENCH_STDERR");
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, log == nullptr ? "/dev/null" : log,
                                   O_WRONLY | O_CREAT | O_APPEND, 0600);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETPGROUP);
  const int problem = posix_spawnp(&pid_, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (ends == Ends::pipes) {
    close(in[0]);
    close(out[1]);
    to_ = in[1];
    from_ = out[0];
    fcntl(to_, F_SETFL, O_NONBLOCK);
    fcntl(from_, F_SETFL, O_NONBLOCK);
  }
  if (problem == 0) return;
  close(to_);
  close(from_);
  throw Failure("cannot start " + command[0] + ": " + std::strerror(problem));
}

ProcessTree::~ProcessTree() {
  std::vector<pid_t> below = host::descendants_of(pid_);
  if (to_ >= 0) close(to_);
  if (running()) {
    kill(pid_, SIGTERM);
    wait_for_end(pid_, farewell_ms);
  }
  for (const pid_t pid : host::descendants_of(pid_)) below.push_back(pid);
  if (running()) kill_alone();
  kill(-pid_, SIGKILL);
  for (const pid_t pid : below) kill(pid, SIGKILL);
  for (const pid_t pid : below) wait_for_end(pid, farewell_ms);
  bury_orphans(below);
  if (from_ >= 0) close(from_);
}

bool ProcessTree::running() {
  if (!reaped_) reaped_ = waitpid(pid_, nullptr, WNOHANG) == pid_;
  return !reaped_;
}

void ProcessTree::kill_alone() {
  if (reaped_) return;
  kill(pid_, SIGKILL);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  reaped_ = true;
}

std::vector<pid_t> running_program(const std::vector<pid_t>& pids, const fs::path& program) {
  std::vector<pid_t> found;
  std::ranges::copy_if(pids, std::back_inserter(found),
                       [&](pid_t pid) { return host::runs_program(pid, program); });
  return found;
}

double tree_megabytes(pid_t pid, const fs::path& server) {
  std::vector<pid_t> all = host::descendants_of(pid);
  all.push_back(pid);
  double kilobytes = 0;
  for (const pid_t one : all) {
    if (host::runs_program(one, server)) continue;
    std::ifstream rollup(fmt::format("/proc/{}/smaps_rollup", one));
    for (std::string word; rollup >> word;)
      if (double value = 0; word == "Pss:" && rollup >> value) kilobytes += value;
  }
  return kilobytes * 1024 / 1e6;
}
