// The world that the core is given in a simulation: virtual time, files in memory, and servers, builds,
// daemons and saves that do what their scripts say.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>

#include "ledger.h"
#include "script.h"
#include "server/world.h"
#include "virtual_time.h"

namespace simulation {

class SimFiles final : public mcpivot::Files {
 public:
  explicit SimFiles(Scripts& scripts) : scripts_(scripts) {}

  std::optional<mcpivot::FileFacts> program_of(const mcpivot::Command& command) const override;
  std::optional<mcpivot::FileFacts> stoppable_program_of(const mcpivot::Command& command) const override;
  std::optional<std::string> load(Shelf shelf, const std::string& name) const override;
  bool save(Shelf shelf, const std::string& name, std::string_view text) override;

  void set_full(bool full) { full_ = full; }
  // As if someone had truncated what is kept.
  void damage();

 private:
  Scripts& scripts_;
  std::map<std::string, std::string> kept_;
  bool full_ = false;
};

class SimWorld final : public mcpivot::World {
 public:
  SimWorld(std::uint64_t seed, Ledger& ledger) : seed_(seed), ledger_(ledger), files_(scripts_) {}

  // World
  VirtualTime& timers() override { return time_; }
  SimFiles& files() override { return files_; }
  std::expected<std::shared_ptr<mcpivot::Backend>, std::string> make_backend(
      const mcpivot::ConfigRef& config, mcpivot::GenerationId id, mcpivot::OutputRing& ring,
      const mcpivot::Backend* predecessor) override;
  std::shared_ptr<mcpivot::Build> start_build(const mcpivot::ServerConfig& config,
                                              mcpivot::Build::Handlers handlers,
                                              mcpivot::LastSave last_save) override;
  void calls_to_check(const mcpivot::ServerConfig& config,
                      std::function<void(mcpivot::CallsToCheck)> then) override;
  std::string secret() override { return "secret" + std::to_string(++secrets_); }
  std::string sign_in_address(const mcpivot::ServerConfig&) override { return sign_in_address_; }
  std::unique_ptr<mcpivot::DaemonKeeper> make_keeper(const mcpivot::ConfigRef& config) override;
  std::unique_ptr<mcpivot::SourceWatch> watch_sources(const mcpivot::ServerConfig& config,
                                                      mcpivot::SourceWatch::Handlers handlers) override;
  void end_processes_running(const mcpivot::FileFacts& program, Millis patience,
                             std::function<void(std::vector<pid_t> ended)> done) override;

  // What the plan does.
  void want_sign_in(std::string address) { sign_in_address_ = std::move(address); }
  Scripts& scripts() { return scripts_; }
  // Someone saves one of a server's sources, or replaces its program by another one.
  void save(const std::string& server);
  void replace(const std::string& server);
  void set_daemon(const std::string& server, bool up);
  // From now on everything works correctly.
  void heal();
  // This client is a guest, whose servers have their own scripts; "alpha~g1" is its alpha.
  void set_guest(mcpivot::ClientId client, const std::string& name) { guests_[client] = name; }
  // For each backend of a server that is alive.
  template <class Do>
  void each_life(const std::string& server, Do&& what) {
    const auto lives = scripts_.of(server).lives;
    for (const auto& weak : lives)
      if (const auto life = weak.lock()) what(*life);
  }

  int alive() const { return alive_; }  // backends
  int builds() const { return builds_; }
  // The servers whose sources can be saved without anybody noticing, as during a reload.
  std::vector<std::string> unwatched() const;

 private:
  friend class SimWatch;
  friend class SimBuild;

  std::uint64_t seed_;
  Ledger& ledger_;
  Scripts scripts_;
  VirtualTime time_;
  SimFiles files_;
  std::map<std::string, class SimWatch*> watches_;
  int secrets_ = 0;
  std::string sign_in_address_;
  std::uint64_t checks_ = 0;
  std::map<mcpivot::ClientId, std::string> guests_;
  int started_ = 0;
  int started_for_guests_ = 0;
  int alive_ = 0;
  int builds_ = 0;
  bool healed_ = false;
};

}  // namespace simulation
