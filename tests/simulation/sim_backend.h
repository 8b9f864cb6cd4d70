// What a simulated generation lives in: a process, a session with a daemon, or a CLI, with an actor inside.
// It ends when the core wants it to (within twice the patience, some not a moment earlier), by itself, or
// because the plan kills it.
#pragma once

#include <memory>

#include "actor.h"
#include "server/backend.h"
#include "server/clients.h"
#include "wire.h"

namespace simulation {

class SimBackend final : public mcpivot::Backend,
                         private Wire::Peer,
                         private Actor::Body,
                         public std::enable_shared_from_this<SimBackend> {
 public:
  struct Place {  // in the simulated world
    VirtualTime& time;
    Script& script;
    const bool& daemon_up;
    Ledger& ledger;
    std::uint64_t seed;
    pid_t pid;
    int& alive;  // how many are
    mcpivot::InstanceId of{};
  };
  SimBackend(const Place& place, mcpivot::ConfigRef config, int generation, mcpivot::OutputRing& ring,
             Birth birth);
  ~SimBackend() override;

  // Backend
  mcpivot::Link& link() override { return *wire_; }
  void start(mcpivot::Link::Handler& handler, OnEnd on_end) override;
  void end(Millis patience) override;
  void close() override;
  void speak(mcpivot::Era era) override { spoken_ = era; }
  const mcpivot::KindTraits& traits() const override {
    return is_daemon() ? mcpivot::daemon_traits : mcpivot::process_traits;
  }
  std::string where() const override;
  pid_t pid() const override { return is_daemon() ? 0 : place_.pid; }
  std::string_view renewed() const override { return is_cli() ? "reloaded" : "restarted"; }
  bool news_if_unchanged() const override { return !is_cli(); }
  bool calls_have_own_limits() const override { return is_cli(); }

  // What the plan does to it.
  void kill(const std::string& how);
  void lose_session(bool forgotten);
  void blurt(std::string_view what);
  const Actor& actor() const { return actor_; }
  bool alive() const { return alive_; }
  mcpivot::InstanceId instance() const { return place_.of; }
  bool ending() const { return ending_; }
  // What the core treats it as.
  mcpivot::Era spoken() const { return spoken_; }
  bool is_cli() const { return config_->cli.has_value(); }
  bool is_daemon() const { return config_->is_daemon(); }
  void heal() {
    if (alive_ && reached_) actor_.heal();
  }

 private:
  // Wire::Peer
  void hear(std::string_view line) override;
  void hear_end() override;
  void sent(std::string_view line) override { place_.ledger.sent_to(place_.script.name, line); }
  void emptied() override { tell_end(); }

  // Actor::Body
  int number() const override { return place_.pid; }
  void say(std::string line) override;
  void after(Millis time, std::function<void()> what) override;
  void die(const std::string& how) override;
  bool can_exit() const override { return !is_daemon(); }
  void stop_reading(Millis time) override;
  std::size_t longest_message() const override { return config_->max_message; }
  void lose(const std::string& id, bool reached) override;
  Millis limit_of_calls() const override { return config_->call_timeout; }
  mcpivot::Clock::Time now() const override { return place_.time.now(); }
  bool for_many() const override { return config_->for_many; }
  bool serves() const override {
    return !is_daemon() && place_.ledger.serves(place_.script.name, place_.pid);
  }
  bool another_serves() const override;
  bool gates() const override { return config_->verify.gate && config_->can_gate(); }

  void leave(const std::string& how);
  void tell_end();

  Place place_;
  mcpivot::ConfigRef config_;
  int generation_;
  mcpivot::OutputRing* ring_;
  Chance chance_;
  std::shared_ptr<Wire> wire_;
  mcpivot::Link::Handler* handler_ = nullptr;
  Actor actor_;
  OnEnd on_end_;
  Ending ending_words_;
  int death_ = 0;  // its number, if it died of itself
  mcpivot::Era spoken_ = mcpivot::Era::legacy;
  bool alive_ = true;
  bool ending_ = false;  // the core wants it to
  bool reached_ = true;  // of a daemon: there is one
};

}  // namespace simulation
