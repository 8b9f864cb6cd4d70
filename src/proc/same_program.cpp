#include "proc/same_program.h"

#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <list>
#include <memory>
#include <set>

#include "base/descriptor.h"
#include "base/is_ready.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

pid_t parent_of(pid_t pid) {
  std::ifstream status("/proc/" + std::to_string(pid) + "/status");
  for (std::string word; status >> word;)
    if (word == "PPid:" && status >> word) return static_cast<pid_t>(std::strtol(word.c_str(), nullptr, 10));
  return 0;
}

// Us and our ancestors.
std::set<pid_t> our_line() {
  std::set<pid_t> line;
  for (pid_t pid = ::getpid(); pid > 1 && line.insert(pid).second;) pid = parent_of(pid);
  return line;
}

bool runs(pid_t pid, dev_t device, ino_t inode) {
  const std::string folder = "/proc/" + std::to_string(pid);
  struct stat owner{};
  struct stat program{};
  return ::stat(folder.c_str(), &owner) == 0 && owner.st_uid == ::geteuid() &&
         ::stat((folder + "/exe").c_str(), &program) == 0 && program.st_dev == device &&
         program.st_ino == inode;
}

std::vector<pid_t> processes_running(dev_t device, ino_t inode) {
  const std::set<pid_t> spared = our_line();
  std::vector<pid_t> found;
  std::error_code error;
  for (fs::directory_iterator entry("/proc", error), end; !error && entry != end; entry.increment(error)) {
    const std::string name = entry->path().filename();
    pid_t pid = 0;
    const auto [rest, failed] = std::from_chars(name.data(), name.data() + name.size(), pid);
    if (failed != std::errc() || *rest != 0 || spared.contains(pid)) continue;
    if (runs(pid, device, inode)) found.push_back(pid);
  }
  return found;
}

// The ending of several processes, while it is under way.
struct Ending : std::enable_shared_from_this<Ending> {
  struct Victim {
    pid_t pid;
    boost::asio::posix::stream_descriptor handle;  // a pidfd: can't be mistaken for another process
  };
  explicit Ending(boost::asio::io_context& loop) : timer(loop) {}

  boost::asio::steady_timer timer;
  std::list<Victim> alive;
  std::vector<pid_t> ended;
  std::function<void(std::vector<pid_t>)> done;

  void signal_all(int signal) {
    for (Victim& victim : alive)
      ::syscall(SYS_pidfd_send_signal, victim.handle.native_handle(), signal, nullptr, 0);
  }

  void start(std::chrono::milliseconds patience) {
    for (auto victim = alive.begin(); victim != alive.end(); ++victim) wait_for(victim);
    signal_all(SIGTERM);
    timer.expires_after(patience);
    timer.async_wait([self = shared_from_this(), patience](const auto& error) {
      if (error || self->alive.empty()) return;
      self->signal_all(SIGKILL);
      // One that can't die now (it sleeps in the kernel) must not hold us up.
      self->timer.expires_after(patience);
      self->timer.async_wait([self](const auto& failed) {
        if (!failed) self->finish();
      });
    });
  }

  void wait_for(std::list<Victim>::iterator victim) {
    victim->handle.async_wait(victim->handle.wait_read,
                              [self = shared_from_this(), victim](const auto& error) {
                                if (error || !self->done) return;
                                if (!is_ready(victim->handle, victim->handle.wait_read))
                                  return self->wait_for(victim);
                                self->ended.push_back(victim->pid);
                                self->alive.erase(victim);
                                if (self->alive.empty()) self->finish();
                              });
  }

  void finish() {
    timer.cancel();
    alive.clear();
    if (auto then = std::exchange(done, nullptr)) then(std::move(ended));
  }
};

}  // namespace

void end_processes_running(boost::asio::io_context& loop, dev_t device, ino_t inode,
                           std::chrono::milliseconds patience, std::function<void(std::vector<pid_t>)> done) {
  auto ending = std::make_shared<Ending>(loop);
  for (const pid_t pid : processes_running(device, inode)) {
    Descriptor handle(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0)));
    if (handle.get() < 0) continue;
    boost::asio::posix::stream_descriptor watched(loop);
    boost::system::error_code refused;
    watched.assign(handle.get(), refused);
    if (refused) continue;
    handle.release();
    ending->alive.push_back({pid, std::move(watched)});
    if (!runs(pid, device, inode)) ending->alive.pop_back();  // the pid has been reused in the meantime
  }
  if (ending->alive.empty()) return boost::asio::post(loop, [done = std::move(done)] { done({}); });
  ending->done = std::move(done);
  ending->start(patience);
}

}  // namespace mcpivot
