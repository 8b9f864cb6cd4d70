// Where the simulated servers record what they do, for the oracle to judge: what was executed, and how
// they died. Each death has a number, and its text contains it, so that it is recognised wherever it appears.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

class Ledger {
 public:
  virtual ~Ledger() = default;
  // A server has received this call and does what it asks.
  virtual void executed(int number, const std::string& server) = 0;
  // It has died by itself, with these calls unanswered. Returns the number of the death.
  virtual int died(const std::string& server, const std::vector<int>& open) = 0;
  // The core is about to learn of it. `answered`: it had answered a call before, and no
  // other one is there.
  virtual void buried(const std::string& server, pid_t pid, int death, bool answered) = 0;
  // It was started; whether this process is the one that serves; and the core has just learned that a
  // process ended that still had tasks, the last of them begun this long ago.
  virtual void born(const std::string& server) = 0;
  // It started while the previous process still ran, although it can't run twice.
  virtual void runs_twice(const std::string& server) = 0;
  virtual bool serves(const std::string& server, pid_t pid) const = 0;
  virtual void ended_with_tasks(const std::string& server, std::chrono::milliseconds since_last) = 0;
  // It has done nothing about this call yet, which is to be made again.
  virtual void not_yet(int /*number*/) {}
  // It has answered this call; and it has rejected one era, although it has the other.
  virtual void finished(int /*number*/) {}
  virtual void refused_era(const std::string& /*server*/) {}
  // It ignores a message of an era that it doesn't have.
  virtual void ignored(const std::string& /*server*/) {}
  // It was sent a retry with a requestState that it didn't issue, or that was used before.
  virtual void bad_retry(int number, const std::string& server, const std::string& state) = 0;
  // It got a valid one, with or without everything it had asked for.
  virtual void resumed(int number, const std::string& server, bool complete) = 0;
  // Something reached a server that no client could have meant.
  virtual void wrong(const std::string& server, const std::string& what) = 0;
  // The core sends this to a server.
  virtual void sent_to(const std::string& server, std::string_view line) = 0;
};

}  // namespace simulation
