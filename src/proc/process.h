// One child process with pipes to its stdin, stdout and stderr, in a process group of its own, and how to end
// it with everything it started.
//
// The object may be destroyed before the process has ended only after kill_now(). One thread; handlers are
// called from the event loop.
#pragma once

#include <sys/types.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/descriptor.h"
#include "proc/exit_status.h"
#include "proc/guard.h"

namespace mcpivot {

// For code that forks: the argument list for exec, made before the fork, and default signal handling,
// restored after it.
std::vector<char*> exec_pointers(std::vector<std::string>& strings);
void reset_signals();

class Process : public std::enable_shared_from_this<Process> {
 public:
  // Our ends of the child's pipes.
  struct Pipes {
    Descriptor to_stdin;
    Descriptor from_stdout;
    Descriptor from_stderr;
  };
  using OnExit = std::function<void(ExitStatus)>;

  // The error says what couldn't be started, why, and where it was looked for.
  static std::expected<std::shared_ptr<Process>, std::string> spawn(boost::asio::io_context& loop,
                                                                    Guard& guard, const Command& command);
  ~Process();

  pid_t pid() const { return pid_; }
  // They can be taken once.
  Pipes take_pipes() { return std::move(pipes_); }
  std::chrono::steady_clock::time_point started() const { return started_; }
  bool running() const { return running_; }
  // Whether we sent it a signal that ends it.
  bool signalled() const { return signalled_; }

  // Called once, when the process has ended; the rest of its group has been killed by then.
  void on_exit(OnExit handler) { on_exit_ = std::move(handler); }

  // Ends the group politely: its stdin must be closed already; SIGTERM follows after `patience`, SIGKILL
  // after as long again. on_exit() is still called.
  void end(std::chrono::milliseconds patience);
  // The same without waiting first: SIGTERM now, SIGKILL after `patience`.
  void terminate(std::chrono::milliseconds patience);
  // Ends the group at once.
  void kill_now();

 private:
  Process(boost::asio::io_context& loop, Guard& guard, pid_t pid, Pipes pipes);
  std::expected<void, std::string> watch_end();
  void watch();
  void reap();
  void signal_group(int signal);

  Guard& guard_;
  pid_t pid_;
  Pipes pipes_;
  boost::asio::posix::stream_descriptor pidfd_;
  boost::asio::steady_timer timer_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
  OnExit on_exit_;
  bool running_ = true;
  bool signalled_ = false;
};

}  // namespace mcpivot
