#include "server/server.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

#include "base/duration_text.h"

namespace mcpivot {
namespace {

// An instance that was stopped on request waits for a call: the user may be in the middle of a build.
bool runs(const Instance& instance) {
  return instance.state() != Instance::State::stopped;
}

// Different clients' own instances run side by side. But a shared one replaces all that came before it, and
// whatever comes after it replaces it; and a server that was removed from the configuration and is back has a
// new instance for the same client. One that can't run twice waits for those before it.
bool take_turns(const Instance& one, const Instance& other) {
  return one.is_shared() || other.is_shared() || one.client() == other.client();
}

// If it was a save after all, the model must know that it isn't built.
std::string left_out_text(const ServerConfig& config, const std::string& path) {
  return fmt::format(
      "[mcpivot] {} changes in every build of \"{}\", so mcpivot treats it as build output and did not "
      "rebuild. If you edited it, {}.",
      path, config.name,
      config.control.rebuild.empty() ? "run \"mcpivot reload --build\" in a terminal"
                                     : fmt::format("call {}", config.control.rebuild));
}

}  // namespace

Server::Server(World& world, const ServerConfig& config)
    : world_(world),
      builds_(world, [this] { return watch_ ? watch_->last_touched() : std::nullopt; }),
      unseen_timer_(world.timers()) {
  watch(config);
}

// What was saved along with the configuration has not been reported yet. Instances pick it up with their new
// configuration, if it changed; otherwise they are told once all of them have it.
void Server::configure(const ServerConfig& config) {
  unseen_ = unseen_ || (watch_ && watch_->unsettled(true));
  watch(config);
  if (unseen_)
    unseen_timer_.set(std::chrono::milliseconds(0), [this] {
      Instance* const instance = closed_.empty() ? first_running() : nullptr;
      if (std::exchange(unseen_, false) && instance != nullptr) instance->follow_sources("after a change");
      tell_if_over();
    });
  if (watch_ && reloads_ > 0) watch_->reload_begins();
}

void Server::watch(const ServerConfig& config) {
  watch_.reset();
  tell_if_over();  // what was unsettled is no longer watched
  if (!config.watching) return;
  SourceWatch::Handlers handlers;
  handlers.on_sources = [this](const std::string& reason) {
    if (Instance* const instance = first_running()) instance->follow_sources(reason);
  };
  handlers.on_program = [this](const std::string& reason) {
    for (Instance* const instance : by_use())
      if (runs(*instance) && instance->program_replaced(reason)) return;
  };
  handlers.on_settled = [this] { tell_if_over(); };
  handlers.on_left_out = [this](const std::string& path) {
    for (Instance* const instance : by_use())
      if (runs(*instance)) instance->add_notice(left_out_text(instance->config(), path));
  };
  watch_ = world_.watch_sources(config, std::move(handlers));
}

void Server::change_ends(Changes::Id id, bool ok) {
  changes_.end(id, ok, world_.timers().now());
  tell_if_over();
}

// Checking takes a system call, so of many calls in a row, not every one checks.
bool Server::unsettled(bool look) const {
  if (!watch_) return unseen_;
  if (look) {
    const Clock::Time now = world_.timers().about_now();
    look = now != looked_;
    looked_ = now;
  }
  return unseen_ || watch_->unsettled(look);
}

void Server::tell_if_over() {
  if (changes_.saved() || unsettled(false)) return;
  for (Instance* const instance : std::vector(instances_)) instance->changes_over();
}

void Server::close(const std::string& why) {
  closed_ = why;
  watch_.reset();
  for (const LoneBuild& lone : std::exchange(lone_builds_, {})) {
    reload_ends();
    lone.done({false, fmt::format("[mcpivot] the build of \"{}\" was stopped: {}", lone.server, why)});
  }
}

void Server::reopen(const ServerConfig& config) {
  closed_.clear();
  configure(config);
}

CallCounts Server::counts() const {
  CallCounts all = ended_;
  for (const Instance* const instance : instances_) all.add(instance->counts());
  return all;
}

void Server::accept(const CheckReport& report) {
  for (const CheckReport::Difference& difference : report.differ)
    if (!difference.is_gone()) accepted_.add(difference.call.key(), difference.now, world_.timers().date());
}

std::vector<Instance*> Server::by_use() const {
  std::vector<Instance*> all;
  std::ranges::copy_if(instances_, std::back_inserter(all),
                       [](const Instance* instance) { return !instance->ends(); });
  std::ranges::stable_sort(all, std::greater(), &Instance::last_used);
  return all;
}

Instance* Server::first_running() const {
  const std::vector<Instance*> all = by_use();
  const auto first = std::ranges::find_if(all, [](const Instance* instance) { return runs(*instance); });
  return first == all.end() ? nullptr : *first;
}

void Server::reload(const std::string& reason) {
  auto all = by_use();
  std::ranges::stable_partition(all, [](const Instance* instance) { return runs(*instance); });
  if (!all.empty()) all.front()->follow_sources(reason);
}

void Server::reload(const ServerConfig& config, Reload reload) {
  Instance* const instance = first_running();
  if (instance == nullptr) return build_alone(config, std::move(reload));
  Reload proof = reload;
  proof.changed = true;
  proof.done = [this, instance, config, reload = std::move(reload)](const ReloadOutcome& outcome) {
    // Its client left: another instance continues.
    if (!outcome.ok && instance->ends() && closed_.empty()) {
      handed_over_ = instance->id();
      return this->reload(config, reload);
    }
    if (!outcome.ok) return reload.done(outcome);
    const auto others = std::ranges::count_if(
        by_use(), [&](const Instance* other) { return other != instance && runs(*other); });
    if (others == 0) return reload.done(outcome);
    reload.done({true, fmt::format("{}\n{} of other clients {}, at the next call or when idle.", outcome.text,
                                   others == 1 ? "1 instance" : fmt::format("{} instances", others),
                                   others == 1 ? "follows" : "follow")});
  };
  instance->reload(std::move(proof));
}

void Server::build_alone(const ServerConfig& config, Reload reload) {
  const std::string absent =
      fmt::format("No client has a running instance of \"{}\"; the next call starts it.", config.name);
  if (!closed_.empty())
    return reload.done({false, fmt::format("[mcpivot] \"{}\" is not restarted: {}", config.name, closed_)});
  if (reload.accepts) return reload.done(accept_alone(config.name, absent));
  if (!reload.build || config.build.empty()) return reload.done({true, fmt::format("[mcpivot] {}", absent)});
  const auto place = lone_builds_.insert(
      lone_builds_.end(),
      LoneBuild{.id = reload.id, .server = config.name, .done = std::move(reload.done), .build = {}});
  reload_begins();
  Build::Handlers handlers;
  handlers.on_line = [tell = std::move(reload.progress)](std::string_view words) {
    if (tell) tell(words);
  };
  handlers.on_done = [this, place, absent, name = config.name,
                      line = config.build](const Build::Result& result) {
    const auto keep = std::move(place->build);
    const auto tell = std::move(place->done);
    lone_builds_.erase(place);
    reload_ends();
    const std::string took = duration_text(result.took);
    if (result.ok) return tell({true, fmt::format("[mcpivot] built \"{}\" in {}. {}", name, took, absent)});
    tell({false, fmt::format("[mcpivot] the build of \"{}\" failed: it {} after {}: {}\n{}", name, result.how,
                             took, line, result.output)});
  };
  place->build = builds_.join(config, false, std::move(handlers));
}

// The next start uses that build, no matter who asks for it.
ReloadOutcome Server::accept_alone(const std::string& name, const std::string& absent) {
  if (!held_) return {false, fmt::format("[mcpivot] no build of \"{}\" is held back.", name)};
  accept(*held_);
  drop_held();
  return {true,
          fmt::format("[mcpivot] the build of \"{}\" that was held back is accepted. {}", name, absent)};
}

void Server::cancel_reload(ReloadId id) {
  for (Instance* const instance : std::vector(instances_)) instance->cancel_reload(id);
  for (const LoneBuild& lone : lone_builds_)
    if (lone.id == id && lone.build) return lone.build->stop("was stopped because the request was cancelled");
}

Server::Joined Server::join(Clients& clients, const ServerConfig& config, ClientId client,
                            Instance::Watcher& desk) {
  auto shared = shared_.lock();
  if (!shared || shared->instance().ends()) {
    shared = std::make_shared<SharedInstance>(world_, clients, *this, config);
    shared_ = shared;
  }
  const SharedInstance::Share share = shared->join(client, desk);
  return {std::move(shared), share};
}

bool Server::has_predecessor(const Instance& of) const {
  for (const Instance* const other : instances_) {
    if (other == &of) return false;
    if (take_turns(*other, of) && other->runs()) return true;
  }
  return false;
}

void Server::gone(const Instance& instance) {
  for (Instance* const other : std::vector(instances_))
    if (take_turns(*other, instance)) other->predecessor_gone();
}

void Server::reload_begins() {
  if (++reloads_ == 1 && watch_) watch_->reload_begins();
}

void Server::reload_ends() {
  if (--reloads_ == 0 && watch_) watch_->reload_ends();
}

void Server::proven(const Instance& by, Clock::Time since) {
  for (Instance* const instance : std::vector(instances_))
    if (instance != &by) instance->fall_behind(since);
}

void Server::gave_up(const Instance& by, const std::string& reason) {
  if (!closed_.empty() || std::exchange(handed_over_, {}) == by.id()) return;
  for (Instance* const instance : by_use())
    if (instance != &by && runs(*instance)) return instance->follow_sources(reason);
}

}  // namespace mcpivot
