#include "proc/process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "base/is_ready.h"
#include "proc/descriptor_limit.h"
#include "proc/end_now.h"

namespace mcpivot {
namespace {

// What went wrong in the child before the program ran.
struct ExecFailure {
  enum Step : int { chdir, exec } step;
  int error;
};

struct ChildSide {
  int stdin_end, stdout_end, stderr_end;  // what becomes its 0, 1 and 2
  int go;                                 // readable once our parent has registered us with the guard
  int failure;                            // closes by itself when exec succeeds
  const char* cwd;
  const char* program;
  char** argv;
  char** environment;
};

// The child between fork and exec: only async-signal-safe calls.
[[noreturn]] void become(const ChildSide& side) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  // If mcpivot is already gone, this byte is never written, and the program isn't needed.
  char byte = 0;
  if (::read(side.go, &byte, 1) != 1) end_now(127);
  ::dup2(side.stdin_end, 0);
  ::dup2(side.stdout_end, 1);
  ::dup2(side.stderr_end, 2);
  const int failure = ::fcntl(side.failure, F_DUPFD_CLOEXEC, 3);
  ::close_range(3, static_cast<unsigned>(failure) - 1, 0);
  ::close_range(static_cast<unsigned>(failure) + 1, ~0U, 0);
  reset_signals();
  restore_descriptor_limit();

  ExecFailure report{ExecFailure::chdir, 0};
  if (side.cwd == nullptr || ::chdir(side.cwd) == 0) {
    report.step = ExecFailure::exec;
    ::execve(side.program, side.argv, side.environment);
  }
  report.error = errno;
  [[maybe_unused]] const auto written = ::write(failure, &report, sizeof(report));
  end_now(127);
}

struct Pipe {
  int read_end = -1;
  int write_end = -1;
  bool open() {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return false;
    read_end = ends[0];
    write_end = ends[1];
    return true;
  }
  static void close(int& end) {
    if (end >= 0) ::close(end);
    end = -1;
  }
  ~Pipe() {
    close(read_end);
    close(write_end);
  }
};

std::string describe(const ExecFailure& failure, const Command& command) {
  const std::string why = std::strerror(failure.error);
  if (failure.step == ExecFailure::chdir) return "cannot start in the folder '" + command.cwd + "': " + why;
  std::string text = "cannot start '" + command.argv[0] + "': " + why;
  if (failure.error == ENOEXEC) text += " (a script needs a first line like #!/bin/sh)";
  return text;
}

}  // namespace

// Without const, as exec wants them.
std::vector<char*> exec_pointers(std::vector<std::string>& strings) {
  std::vector<char*> result;
  result.reserve(strings.size() + 1);
  for (std::string& text : strings) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

void reset_signals() {
  for (int signal = 1; signal < NSIG; ++signal) ::signal(signal, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
}

std::expected<std::shared_ptr<Process>, std::string> Process::spawn(boost::asio::io_context& loop,
                                                                    Guard& guard, const Command& command) {
  std::vector<std::string> environment = environment_of(command);
  const auto program = find_program(command);
  if (!program) return std::unexpected(program.error());
  std::vector<std::string> argv = command.argv;
  const auto argv_pointers = exec_pointers(argv);
  const auto variable_pointers = exec_pointers(environment);

  Pipe in, out, err, go, failure;
  for (Pipe* pipe : {&in, &out, &err, &go, &failure})
    if (!pipe->open()) return std::unexpected(std::string("cannot create a pipe: ") + std::strerror(errno));
  const ChildSide side{.stdin_end = in.read_end,
                       .stdout_end = out.write_end,
                       .stderr_end = err.write_end,
                       .go = go.read_end,
                       .failure = failure.write_end,
                       .cwd = command.cwd.empty() ? nullptr : command.cwd.c_str(),
                       .program = program->c_str(),
                       .argv = const_cast<char**>(argv_pointers.data()),
                       .environment = const_cast<char**>(variable_pointers.data())};
  const pid_t pid = ::fork();
  if (pid < 0) return std::unexpected(std::string("cannot fork: ") + std::strerror(errno));
  if (pid == 0) {
    Pipe::close(go.write_end);
    become(side);
  }

  ::setpgid(pid, pid);  // the child does the same, whichever runs first
  guard.watch(pid);
  Pipe::close(failure.write_end);
  [[maybe_unused]] const auto written = ::write(go.write_end, "", 1);
  ExecFailure report{};
  ssize_t got = 0;
  while ((got = ::read(failure.read_end, &report, sizeof(report))) < 0 && errno == EINTR) {
  }
  if (got == sizeof(report)) {
    ::waitpid(pid, nullptr, 0);
    guard.forget(pid);
    return std::unexpected(describe(report, command));
  }
  // From here on, it is killed if we can't keep it.
  std::shared_ptr<Process> process(
      new Process(loop, guard, pid,
                  {Descriptor(std::exchange(in.write_end, -1)), Descriptor(std::exchange(out.read_end, -1)),
                   Descriptor(std::exchange(err.read_end, -1))}));
  if (const auto watched = process->watch_end(); !watched)
    return std::unexpected("cannot watch the new process: " + watched.error());
  return process;
}

Process::Process(boost::asio::io_context& loop, Guard& guard, pid_t pid, Pipes pipes)
    : guard_(guard), pid_(pid), pipes_(std::move(pipes)), pidfd_(loop), timer_(loop) {}

Process::~Process() {
  if (running_) kill_now();
}

// Without descriptors, or watches of the kernel's, we wouldn't learn of its end.
std::expected<void, std::string> Process::watch_end() {
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (pidfd.get() < 0) return std::unexpected(std::strerror(errno));
  boost::system::error_code error;
  pidfd_.assign(pidfd.get(), error);
  if (error) return std::unexpected(error.message());
  pidfd.release();
  watch();
  return {};
}

void Process::watch() {
  constexpr auto pidfd_wait = boost::asio::posix::stream_descriptor::wait_read;
  pidfd_.async_wait(pidfd_wait, [weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self || !self->running_) return;
    if (!is_ready(self->pidfd_, pidfd_wait)) return self->watch();
    self->reap();
  });
}

void Process::reap() {
  // Until the leader is reaped, its pid can't be reused, so the group is certainly ours.
  ::kill(-pid_, SIGKILL);
  int status = 0;
  ::waitpid(pid_, &status, 0);
  running_ = false;
  guard_.forget(pid_);
  timer_.cancel();
  if (on_exit_) on_exit_(ExitStatus::from_wait(status));
}

void Process::end(std::chrono::milliseconds patience) {
  timer_.expires_after(patience);
  timer_.async_wait([weak = weak_from_this(), patience](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (!error && self) self->terminate(patience);
  });
}

void Process::terminate(std::chrono::milliseconds patience) {
  if (!running_) return;
  signal_group(SIGTERM);
  timer_.expires_after(patience);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (!error && self && self->running_) self->signal_group(SIGKILL);
  });
}

void Process::kill_now() {
  if (!running_) return;
  signal_group(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  running_ = false;
  guard_.forget(pid_);
}

void Process::signal_group(int signal) {
  signalled_ = true;
  ::kill(-pid_, signal);
}

}  // namespace mcpivot
