#include "sim_world.h"

#include <fmt/format.h>

#include <stdexcept>

#include <algorithm>
#include <utility>

#include "chance.h"
#include "sim_backend.h"

namespace simulation {

using mcpivot::Build;
using mcpivot::Command;
using mcpivot::ConfigRef;
using mcpivot::FileFacts;
using mcpivot::ServerConfig;
using mcpivot::SourceWatch;

namespace {

std::string server_of(const Command& command) {
  return command.argv.empty() ? std::string()
                              : command.argv.front().substr(command.argv.front().rfind('/') + 1);
}

}  // namespace

// --- files

std::optional<FileFacts> SimFiles::program_of(const Command& command) const {
  const std::string server = server_of(command);
  if (server.empty()) return std::nullopt;
  FileFacts facts;
  facts.path = command.argv.front();
  facts.stamp.inode = static_cast<ino_t>(scripts_.of(server).stamp);
  facts.stamp.size = 1'000;
  return facts;
}

std::optional<FileFacts> SimFiles::stoppable_program_of(const Command& command) const {
  auto program = program_of(command);
  if (!program || !program->path.starts_with("/own/")) return std::nullopt;
  return program;
}

std::optional<std::string> SimFiles::load(Shelf, const std::string& name) const {
  const auto found = kept_.find(name);
  return found == kept_.end() ? std::nullopt : std::optional(found->second);
}

bool SimFiles::save(Shelf, const std::string& name, std::string_view text) {
  if (!full_) kept_[name] = text;
  return !full_;
}

void SimFiles::damage() {
  for (auto& [name, text] : kept_) text.resize(text.size() / 2);
}

// --- builds

class SimBuild final : public Build, public std::enable_shared_from_this<SimBuild> {
 public:
  SimBuild(SimWorld& world, Handlers handlers) : world_(world), handlers_(std::move(handlers)) {
    ++world_.builds_;
  }
  ~SimBuild() override { --world_.builds_; }

  void start(const ServerConfig& config, const BuildPlan& plan) {
    began_ = world_.time_.now();
    if (plan.took < 0)
      return finish_after(config.build_timeout, false, "was stopped, because it took too long");
    for (int i = 1; i <= 3; ++i)
      world_.time_.later(Millis(plan.took * i / 4), [weak = weak_from_this(), i] {
        const auto self = weak.lock();
        if (self && !self->done_) self->handlers_.on_line(fmt::format("[{}/3] compiling", i));
      });
    world_.time_.later(Millis(plan.took), [weak = weak_from_this(), plan, name = config.name,
                                           program = server_of(config.command)] {
      const auto self = weak.lock();
      if (!self || self->done_) return;
      if (plan.ok && !program.empty()) ++self->world_.scripts_.of(program).stamp;
      if (plan.ok && plan.news) ++self->world_.scripts_.of(name).revision;
      self->finish(plan.ok, plan.ok ? "exited with code 0" : "exited with code 2");
    });
  }
  void stop(const std::string& why) override { finish_after(Millis(5), false, why); }

 private:
  void finish_after(Millis time, bool ok, const std::string& how) {
    world_.time_.later(time, [weak = weak_from_this(), ok, how] {
      if (const auto self = weak.lock()) self->finish(ok, how);
    });
  }
  void finish(bool ok, const std::string& how) {
    if (std::exchange(done_, true)) return;
    handlers_.on_done({.ok = ok, .how = how, .took = world_.time_.since(began_), .output = "compiling"});
  }

  SimWorld& world_;
  Handlers handlers_;
  mcpivot::Clock::Time began_;
  bool done_ = false;
};

std::shared_ptr<Build> SimWorld::start_build(const ServerConfig& config, Build::Handlers handlers,
                                             mcpivot::LastSave) {
  auto build = std::make_shared<SimBuild>(*this, std::move(handlers));
  build->start(config, scripts_.of(config.name).next_build());
  return build;
}

// --- saves

class SimWatch final : public SourceWatch {
 public:
  SimWatch(SimWorld& world, const ServerConfig& config, Handlers handlers)
      : world_(world), name_(config.name), globs_(!config.watch.empty()), handlers_(std::move(handlers)) {
    world_.watches_[name_] = this;
  }
  ~SimWatch() override {
    if (const auto mine = world_.watches_.find(name_); mine != world_.watches_.end() && mine->second == this)
      world_.watches_.erase(mine);
  }
  void reload_begins() override { reloading_ = true; }
  void reload_ends() override { reloading_ = false; }
  bool unsettled(bool) override { return unsettled_ > 0 && !reloading_; }
  std::optional<std::chrono::system_clock::time_point> last_touched() const override { return {}; }
  bool reloading() const { return reloading_; }

  // What is written during a reload is the build's own.
  void changed(bool sources) {
    if (reloading_ || sources != globs_) return;
    ++unsettled_;
    world_.time_.later(Millis(5), [this, here = std::weak_ptr(here_), sources] {
      if (here.expired()) return;
      --unsettled_;
      if (!reloading_)
        (sources ? handlers_.on_sources : handlers_.on_program)(fmt::format("after a change to {}", name_));
      if (!here.expired()) handlers_.on_settled();
    });
  }

 private:
  SimWorld& world_;
  std::string name_;
  bool globs_;
  Handlers handlers_;
  bool reloading_ = false;
  int unsettled_ = 0;
  std::shared_ptr<bool> here_ = std::make_shared<bool>();
};

std::unique_ptr<SourceWatch> SimWorld::watch_sources(const ServerConfig& config,
                                                     SourceWatch::Handlers handlers) {
  return std::make_unique<SimWatch>(*this, config, std::move(handlers));
}

std::vector<std::string> SimWorld::unwatched() const {
  std::vector<std::string> servers;
  for (const auto& [name, watch] : watches_)
    if (watch->reloading()) servers.push_back(name);
  return servers;
}

void SimWorld::save(const std::string& server) {
  if (const auto watch = watches_.find(server); watch != watches_.end()) watch->second->changed(true);
}

void SimWorld::replace(const std::string& server) {
  ++scripts_.of(server).stamp;
  ++scripts_.of("shared").stamp;
  if (const auto watch = watches_.find(server); watch != watches_.end()) watch->second->changed(false);
}

// --- servers

std::expected<std::shared_ptr<mcpivot::Backend>, std::string> SimWorld::make_backend(
    const ConfigRef& config, mcpivot::GenerationId id, mcpivot::OutputRing& ring, const mcpivot::Backend*) {
  const Script& server = scripts_.of(config->name);
  const auto guest = guests_.find(id.instance.client);
  const bool for_guest = guest != guests_.end();
  Script& script = scripts_.of(for_guest ? fmt::format("{}~{}", config->name, guest->second) : config->name);
  script.revision = server.revision;
  script.tongue = server.tongue;
  script.rounds = server.rounds;
  const Birth birth = script.next_birth();
  ledger_.born(script.name);
  if (birth == Birth::throws) throw std::runtime_error("assign: Too many open files");
  if (birth == Birth::cannot_execute) return std::unexpected("cannot run it: No such file or directory");
  const bool once = config->swap == mcpivot::SwapMode::stop_first && !config->is_daemon() && !config->cli;
  // Clients' own instances may run side by side; a shared one may not run next to another.
  const auto client = id.instance.client;
  each_life(script.name, [&](const SimBackend& life) {
    const auto other = life.instance().client;
    const auto all = mcpivot::ClientId::nobody;
    const bool in_turn = other == client || other == all || client == all;
    if (once && in_turn && life.alive() && !life.is_daemon() && !life.is_cli())
      ledger_.runs_twice(script.name);
  });
  const int number = for_guest ? 500'000 + ++started_for_guests_ : ++started_;
  const SimBackend::Place place{.time = time_,
                                .script = script,
                                .daemon_up = server.daemon_up,
                                .ledger = ledger_,
                                .seed = seed_of(seed_, script.name, static_cast<std::uint64_t>(number)),
                                .pid = 1'000 + number,
                                .alive = alive_,
                                .of = id.instance};
  auto backend = std::make_shared<SimBackend>(place, config, id.number, ring, birth);
  std::erase_if(script.lives, [](const auto& life) { return life.expired(); });
  script.lives.push_back(backend);
  return backend;
}

// Of each kind that Actor::check() knows, now and then; and always some that must not be made.
void SimWorld::calls_to_check(const mcpivot::ServerConfig& config,
                              std::function<void(mcpivot::CallsToCheck)> then) {
  Chance chance(seed_of(seed_, config.name, ++checks_));
  mcpivot::RecordedCalls recorded;
  const auto add = [&](const char* tool, int kind, std::string_view text) {
    recorded.calls.push_back(
        {.tool = tool,
         .arguments = fmt::format(R"({{"check":{}}})", kind),
         .answer = {.is_error = false,
                    .json = fmt::format(R"({{"content":[{{"type":"text","text":"{}"}}]}})", text)},
         .when = {}});
  };
  for (const char* tool : {"work", "look", "put", "shaped"}) add(tool, 0, "unsafe");
  add("glance", 0, "@@steady");
  if (chance.one_in(2)) add("glance", 1, "@@revision 0");
  if (chance.one_in(2)) add("glance", 2, "@@unique 0");
  if (chance.one_in(8)) add("glance", 3, "@@steady");
  if (!healed_ && chance.one_in(12)) add("glance", 4, "@@steady");
  if (chance.one_in(4)) add("glance", 5, "@@steady");
  if (chance.one_in(4)) add("glance", 6, "@@steady");
  if (chance.one_in(4)) add("glance", 7, "@@steady");
  const bool fails = chance.one_in(10);
  time_.later(Millis(chance.below(5)),
              [then = std::move(then), fails, recorded = std::move(recorded)]() mutable {
                if (fails) return then(std::unexpected("the journal is locked"));
                then(std::move(recorded));
              });
}

void SimWorld::end_processes_running(const FileFacts&, Millis patience,
                                     std::function<void(std::vector<pid_t> ended)> done) {
  time_.later(patience / 2, [done = std::move(done)] { done({4711}); });
}

void SimWorld::heal() {
  healed_ = true;
  files_.set_full(false);
  scripts_.heal();
  for (auto& [name, script] : scripts_) each_life(name, [](SimBackend& life) { life.heal(); });
}

// --- daemons

void SimWorld::set_daemon(const std::string& server, bool up) {
  if (std::exchange(scripts_.of(server).daemon_up, up) == up || up) return;
  for (auto& [name, script] : scripts_)
    if (name == server || name.starts_with(server + "~"))
      each_life(name, [](SimBackend& life) { life.lose_session(false); });
  // If mcpivot can't start it, someone else eventually does.
  if (healed_) time_.later(Millis(500), [this, server] { set_daemon(server, true); });
}

class SimKeeper final : public mcpivot::DaemonKeeper {
 public:
  SimKeeper(SimWorld& world, ConfigRef config) : world_(world), config_(std::move(config)) {}
  ~SimKeeper() override { set_stopping(false); }

  void start(bool) override {
    if (starting_ || script().daemon_up) return;
    starting_ = true;
    began_ = world_.timers().now();
    const Birth birth = script().next_birth();
    const bool fails = birth == Birth::dies_at_once || birth == Birth::cannot_execute;
    world_.timers().later(Millis(birth == Birth::slow ? 700 : 40),
                          [this, here = std::weak_ptr(here_), fails] {
                            if (here.expired()) return;
                            if (fails) {
                              starting_ = false;
                              trouble_ = "--start exited with code 1";
                            } else if (starting_) {
                              ours_ = true;
                              world_.set_daemon(config_->name, true);
                            }
                          });
  }
  bool starting() const override { return starting_ && world_time_since(began_) < config_->start_timeout; }
  void arrived() override {
    starting_ = false;
    trouble_.clear();
  }
  std::string trouble() const override { return trouble_; }
  bool fits(const ServerConfig& config) const override { return config.http.url == config_->http.url; }
  void configure(ConfigRef config) override { config_ = std::move(config); }
  bool can_start() const override { return !config_->http.start.empty(); }
  bool can_stop() const override { return !config_->http.stop.empty() || ours_; }
  void stop(OnStopped on_stopped) override {
    arrived();
    const bool good = script().next_birth() != Birth::rejects;
    set_stopping(true);
    world_.timers().later(Millis(60),
                          [this, here = std::weak_ptr(here_), good, done = std::move(on_stopped)] {
                            if (here.expired()) return;
                            if (good) world_.set_daemon(config_->name, false);
                            ours_ = ours_ && !good;
                            set_stopping(false);
                            done(good, good ? "--stop exited with code 0" : "--stop exited with code 1");
                          });
  }
  pid_t pid() const override { return ours_ ? 999 : 0; }
  std::string output(std::size_t) const override { return "the daemon's last words"; }

 private:
  Script& script() { return world_.scripts().of(config_->name); }
  void set_stopping(bool stopping) {
    if (std::exchange(stopping_, stopping) != stopping) script().stops += stopping ? 1 : -1;
  }
  Millis world_time_since(mcpivot::Clock::Time then) const { return world_.timers().since(then); }

  SimWorld& world_;
  ConfigRef config_;
  bool starting_ = false;
  bool ours_ = false;
  bool stopping_ = false;
  mcpivot::Clock::Time began_{};
  std::string trouble_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>();
};

std::unique_ptr<mcpivot::DaemonKeeper> SimWorld::make_keeper(const ConfigRef& config) {
  return std::make_unique<SimKeeper>(*this, config);
}

}  // namespace simulation
