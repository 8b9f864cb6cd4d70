// The basis of end-to-end tests: a child process whose three pipes never deadlock, and a client that speaks
// JSON-RPC through mcpivot. Errors are thrown, and so fail the test with what the child wrote to
// stderr. One thread.
#pragma once

#include <sys/types.h>

#include <boost/json.hpp>
#include <chrono>
#include <deque>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "host/free_port.h"
#include "host/process_table.h"
#include "host/temporary_directory.h"
#include "this_build.h"

namespace harness {

using namespace host;

using Deadline = std::chrono::steady_clock::time_point;

// From now; longer if a sanitizer slows everything down.
Deadline in(std::chrono::milliseconds time);
// Long enough for anything that should happen at once.
Deadline soon();
// Long enough for moving hundreds of megabytes.
Deadline in_a_while();

using Strings = std::vector<std::string>;
using Environment = std::vector<std::pair<std::string, std::string>>;

// Descriptors to take the place of the pipes to a child; they stay the caller's. -1: a pipe after all.
struct Stdio {
  int in = -1;
  int out = -1;
  int err = -1;
};

// A process in its own process group. While one of its functions waits, all of its pipes are served.
// The destructor kills it, its group and all of its descendants.
class Child {
 public:
  explicit Child(const std::vector<std::string>& command, const Environment& added = {},
                 const std::filesystem::path& directory = {}, const Stdio& given = {});
  ~Child();
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  pid_t pid() const { return pid_; }
  void send_line(std::string_view line);  // adds the newline
  void send_raw(std::string_view bytes);  // throws if they are not accepted soon
  // For a child that doesn't read: queues the bytes, and says whether all were accepted by then.
  bool offer(std::string_view bytes, Deadline deadline);
  std::size_t unsent() const { return unsent_.size() - sent_; }
  void close_stdin();
  // Stops reading stdout, so that the child faces a reader that doesn't read; or resumes.
  void pause_reading(bool paused) { paused_ = paused; }
  // The next line without its newline; nothing at the deadline or the end of stdout.
  std::optional<std::string> read_line(Deadline deadline);
  // The end of stdout. False at the deadline, or if a line arrived first, which read_line then returns.
  bool wait_end(Deadline deadline);
  void signal(int number) const;
  // The status as waitpid returns it, and nothing at the deadline.
  std::optional<int> wait_exit(Deadline deadline);
  const std::string& stderr_text() const { return stderr_; }
  bool wait_stderr(std::string_view part, Deadline deadline);  // until it has printed that
  bool wait_stderr_end(Deadline deadline);

 private:
  bool pump(Deadline deadline);  // one poll; false at the deadline
  bool pump_until(Deadline deadline, const std::function<bool()>& done);
  void write_some();
  static bool read_some(int& fd, std::string& into);
  void take_status(bool block);

  pid_t pid_ = -1;
  int pidfd_ = -1;
  int stdin_ = -1;
  int stdout_ = -1;
  int stderr_fd_ = -1;
  bool paused_ = false;
  bool close_when_sent_ = false;
  std::string unsent_;
  std::size_t sent_ = 0;  // how much of unsent_ has already been sent
  std::string received_;
  std::size_t taken_ = 0;     // how much of received_ was returned
  std::size_t searched_ = 0;  // how much of it is known to have no newline
  std::string stderr_;
  std::optional<int> status_;
};

// How a program ended, and everything that it printed.
struct Outcome {
  pid_t pid = -1;      // which it had
  int exit_code = -1;  // -1: a signal ended it, or it is still running
  std::string out;
  std::string err;
};

// Runs it to its end, with an empty stdin.
Outcome run_to_end(const Strings& command, const Environment& added = {},
                   const std::filesystem::path& directory = {},
                   std::chrono::milliseconds patience = std::chrono::seconds(5));
// Runs `mcpivot ARGUMENTS` in this directory, which is also the home of all XDG folders.
Outcome run_mcpivot(const Strings& arguments, const std::filesystem::path& directory,
                    const Environment& added = {});

struct ClientOptions {
  // Initialised so that g++ lets designated initialisers leave some out.
  // NOLINTBEGIN(readability-redundant-member-init)
  std::vector<std::string> options = {};  // of mcpivot
  std::vector<std::string> server = {};   // of the fake server
  std::vector<std::string> command = {};  // instead of the fake server
  std::string tools_from = {};            // a CLI instead of any server
  std::string config = {};                // a configuration file; ${FAKE} is the fake server
  Environment environment = {};
  // NOLINTEND(readability-redundant-member-init)
  bool direct = false;  // without mcpivot in between
  // The fake server is a separate copy: stopping it ends all who run its program, other tests' servers too.
  bool own_program = false;
};

// An MCP client in front of `mcpivot OPTIONS -- fake_server ARGUMENTS`, in a temporary directory that is also
// the home of all XDG folders. Notifications and requests that arrive while it waits for something else are
// kept.
class Client {
 public:
  explicit Client(const ClientOptions& options = {});

  Child& child() { return child_; }
  const std::filesystem::path& directory() const { return directory_.path(); }

  // The handshake of a client with all capabilities; the answer to `initialize`.
  boost::json::object initialize(std::string_view version = "2025-06-18");
  // Sends and returns the id; `await` gets the answer, which has `result` or `error`.
  std::int64_t send(std::string_view method, const boost::json::value& params = nullptr);
  boost::json::object await(const boost::json::value& id, Deadline deadline = soon());
  boost::json::object request(std::string_view method, const boost::json::value& params = nullptr,
                              Deadline deadline = soon());
  std::int64_t send_call(std::string_view tool, const boost::json::object& arguments = {});
  boost::json::object call(std::string_view tool, const boost::json::object& arguments = {},
                           Deadline deadline = soon());
  // The text of a call's answer: its first content block. Throws if the answer is an error.
  std::string call_text(std::string_view tool, const boost::json::object& arguments = {});
  void notify(std::string_view method, const boost::json::value& params = nullptr);

  // The next one of that method, whether kept or new.
  boost::json::object expect_notification(std::string_view method, Deadline deadline = soon());
  boost::json::object expect_request(std::string_view method, Deadline deadline = soon());
  void answer(const boost::json::object& request, const boost::json::value& result);
  void refuse(const boost::json::object& request, int code, std::string_view message);

  // What each request says about its client from now on, in `params._meta`: it is a modern one (2026-07-28),
  // and needs no handshake.
  std::optional<boost::json::object> meta;

  // Takes one message of any kind and keeps it; false at the deadline or the end.
  bool receive(Deadline deadline);
  std::deque<boost::json::object> notifications;
  std::deque<boost::json::object> requests;
  std::deque<boost::json::object> answers;

 private:
  boost::json::object expect(std::deque<boost::json::object>& in, std::string_view method, Deadline deadline);
  [[noreturn]] void give_up(const std::string& what) const;

  TemporaryDirectory directory_;
  Child child_;
  std::int64_t next_id_ = 1;
};

// The first text in a tool's answer; for an error, its message.
std::string text_of(const boost::json::object& answer);

std::vector<std::string> mcpivot_command(const ClientOptions& options);
Environment private_folders(const std::filesystem::path& directory);

// All of a file; empty if there is none.
std::string content_of(const std::filesystem::path& path);

// All of them sleep, and none will wake by itself before one of its own timers runs out.
bool wait_at_rest(const std::vector<pid_t>& pids, Deadline deadline);
// For what has no event to wait for, such as the process table: looks every millisecond.
bool wait_until(const std::function<bool()>& predicate, Deadline deadline);

}  // namespace harness
