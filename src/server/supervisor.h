// What is specific to a kind of server. An instance starts, swaps and loses generations in one way, whatever
// they are; where processes and daemons differ, it asks the supervisor for their kind. A configuration may
// change the kind while an instance lives, so it has one of each, and a generation stays with the one for its
// own kind.
//
// A supervisor never calls the instance from within one of these functions. One thread.
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
#include "server/kind_traits.h"
#include "server/status.h"

namespace mcpivot {

class Supervisor {
 public:
  virtual ~Supervisor() = default;

  // The server's configuration, which may be of another kind.
  virtual void configure(const ConfigRef& config) { config_ = config; }
  virtual const KindTraits& traits() const = 0;

  // How long until the next attempt, after this many useless generations in a row. `asked`: requests wait for
  // it.
  virtual std::chrono::milliseconds back_off(int young_deaths, bool asked) const = 0;

  // A generation ended before it was ready; on_birth_failed() follows.
  virtual void on_early_death(const Backend::Ending&) {}
  struct FailedBirth {
    int number;       // of the generation
    std::string why;  // a sentence
    bool ran;         // its program did run
    bool asked;       // requests wait for it
    bool ends;        // the instance is ending for good
    bool refused;     // the server is there, but refused us
  };
  struct Failure {
    std::string why;
    bool counts = true;                      // as a start
    std::optional<std::string> postponed{};  // not a failure yet: it will be retried soon, because …
    bool refused = false;                    // it is retried only when it is needed
  };
  virtual Failure on_birth_failed(const FailedBirth& birth) = 0;

  // A generation is ready; and the headline of its report.
  virtual ConnectionRecord::Arrival on_born() { return {}; }
  virtual std::string headline(const NewGeneration& generation) const = 0;
  // The line about a program that changed, or whose version did.
  virtual std::string program_line(const NewProgram& program) const = 0;

  // The current generation is gone, and we didn't end it.
  struct Loss {
    enum class Fault : std::uint8_t { its_own, outside, none };
    Fault fault;
    bool crash;         // everybody who uses the server is told
    std::string words;  // why it isn't serving
  };
  virtual Loss on_lost(const Death& death, const Backend::Ending& ending) = 0;

  // It is to be stopped. The error says why it can't be.
  struct Stop {
    std::string words;
    bool at_once;  // without waiting for a generation's end; callers that wait for the next one go on waiting
  };
  virtual std::expected<Stop, std::string> on_stop_wanted() = 0;

  virtual void describe(Status&) const {}

  // The protocol era that it is used in; null: it is asked which ones it accepts.
  virtual std::optional<Era> fixed_era() const { return config_->era; }
  // Whether a call repeats some of its arguments in headers.
  virtual bool sends_headers() const { return false; }
  // What it printed, if that doesn't go through a generation.
  virtual std::optional<std::string> own_output(std::size_t /*lines*/) const { return std::nullopt; }

 protected:
  ConfigRef config_;
};

}  // namespace mcpivot
