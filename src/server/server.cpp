#include "server/server.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <utility>

namespace mcpivot {
namespace {

// One that was stopped on request waits for a call: somebody may be in the middle of a build.
bool runs(const Instance& instance) {
  return instance.state() != Instance::State::stopped;
}

}  // namespace

Server::Server(World& world, const ServerConfig& config) : world_(world), builds_(world) {
  watch(config);
}

void Server::configure(const ServerConfig& config) {
  watch(config);
  if (watch_ && reloads_ > 0) watch_->reload_begins();
}

void Server::watch(const ServerConfig& config) {
  watch_.reset();
  if (!config.watching) return;
  SourceWatch::Handlers handlers;
  handlers.on_sources = [this](const std::string& reason) {
    for (Instance* const instance : by_use())
      if (runs(*instance)) return instance->follow_sources(reason);
  };
  handlers.on_program = [this](const std::string& reason) {
    for (Instance* const instance : by_use())
      if (runs(*instance) && instance->program_replaced(reason)) return;
  };
  watch_ = world_.watch_sources(config, std::move(handlers));
}

void Server::close() {
  closed_ = true;
  watch_.reset();
}

std::vector<Instance*> Server::by_use() const {
  std::vector<Instance*> all;
  std::ranges::copy_if(instances_, std::back_inserter(all),
                       [](const Instance* instance) { return !instance->ends(); });
  std::ranges::stable_sort(all, std::greater(), &Instance::last_used);
  return all;
}

void Server::reload(const std::string& reason) {
  auto all = by_use();
  std::ranges::stable_partition(all, [](const Instance* instance) { return runs(*instance); });
  if (!all.empty()) all.front()->follow_sources(reason);
}

std::shared_ptr<SharedInstance> Server::join(Clients& clients, const ServerConfig& config, ClientId client,
                                             Instance::Watcher& desk) {
  auto shared = shared_.lock();
  if (!shared || shared->instance().ends()) {
    shared = std::make_shared<SharedInstance>(world_, clients, *this, config);
    shared_ = shared;
  }
  shared->join(client, desk);
  return shared;
}

// Clients' own instances run side by side. But one that is shared takes the place of all that came before it,
// and whatever comes after it takes its place; one that cannot run twice waits for them.
bool Server::has_predecessor(const Instance& of) const {
  for (const Instance* const other : instances_) {
    if (other == &of) return false;
    if ((other->is_shared() || of.is_shared()) && other->runs()) return true;
  }
  return false;
}

void Server::gone(const Instance& instance) {
  for (Instance* const other : std::vector(instances_))
    if (other->is_shared() || instance.is_shared()) other->predecessor_gone();
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
  if (closed_) return;
  for (Instance* const instance : by_use())
    if (instance != &by && runs(*instance)) return instance->follow_sources(reason);
}

}  // namespace mcpivot
