#include "terminal.h"

#include <fcntl.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <stdexcept>

namespace harness {

Terminal::Terminal(const std::vector<std::string>& command, const TerminalOptions& options) {
  winsize size{};
  size.ws_col = options.columns;
  size.ws_row = 30;
  pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
  if (pid_ < 0) throw std::runtime_error("no pseudo-terminal");
  if (pid_ == 0) {
    if (!options.directory.empty() && ::chdir(options.directory.c_str()) != 0) ::_exit(126);
    for (const char* name : {"NO_COLOR", "LC_ALL", "LC_CTYPE", "LANG"}) ::unsetenv(name);
    ::setenv("TERM", "xterm-256color", 1);
    for (const auto& [name, value] : options.environment) ::setenv(name.c_str(), value.c_str(), 1);
    std::vector<char*> arguments;
    for (const std::string& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    ::execv(arguments[0], arguments.data());
    ::_exit(127);
  }
  ::fcntl(master_, F_SETFL, O_NONBLOCK);
}

Terminal::~Terminal() {
  if (!status_) {
    ::kill(-pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  ::close(master_);
}

void Terminal::press(std::string_view keys) {
  if (::write(master_, keys.data(), keys.size()) != static_cast<ssize_t>(keys.size()))
    throw std::runtime_error("the terminal takes no keys");
}

// One look at what it shows; false at its end or the deadline.
bool Terminal::pump(Deadline deadline) {
  const auto left =
      std::chrono::duration_cast<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
  pollfd look{master_, POLLIN, 0};
  if (left.count() <= 0 || ::poll(&look, 1, static_cast<int>(left.count())) <= 0) return false;
  char piece[4096];
  const ssize_t count = ::read(master_, piece, sizeof(piece));
  if (count <= 0) return count < 0 && errno == EAGAIN;  // EIO: nobody is there anymore
  shown_.append(piece, static_cast<std::size_t>(count));
  return true;
}

bool Terminal::wait_shown(std::string_view part, int times, Deadline deadline) {
  auto count = [&] {
    int found = 0;
    for (auto at = shown_.find(part); at != std::string::npos; at = shown_.find(part, at + 1)) ++found;
    return found;
  };
  while (count() < times)
    if (!pump(deadline)) return count() >= times;
  return true;
}

std::optional<int> Terminal::wait_exit(Deadline deadline) {
  while (pump(deadline)) {
  }
  wait_until(
      [&] {
        int status = 0;
        if (!status_ && ::waitpid(pid_, &status, WNOHANG) == pid_) status_ = status;
        return status_.has_value();
      },
      deadline);
  return status_;
}

std::string Terminal::shown() const {
  std::string text = shown_;
  std::erase(text, '\r');
  return text;
}

termios Terminal::mode() const {
  termios mode{};
  if (::tcgetattr(master_, &mode) != 0) throw std::runtime_error("the terminal has no mode");
  return mode;
}

std::string plain(std::string_view shown) {
  std::string text;
  for (std::size_t i = 0; i < shown.size(); ++i) {
    if (shown[i] != '\033') {
      text += shown[i];
      continue;
    }
    i = std::min(shown.find_first_not_of("[?;0123456789", i + 1), shown.size());
  }
  return text;
}

std::vector<std::string> text_lines(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const auto end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::size_t widest(std::string_view text) {
  std::size_t most = 0;
  for (const std::string& line : text_lines(text))
    most = std::max(most, static_cast<std::size_t>(std::ranges::count_if(line, [](char c) {
                      return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U;
                    })));
  return most;
}

}  // namespace harness
