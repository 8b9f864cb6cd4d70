// The system calls behind a subject: starting it, its pipes, its end.
#include "subject.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

namespace {

constexpr int patience_seconds = 20;
constexpr int farewell_milliseconds = 2000;
constexpr size_t first_buffer_size = 65'536;

volatile sig_atomic_t deadline_passed = 0;

struct Pipe {
  int read_end = -1;
  int write_end = -1;
};

Pipe make_pipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) throw SubjectError(std::string("no pipe: ") + std::strerror(errno));
  return {.read_end = ends[0], .write_end = ends[1]};
}

// We ignore SIGPIPE; a subject must not inherit that.
void reset_signals(posix_spawnattr_t& attributes) {
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF);
}

// posix_spawn and not fork, whose cost would grow with our own memory and count as the subject's start.
pid_t spawn(const std::vector<std::string>& command, int in, int out) {
  std::vector<char*> argv;
  argv.reserve(command.size() + 1);
  for (const std::string& argument : command) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  reset_signals(attributes);
  pid_t pid = -1;
  const int problem = posix_spawn(&pid, argv[0], &actions, &attributes, argv.data(), environ);
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (problem != 0) throw SubjectError("cannot start " + command[0] + ": " + std::strerror(problem));
  return pid;
}

void check_deadline() {
  if (deadline_passed != 0) throw SubjectError("no answer within " + std::to_string(patience_seconds) + " s");
}

bool ends_by_itself(pid_t pid) {
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (pidfd < 0) return false;
  pollfd ended{.fd = pidfd, .events = POLLIN, .revents = 0};
  int ready = 0;
  do ready = poll(&ended, 1, farewell_milliseconds);
  while (ready < 0 && errno == EINTR && deadline_passed == 0);
  close(pidfd);
  return ready > 0;
}

}  // namespace

Subject::Subject(const std::vector<std::string>& command) : buffer_(first_buffer_size) {
  const Pipe in = make_pipe();
  const Pipe out = make_pipe();
  to_ = in.write_end;
  from_ = out.read_end;
  try {
    pid_ = spawn(command, in.read_end, out.write_end);
  } catch (...) {
    for (const int fd : {in.read_end, in.write_end, out.read_end, out.write_end}) close(fd);
    throw;
  }
  close(in.read_end);
  close(out.write_end);
}

Subject::~Subject() {
  close(to_);
  if (!ends_by_itself(pid_)) kill(pid_, SIGKILL);
  close(from_);
  while (waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void Subject::send(std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(to_, text.data(), text.size());
    if (written < 0 && errno == EINTR) {
      check_deadline();
      continue;
    }
    if (written < 0) throw SubjectError(std::string("it stopped reading: ") + std::strerror(errno));
    text.remove_prefix(static_cast<size_t>(written));
  }
}

bool Subject::readable(std::chrono::steady_clock::time_point deadline) const {
  if (handed_ < filled_) return true;
  const auto left = std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::max(deadline - std::chrono::steady_clock::now(), std::chrono::steady_clock::duration(0)));
  const timespec patience{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
  pollfd input{.fd = from_, .events = POLLIN, .revents = 0};
  return ppoll(&input, 1, &patience, nullptr) > 0;
}

std::string_view Subject::read_line() {
  if (handed_ == filled_) begin_reading();
  size_t newline = std::string_view(buffer_.data(), filled_).find('\n', handed_);
  while (newline == std::string_view::npos) {
    const size_t before = filled_;
    newline = read_more().find('\n');
    if (newline != std::string_view::npos) newline += before;
  }
  const std::string_view line(buffer_.data() + handed_, newline - handed_);
  handed_ = newline + 1;
  return line;
}

void Subject::begin_reading() {
  if (handed_ != filled_) throw SubjectError("it sent something that nobody had asked for");
  handed_ = filled_ = 0;
}

// What one read() yields, which now lies at the end of the buffer.
std::string_view Subject::read_more() {
  if (filled_ + padding >= buffer_.size()) buffer_.resize(2 * buffer_.size());
  ssize_t got = 0;
  while ((got = read(from_, buffer_.data() + filled_, buffer_.size() - padding - filled_)) < 0) {
    if (errno != EINTR) throw SubjectError(std::string("cannot read from it: ") + std::strerror(errno));
    check_deadline();
  }
  if (got == 0) throw SubjectError("it closed its output");
  const std::string_view fresh(buffer_.data() + filled_, static_cast<size_t>(got));
  filled_ += fresh.size();
  return fresh;
}

size_t Subject::count_lines(std::string_view text) {
  size_t lines = 0;
  for (size_t newline = text.find('\n'); newline != std::string_view::npos;
       newline = text.find('\n', newline + 1))
    ++lines;
  return lines;
}

void deadline::install() {
  signal(SIGPIPE, SIG_IGN);
  struct sigaction action{};
  action.sa_handler = [](int) { deadline_passed = 1; };  // no SA_RESTART: read() must return
  sigaction(SIGALRM, &action, nullptr);
}

void deadline::arm() {
  const itimerval timer{.it_interval = {.tv_sec = 1, .tv_usec = 0},
                        .it_value = {.tv_sec = patience_seconds, .tv_usec = 0}};
  deadline_passed = 0;
  setitimer(ITIMER_REAL, &timer, nullptr);
}
