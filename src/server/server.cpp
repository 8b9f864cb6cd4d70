#include "server/server.h"

#include <algorithm>
#include <utility>

namespace mcpivot {

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
  // One that was stopped on request waits for a call: somebody may be in the middle of a build.
  SourceWatch::Handlers handlers;
  handlers.on_sources = [this](const std::string& reason) {
    if (Instance* const instance = last_used(true)) instance->follow_sources(reason);
  };
  handlers.on_program = [this](const std::string& reason) {
    if (Instance* const instance = last_used(true)) instance->program_replaced(reason);
  };
  watch_ = world_.watch_sources(config, std::move(handlers));
}

// Null: there is none, or none that runs.
Instance* Server::last_used(bool running) const {
  Instance* last = nullptr;
  for (Instance* const instance : instances_) {
    if (running && instance->state() == Instance::State::stopped) continue;
    if (last == nullptr || last->last_used() < instance->last_used()) last = instance;
  }
  return last;
}

void Server::reload(const std::string& reason) {
  Instance* const running = last_used(true);
  if (Instance* const instance = running != nullptr ? running : last_used(false))
    instance->follow_sources(reason);
}

void Server::reload_begins() {
  if (++reloads_ == 1 && watch_) watch_->reload_begins();
}

void Server::reload_ends() {
  if (--reloads_ == 0 && watch_) watch_->reload_ends();
}

void Server::proven(const Instance& by, const std::string& reason) {
  for (Instance* const instance : std::vector(instances_))
    if (instance != &by) instance->fall_behind(reason);
}

}  // namespace mcpivot
