// What is peculiar about what a server lives in. An instance starts, swaps and loses generations in one way,
// whatever they are; where a process and a daemon differ, it asks the supervisor of their kind. A
// configuration may change the kind while an instance lives, so it has one of each, and a generation stays
// with that of its own kind.
//
// A supervisor never calls the instance in the middle of a question. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <string>

#include "config/server_config.h"
#include "server/backend.h"
#include "server/birth_report.h"
#include "server/connection_record.h"
#include "server/crash_report.h"
#include "server/manner.h"
#include "server/status.h"

namespace mcpivot {

class Supervisor {
 public:
  virtual ~Supervisor() = default;

  // The server's, which may be of another kind.
  virtual void configure(const ConfigRef& config) { config_ = config; }
  virtual const Manner& manner() const = 0;

  // How long until the next try, after so many generations in a row that were good for nothing. `asked`:
  // requests wait for it.
  virtual std::chrono::milliseconds back_off(int young_deaths, bool asked) const = 0;

  // A generation ended before it was ready; on_birth_failed() follows.
  virtual void on_unborn_death(const Backend::Ending&) {}
  struct FailedBirth {
    int number;       // of the generation
    std::string why;  // a sentence
    bool ran;         // its program did, at least
    bool asked;       // requests wait for it
    bool ends;        // the instance does, for good
    bool refused;     // the server is there, and said no
  };
  struct Failure {
    std::string why;
    bool counts = true;                      // as a start
    std::optional<std::string> postponed{};  // it is no failure yet: it is tried again soon, because …
    bool refused = false;                    // it is tried again when somebody needs it, and not before
  };
  virtual Failure on_birth_failed(const FailedBirth& birth) = 0;

  // A generation is ready. What is said of it begins with its headline.
  virtual ConnectionRecord::Arrival on_born() { return {}; }
  virtual std::string headline(const NewGeneration& generation) const = 0;
  // What runs is another program, or says that it is.
  virtual std::string program_line(const NewProgram& program) const = 0;

  // The generation that serves is gone, and we did not end it.
  struct Loss {
    enum class Fault : std::uint8_t { its_own, outside, none };
    Fault fault;
    bool crash;         // whoever has to do with the server hears of it
    std::string words;  // why it does not serve
  };
  virtual Loss on_lost(const Death& death, const Backend::Ending& ending) = 0;

  // Somebody wants it stopped. The error says why it is not.
  struct Stop {
    std::string words;
    bool at_once;  // a generation's end is not waited for, and who waits for the next one goes on waiting
  };
  virtual std::expected<Stop, std::string> on_stop_wanted() = 0;

  virtual void describe(Status&) const {}

 protected:
  ConfigRef config_;
};

}  // namespace mcpivot
