// The child process: spawned with three pipes, served by poll.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <map>
#include <stdexcept>

#include "harness.h"

namespace harness {
namespace {

struct Pipe {
  int read = -1;
  int write = -1;
};

[[noreturn]] void fail(const std::string& what, int error = errno) {
  throw std::runtime_error(what + ": " + std::strerror(error));
}

Pipe make_pipe() {
  std::array<int, 2> fds{};
  if (pipe2(fds.data(), O_CLOEXEC) != 0) fail("pipe2");
  return {fds[0], fds[1]};
}

// Only of our end: the child's is another open file.
void make_non_blocking(int fd) {
  fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
}

void close_fd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

std::vector<std::string> environment_with(const Environment& added) {
  std::map<std::string, std::string> entries;  // by their names
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    entries[text.substr(0, text.find('='))] = text;
  }
  for (const auto& [name, value] : added) entries[name] = std::string(name).append("=").append(value);
  std::vector<std::string> all;
  all.reserve(entries.size());
  for (const auto& [name, entry] : entries) all.push_back(entry);
  return all;
}

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  for (std::string& string : strings) all.push_back(string.data());
  all.push_back(nullptr);
  return all;
}

pid_t spawn(std::vector<std::string> command, const Environment& added,
            const std::filesystem::path& directory, const std::array<int, 3>& stdio) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int fd = 0; fd < 3; ++fd)
    posix_spawn_file_actions_adddup2(&actions, stdio[static_cast<std::size_t>(fd)], fd);
  if (!directory.empty()) posix_spawn_file_actions_addchdir_np(&actions, directory.c_str());

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF);
  sigset_t defaults;
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);  // which is ignored here
  posix_spawnattr_setsigdefault(&attributes, &defaults);

  std::vector<std::string> environment = environment_with(added);
  pid_t pid = -1;
  const int error = posix_spawnp(&pid, command.front().c_str(), &actions, &attributes,
                                 pointers(command).data(), pointers(environment).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) fail("cannot run " + command.front(), error);
  return pid;
}

int poll_timeout(Deadline deadline) {
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, 60'000));
}

}  // namespace

Child::Child(const std::vector<std::string>& command, const Environment& added,
             const std::filesystem::path& directory, const Stdio& given) {
  ::signal(SIGPIPE, SIG_IGN);
  Pipe in = given.in < 0 ? make_pipe() : Pipe{};
  Pipe out = given.out < 0 ? make_pipe() : Pipe{};
  Pipe err = given.err < 0 ? make_pipe() : Pipe{};
  pid_ = spawn(command, added, directory,
               {std::max(in.read, given.in), std::max(out.write, given.out), std::max(err.write, given.err)});
  close_fd(in.read);
  close_fd(out.write);
  close_fd(err.write);
  stdin_ = in.write;
  stdout_ = out.read;
  stderr_fd_ = err.read;
  for (const int fd : {stdin_, stdout_, stderr_fd_})
    if (fd >= 0) make_non_blocking(fd);
  pidfd_ = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (pidfd_ < 0) fail("pidfd_open");
}

Child::~Child() {
  const std::vector<pid_t> others = status_ ? std::vector<pid_t>{} : descendants_of(pid_);
  if (!status_) {
    if (counts_lines()) {
      kill(pid_, SIGTERM);
      wait_exit(std::chrono::steady_clock::now() + std::chrono::seconds(2));
    }
    kill(-pid_, SIGKILL);
    take_status(true);
  }
  for (const pid_t other : others) kill(other, SIGKILL);
  for (int* fd : {&stdin_, &stdout_, &stderr_fd_, &pidfd_}) close_fd(*fd);
}

void Child::take_status(bool block) {
  int status = 0;
  if (!status_ && waitpid(pid_, &status, block ? 0 : WNOHANG) == pid_) status_ = status;
}

void Child::write_some() {
  const ssize_t wrote = write(stdin_, unsent_.data() + sent_, unsent_.size() - sent_);
  if (wrote >= 0) {
    sent_ += static_cast<std::size_t>(wrote);
    if (sent_ == unsent_.size()) {
      unsent_.clear();
      sent_ = 0;
    }
  } else if (errno != EAGAIN && errno != EINTR) {
    close_fd(stdin_);  // nobody is reading there anymore
  }
  if (unsent_.empty() && close_when_sent_) close_fd(stdin_);
}

// False at the end, after closing the descriptor.
bool Child::read_some(int& fd, std::string& into) {
  std::array<char, 65536> chunk{};
  const ssize_t got = read(fd, chunk.data(), chunk.size());
  if (got > 0) into.append(chunk.data(), static_cast<std::size_t>(got));
  if (got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR))) return true;
  close_fd(fd);
  return false;
}

bool Child::pump(Deadline deadline) {
  std::array<pollfd, 4> fds = {{{unsent_.empty() ? -1 : stdin_, POLLOUT, 0},
                                {paused_ ? -1 : stdout_, POLLIN, 0},
                                {stderr_fd_, POLLIN, 0},
                                {status_ ? -1 : pidfd_, POLLIN, 0}}};
  const int ready = poll(fds.data(), fds.size(), poll_timeout(deadline));
  if (ready <= 0) return ready < 0 && errno == EINTR;
  if (fds[0].revents != 0) write_some();
  if (fds[1].revents != 0) read_some(stdout_, received_);
  if (fds[2].revents != 0) read_some(stderr_fd_, stderr_);
  if (fds[3].revents != 0) take_status(false);
  return true;
}

bool Child::pump_until(Deadline deadline, const std::function<bool()>& done) {
  while (!done())
    if (!pump(deadline)) return done();
  return true;
}

bool Child::offer(std::string_view bytes, Deadline deadline) {
  unsent_ += bytes;
  return pump_until(deadline, [this] { return unsent_.empty() || stdin_ < 0; }) && unsent_.empty();
}

void Child::send_raw(std::string_view bytes) {
  if (!offer(bytes, soon()))
    throw std::runtime_error("the child does not read its stdin; its stderr says:\n" + stderr_);
}

void Child::send_line(std::string_view line) {
  send_raw(std::string(line) + "\n");
}

void Child::close_stdin() {
  if (unsent_.empty()) close_fd(stdin_);
  close_when_sent_ = true;
}

std::optional<std::string> Child::read_line(Deadline deadline) {
  std::size_t end = std::string::npos;
  pump_until(deadline, [&] {
    end = received_.find('\n', searched_);
    searched_ = std::min(end, received_.size());
    return end != std::string::npos || stdout_ < 0;
  });
  if (end == std::string::npos) return std::nullopt;
  std::string line = received_.substr(taken_, end - taken_);
  taken_ = searched_ = end + 1;
  if (taken_ == received_.size() || taken_ > (1 << 20)) {  // or it would keep everything that ever arrived
    received_.erase(0, taken_);
    taken_ = searched_ = 0;
  }
  return line;
}

bool Child::wait_end(Deadline deadline) {
  pump_until(deadline, [this] { return stdout_ < 0 || received_.size() > taken_; });
  return stdout_ < 0 && received_.size() == taken_;
}

void Child::signal(int number) const {
  kill(pid_, number);
}

std::optional<int> Child::wait_exit(Deadline deadline) {
  pump_until(deadline, [this] { return status_.has_value(); });
  return status_;
}

bool Child::wait_stderr(std::string_view part, Deadline deadline) {
  const auto said = [&] { return stderr_.find(part) != std::string::npos; };
  pump_until(deadline, [&] { return said() || stderr_fd_ < 0; });
  return said();
}

bool Child::wait_stderr_end(Deadline deadline) {
  return pump_until(deadline, [this] { return stderr_fd_ < 0; });
}

Outcome run_to_end(const Strings& command, const Environment& added, const std::filesystem::path& directory,
                   std::chrono::milliseconds patience) {
  Child child(command, added, directory);
  child.close_stdin();
  Outcome result;
  result.pid = child.pid();
  while (const auto line = child.read_line(in(patience))) result.out += *line + "\n";
  if (const auto status = child.wait_exit(in(patience)); status && WIFEXITED(*status))
    result.exit_code = WEXITSTATUS(*status);
  child.wait_stderr_end(in(patience));
  result.err = child.stderr_text();
  return result;
}

}  // namespace harness
