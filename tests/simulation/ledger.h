// Where the simulated servers write down what they do, for the oracle to judge: what was executed, and how
// they died. Each death has a number, and its words say it, so that it is recognised wherever it is told.
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
  // A server has taken this call and does what it asks.
  virtual void executed(int number, const std::string& server) = 0;
  // It has died of itself, with these calls unanswered. Returns the number of the death.
  virtual int died(const std::string& server, const std::vector<int>& open) = 0;
  // The core is about to learn of it. `answered`: it had answered a call before, and no
  // other one is there.
  virtual void buried(const std::string& server, pid_t pid, int death, bool answered) = 0;
  // A start of this one was tried; whether this process is the one that serves; and the core has just learned
  // that such a one ended that still had tasks, the last of them begun so long ago.
  virtual void born(const std::string& server) = 0;
  // It can't, and the one before it has not ended.
  virtual void runs_twice(const std::string& server) = 0;
  virtual bool serves(const std::string& server, pid_t pid) const = 0;
  virtual void ended_with_tasks(const std::string& server, std::chrono::milliseconds since_last) = 0;
  // It has answered this call; and it has said no to an era, though it has the other one.
  virtual void finished(int /*number*/) {}
  virtual void refused_era(const std::string& /*server*/) {}
  // It says nothing to what came, because that is of an era that it doesn't have.
  virtual void ignored(const std::string& /*server*/) {}
  // It was sent a retry with a requestState that it didn't issue, or that was used before.
  virtual void bad_retry(int number, const std::string& server, const std::string& state) = 0;
  // It was sent a good one, with or without all that it had asked for.
  virtual void resumed(int number, const std::string& server, bool complete) = 0;
  // Something reached a server that no client could have meant.
  virtual void wrong(const std::string& server, const std::string& what) = 0;
  // The core sends this to a server.
  virtual void sent_to(const std::string& server, std::string_view line) = 0;
};

}  // namespace simulation
