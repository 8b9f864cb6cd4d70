// Who takes part, and how each is started: no proxy at all, the bare byte relay, mcpivot, and the rivals,
// each in the ways that it supports. A way is what the client speaks and what the server is.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "front.h"

enum class Way {
  stdio,      // a client on pipes, a server on pipes
  to_http,    // a client on pipes, an HTTP daemon
  from_http,  // an HTTP client, a server on pipes
};
std::string_view name_of(Way way);

enum class Role { direct, floor, ours, rival };

// How to ask a subject for a new server.
enum class Reload { none, tool, hub, signal };

struct Subject {
  std::string name;
  Way way = Way::stdio;
  Role role = Role::rival;
  std::string tool = "echo";  // the name of the echo tool through it
  Reload reload = Reload::none;
  std::string reload_tool = {};
  std::string reload_arguments = "{}";
};

// Where things are; `scratch` is a folder of this run.
struct Place {
  std::filesystem::path programs;
  std::filesystem::path peers;
  std::filesystem::path rivals;
  std::filesystem::path scratch;
};

std::vector<Subject> all_subjects();

// Not empty: it isn't installed, and why.
std::string missing(const Subject& subject, const Place& place);

// What is behind a subject: a server's command, or a daemon's port.
struct Behind {
  std::vector<std::string> server;
  std::uint16_t daemon_port = 0;
  bool keep_cache = false;  // mcpivot may remember the server
  bool shared = false;      // all clients of mcpivot share one server
};

// A running subject, with the front on which we are its client.
class Running {
 public:
  // Starts it, and waits for its port if that is its front.
  Running(const Subject& subject, const Place& place, const Behind& behind);

  const Subject& subject() const { return subject_; }
  Front& front() { return *front_; }
  // Absent when the client talks to the daemon directly.
  ProcessTree* process() { return process_.get(); }
  Clock::time_point started() const { return started_; }
  std::uint16_t port() const { return port_; }

  // `initialize` and `initialized`; how long after the start the answer came, in seconds.
  double shake_hands();
  // Asks until the list names the echo tool; how long after the start.
  double list_tools();
  // Opens a new connection and initializes again, as a client does whose session is gone. Only over HTTP.
  void connect_again();

  // One request; its answer, or Failure if none arrives in time.
  std::string ask(std::string_view method, std::string_view params, std::chrono::milliseconds patience);
  // A call of the echo tool; the id.
  std::int64_t send_call(std::string_view arguments) { return send_call_of(subject_.tool, arguments); }
  std::int64_t send_call_of(std::string_view tool, std::string_view arguments);

 private:
  std::int64_t send_request(std::string_view method, std::string_view params);
  HttpAddress address() const;

  const Subject& subject_;
  std::uint16_t port_ = 0;
  Clock::time_point started_;
  std::unique_ptr<ProcessTree> process_;
  std::unique_ptr<Front> front_;
  std::int64_t next_id_ = 1;
};
