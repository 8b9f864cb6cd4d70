#include "world/daemon_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <linux/close_range.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/ip/tcp.hpp>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/descriptor.h"
#include "base/is_ready.h"
#include "base/user_folders.h"
#include "base/utf8.h"
#include "log/log.h"
#include "proc/descriptor_limit.h"
#include "proc/end_now.h"
#include "proc/exit_status.h"
#include "server/crash_report.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds stop_patience{5'000};
constexpr milliseconds stop_limit{60'000};
constexpr int listen_check_ms = 200;
constexpr std::size_t output_shown = 64 * 1024;

// Where its lock and its output are kept. Empty: nowhere.
fs::path keeper_folder() {
  const std::string state = state_folder();
  if (state.empty()) return own_temporary_folder();
  std::error_code error;
  const fs::path folder = state;
  if (fs::create_directories(folder, error)) fs::permissions(folder, fs::perms::owner_all, error);
  return folder;
}

// Whether anybody accepts connections there. Only for numeric addresses, so that no name has to be looked up.
bool somebody_listens(const Url& url) {
  namespace ip = boost::asio::ip;
  boost::system::error_code error;
  std::vector<ip::address> addresses{ip::make_address(url.host, error)};
  if (error && url.host != "localhost") return false;
  if (error) addresses = {ip::address_v4::loopback(), ip::address_v6::loopback()};
  for (const ip::address& address : addresses) {
    const ip::tcp::endpoint to(address, url.port);
    const int fd = ::socket(to.protocol().family(), SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (fd < 0) continue;
    bool connected = ::connect(fd, to.data(), static_cast<socklen_t>(to.size())) == 0;
    if (!connected && errno == EINPROGRESS) {
      pollfd wait{fd, POLLOUT, 0};
      int failure = 1;
      socklen_t size = sizeof(failure);
      connected = ::poll(&wait, 1, listen_check_ms) == 1 &&
                  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &failure, &size) == 0 && failure == 0;
    }
    ::close(fd);
    if (connected) return true;
  }
  return false;
}

// Everything the child needs, prepared before the fork: after it, only async-signal-safe calls are allowed.
struct Detached {
  const char* cwd;
  const char* output;
  char* const* argv;
  char* const* environment;
};

[[noreturn]] void become(const Detached& what) {
  ::setsid();
  const int null = ::open("/dev/null", O_RDWR);
  const int out = ::open(what.output, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_NOFOLLOW, 0600);
  ::dup2(null, 0);
  ::dup2(out >= 0 ? out : null, 1);
  ::dup2(out >= 0 ? out : null, 2);
  ::close_range(3, ~0U, 0);
  reset_signals();
  restore_descriptor_limit();
  if (what.cwd == nullptr || ::chdir(what.cwd) == 0) ::execve(what.argv[0], what.argv, what.environment);
  constexpr std::string_view words = "mcpivot: cannot run /bin/sh in that folder\n";
  [[maybe_unused]] const auto written = ::write(2, words.data(), words.size());
  end_now(127);
}

std::string file_of(const Url& url, const char* ending) {
  std::string name = url.authority();
  std::ranges::replace_if(name, [](char c) { return c == '/' || c == '[' || c == ']'; }, '_');
  const fs::path folder = keeper_folder();
  return folder.empty() ? std::string() : (folder / (name + ending)).string();
}

}  // namespace

DaemonProcess::DaemonProcess(boost::asio::io_context& loop, Guard& guard, Timers& timers, ConfigRef config)
    : loop_(loop),
      guard_(guard),
      config_(std::move(config)),
      url_(*parse_url(config_->http.url)),
      output_file_(file_of(url_, ".daemon.log")),
      lock_(file_of(url_, ".lock")),
      pidfd_(loop),
      patience_(timers) {}

bool DaemonProcess::fits(const ServerConfig& config) const {
  const auto url = parse_url(config.http.url);
  return url && url->authority() == url_.authority();
}

DaemonProcess::~DaemonProcess() = default;

bool DaemonProcess::take_lock() {
  const LockFile::Taken taken = lock_.take();
  if (taken == LockFile::Taken::impossible)
    log_warn("{}: cannot create {}: {}; another mcpivot may start the daemon too", config_->name,
             lock_.path().empty() ? "a lock (no folder is yours alone)" : lock_.path(), std::strerror(errno));
  return taken != LockFile::Taken::by_another;
}

void DaemonProcess::start(bool nobody_listens) {
  // A command that fails at once isn't run over and over.
  if (pid_ != 0 || steady_clock::now() - began_ < config_->http.start_after) return;
  if (!take_lock()) {
    log_info("{}: another mcpivot is starting the daemon", config_->name);
    waiting_ = true;
    began_ = steady_clock::now();
    return;
  }
  // Another mcpivot may have started it between our check and our lock.
  if (nobody_listens && somebody_listens(url_)) return lock_.release();
  began_ = steady_clock::now();
  trouble_.clear();
  waiting_ = spawn();
  if (!waiting_) lock_.release();
}

bool DaemonProcess::spawn() {
  std::vector<std::string> words{"/bin/sh", "-c", config_->http.start};
  std::vector<std::string> variables = environment_of(config_->command);
  const auto argv = exec_pointers(words);
  const auto environment = exec_pointers(variables);
  const Detached what{.cwd = config_->command.cwd.empty() ? nullptr : config_->command.cwd.c_str(),
                      .output = output_file_.c_str(),
                      .argv = argv.data(),
                      .environment = environment.data()};
  const pid_t pid = ::fork();
  if (pid == 0) become(what);
  if (pid < 0) {
    trouble_ = fmt::format("--start: cannot fork: {}", std::strerror(errno));
    return false;
  }
  pid_ = pid;
  log_info("{}: started the daemon, pid {}: {}", config_->name, pid, config_->http.start);
  return watch();
}

// Without descriptors, or watches of the kernel's, we wouldn't learn of its end.
bool DaemonProcess::watch() {
  Descriptor pidfd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  boost::system::error_code error(errno, boost::system::system_category());
  if (pidfd.get() >= 0) pidfd_.assign(pidfd.get(), error);
  if (error) {
    const pid_t pid = std::exchange(pid_, 0);
    ::kill(-pid, SIGKILL);
    ::kill(pid, SIGKILL);  // if it doesn't lead its group yet
    ::waitpid(pid, nullptr, 0);
    trouble_ = fmt::format("--start: cannot watch what it started: {}", error.message());
    return false;
  }
  pidfd.release();
  wait_for_exit();
  return true;
}

void DaemonProcess::wait_for_exit() {
  pidfd_.async_wait(pidfd_.wait_read,
                    [this, here = std::weak_ptr(here_)](const boost::system::error_code& error) {
                      if (error || here.expired()) return;
                      is_ready(pidfd_, pidfd_.wait_read) ? on_exit() : wait_for_exit();
                    });
}

void DaemonProcess::on_exit() {
  int status = 0;
  ::waitpid(pid_, &status, 0);
  pidfd_.close();
  const ExitStatus exit = ExitStatus::from_wait(status);
  const pid_t pid = std::exchange(pid_, 0);
  log_info("{}: --start (pid {}) {}", config_->name, pid, exit.text());
  // Exit code 0 means that it has left a daemon running in the background, which may still be starting.
  const bool failed = exit.signal != 0 || exit.code != 0;
  if (waiting_ && failed) {
    waiting_ = false;
    lock_.release();
    const std::string said = output(10);
    trouble_ = fmt::format("--start {}{}{}", exit.text(), said.empty() ? "" : ":\n", said);
  }
  patience_.cancel();
  if (on_stopped_)
    std::exchange(on_stopped_, nullptr)(
        true, fmt::format("the daemon that mcpivot had started (pid {}) {}", pid, exit.text()));
}

bool DaemonProcess::starting() const {
  return waiting_ && steady_clock::now() - began_ < config_->start_timeout;
}

void DaemonProcess::arrived() {
  waiting_ = false;
  trouble_.clear();
  lock_.release();
}

std::string DaemonProcess::trouble() const {
  if (!waiting_ || starting()) return trouble_;
  return fmt::format("--start was run {} ago, and the daemon still doesn't answer{}",
                     duration_text(std::chrono::duration_cast<milliseconds>(steady_clock::now() - began_)),
                     output_file_.empty() ? std::string() : "; its output is in " + output_file_);
}

void DaemonProcess::stop(OnStopped on_stopped) {
  arrived();
  began_ = {};
  if (!config_->http.stop.empty()) {
    log_info("{}: stopping the daemon: {}", config_->name, config_->http.stop);
    stopper_ = std::make_shared<BuildRunner>(
        loop_, guard_,
        BuildRunner::Handlers{
            .on_line = {}, .on_done = [this, on_stopped](const BuildRunner::Result& result) {
              const auto keep = std::exchange(stopper_, nullptr);
              on_stopped(result.ok, fmt::format("--stop ({}) {}{}{}", config_->http.stop, result.how,
                                                result.output.empty() ? "" : ": ", result.output));
            }});
    return stopper_->start(config_->http.stop, config_->command, stop_limit);
  }
  if (pid_ == 0) return on_stopped(false, "mcpivot did not start it, so it doesn't stop it");
  on_stopped_ = std::move(on_stopped);
  ::kill(-pid_, SIGTERM);  // it leads a session, and so a group, of its own
  patience_.set(stop_patience, [this] {
    if (pid_ != 0) ::kill(-pid_, SIGKILL);
  });
}

std::string DaemonProcess::output(std::size_t lines) const {
  std::ifstream file(output_file_, std::ios::binary | std::ios::ate);
  const auto size = static_cast<std::size_t>(std::max<std::streamoff>(file.tellg(), 0));
  const std::size_t taken = std::min(size, output_shown);
  std::string text(taken, '\0');
  file.seekg(static_cast<std::streamoff>(size - taken));
  file.read(text.data(), static_cast<std::streamsize>(taken));
  while (text.ends_with('\n')) text.pop_back();
  std::size_t from = text.size();
  for (std::size_t i = 0; i < lines && from != std::string::npos && from > 0; ++i)
    from = text.rfind('\n', from - 1);
  return as_utf8(from == std::string::npos || from == 0 ? text : text.substr(from + 1));
}

}  // namespace mcpivot
