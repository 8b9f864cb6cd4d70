// Looks after servers that are HTTP daemons: they come and go on their own, may forget our session, and are
// started or stopped by us only if the user said so, through a DaemonKeeper.
//
// One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <variant>

#include "server/daemon_keeper.h"
#include "server/supervisor.h"

namespace mcpivot {

class DaemonSupervisor final : public Supervisor {
 public:
  // The outcome of a stop.
  struct Stopped {
    bool ok;
    std::string how;      // a sentence
    std::string renewal;  // why it is to be started again; empty: it isn't
    std::string next;     // what starts it, a sentence
  };
  using OnStopped = std::function<void(const Stopped&)>;
  using MakeKeeper = std::function<std::unique_ptr<DaemonKeeper>(const ConfigRef&)>;

  // The clock must outlive it.
  DaemonSupervisor(const Clock& clock, MakeKeeper make_keeper, OnStopped on_stopped);

  void configure(const ConfigRef& config) override;
  const KindTraits& traits() const override { return daemon_traits; }
  std::chrono::milliseconds back_off(int young_deaths, bool asked) const override;
  void on_early_death(const Backend::Ending& ending) override { unreachable_ = ending.unreachable; }
  Failure on_birth_failed(const FailedBirth& birth) override;
  ConnectionRecord::Arrival on_born() override;
  std::string headline(const NewGeneration& generation) const override {
    return session_headline(generation, restarted_);
  }
  std::string program_line(const NewProgram& program) const override { return version_line(program); }
  Loss on_lost(const Death& death, const Backend::Ending& ending) override;
  std::expected<Stop, std::string> on_stop_wanted() override;
  void describe(Status& status) const override;
  bool sends_headers() const override { return true; }
  // Of a daemon that we started; empty: we didn't, or it has printed nothing.
  std::optional<std::string> own_output(std::size_t lines) const override {
    return keeper_ ? keeper_->output(lines) : std::string();
  }

  // So far, the daemon hasn't been restarted for the callers that wait for the next session.
  void on_round_begins() { restarted_ = false; }
  // A build made the daemon out of date. True: it is being stopped, and is started again afterwards. False:
  // we may not stop it, and can only open a new session.
  bool renew(const std::string& reason);
  // It needn't be started again after the stop under way.
  void forget_renewal();
  // Stops it. A request for that while it is being stopped joins the stop under way.
  void stop();
  // It is being stopped: nothing can be started in the meantime.
  bool stopping() const { return !std::holds_alternative<Left>(phase_); }
  // No caller waits for the stop under way any more.
  void give_up_stop(const std::string& how);

 private:
  // What we are doing with the daemon: nothing; stopping it; stopping it so that a new one can be started.
  struct Left {};
  struct Stopping {};
  struct Renewing {
    std::string reason;
  };
  using Phase = std::variant<Left, Stopping, Renewing>;

  // When to start a daemon that can't be reached.
  enum class StartWhen : std::uint8_t {
    nobody_listens,  // at the first attempt: nobody has had time to start it
    overdue,         // after a request has waited long enough for a developer's own restart
    at_once          // we stopped it, and it must run again
  };

  bool can_start() const { return keeper_ && keeper_->can_start(); }
  bool can_stop() const { return keeper_ && keeper_->can_stop(); }
  void adopt_keeper();
  bool start_if_due(bool asked);
  bool comes_up() const;
  void want_start();
  void begin_stop(Phase phase);
  void end_stop(bool ok, const std::string& how);

  const Clock& clock_;
  MakeKeeper make_keeper_;
  OnStopped on_stopped_;
  ConnectionRecord connection_;
  std::unique_ptr<DaemonKeeper> keeper_;  // if we can start or stop it at all
  Phase phase_;
  StartWhen start_when_ = StartWhen::nobody_listens;
  bool unreachable_ = false;  // no process accepted the last connection
  bool restarted_ = false;    // for the reload under way
};

}  // namespace mcpivot
