// The callers that want a server stopped, and what they are told: how it ended and, if they want that, which
// other processes ran its program and were ended too, so that the program can be overwritten.
//
// The instance ends its own generations; when none is left, it calls finish(). One thread.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "server/world.h"

namespace mcpivot {

struct StopResult {
  bool ok = true;
  std::string how;            // a sentence
  std::vector<pid_t> pids;    // its own, if it was running
  std::vector<pid_t> others;  // that ran the same program
  std::string program;        // which one
  std::string next = "The next call starts it.";

  // Nothing was stopped, because …
  static StopResult failure(std::string why);
};

class Stops {
 public:
  using Done = std::function<void(const StopResult&)>;

  explicit Stops(World& world) : world_(world) {}

  // `others`: those of this user, if the program is the user's own.
  void add(Done done, bool others);
  bool wanted() const { return !callers_.empty(); }
  // A generation has ended because of this; of several, the last one counts.
  void on_end(const Command& command, pid_t pid, std::string how);
  // The server is gone. `command` counts if no generation was running; `then` is called if other processes
  // had to be waited for.
  void finish(const Command& command, std::function<void()> then);
  // A daemon has been stopped, or not: it isn't a program of ours.
  void finish_with(StopResult result);
  // Whether other processes are being ended.
  bool is_ending_others() const { return !ending_.empty(); }
  // mcpivot ends: no process is waited for any more, now or later.
  void give_up();

 private:
  struct Ending {
    StopResult result{};
    std::vector<Done> callers{};
    void tell() const {
      for (const Done& done : callers) done(result);
    }
  };
  std::shared_ptr<Ending> take();

  World& world_;
  std::vector<Done> callers_;
  bool others_ = false;  // one of them wants these ended
  StopResult result_;    // so far
  std::optional<Command> command_;
  std::list<std::shared_ptr<Ending>> ending_;
  bool gives_up_ = false;
};

}  // namespace mcpivot
