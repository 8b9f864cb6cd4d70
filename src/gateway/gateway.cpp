#include "gateway/gateway.h"

#include <algorithm>
#include <utility>

#include "base/after_all.h"
#include "config/profile.h"

namespace mcpivot {

Gateway::Gateway(World& world, Clients& clients, GatewayConfig config)
    : world_(world), clients_(clients), config_(std::move(config)), closing_(world.timers()) {
  for (const ServerEntry& entry : config_.servers)
    servers_.emplace(entry.server.name, std::make_shared<Server>(world, entry.server));
}

Desk& Gateway::open() {
  return open(clients_.next());
}

Desk& Gateway::open(const std::string& profile) {
  const ClientId client = clients_.next();
  profiles_.emplace(client, profile);
  return open(client);
}

Desk& Gateway::open(ClientId client) {
  return *desks_.emplace_back(std::make_unique<Desk>(world_, clients_, servers_, client, seen_by(client)));
}

bool Gateway::has_profile(std::string_view name) const {
  return mcpivot::has_profile(config_, name);
}

std::optional<std::vector<std::string>> Gateway::scopes_of(std::string_view profile) const {
  return mcpivot::scopes_of(config_, profile);
}

std::vector<std::string> Gateway::all_scopes() const {
  return mcpivot::all_scopes(config_);
}

GatewayConfig Gateway::seen_by(ClientId client) const {
  const auto found = profiles_.find(client);
  return found == profiles_.end() ? config_ : seen_through(config_, found->second);
}

Desk& Gateway::open_for_terminals() {
  Desk& terminals = open();
  terminals.steer_all([this](const std::string& server, bool active) {
    std::size_t clients = 0;
    for (const auto& desk : desks_)
      if (!desk->fleet().steers_all() && desk->activate(server, active)) ++clients;
    return clients;
  });
  return terminals;
}

void Gateway::close(ClientId client, std::chrono::milliseconds patience) {
  // They are in the order of their ids.
  const auto found =
      std::ranges::lower_bound(desks_, client, {}, [](const auto& desk) { return desk->client(); });
  if (found == desks_.end() || (*found)->client() != client) return;
  (*found)->forget(client);
  profiles_.erase(client);
  if (ending_) return;  // its servers are already ending
  Desk& desk = closing_.add(std::move(*found));
  desks_.erase(found);
  desk.shut_down(patience, [this, &desk] { closing_.ended(desk); });
}

std::vector<std::pair<ClientId, std::string>> Gateway::client_names() const {
  std::vector<std::pair<ClientId, std::string>> names;
  for (const auto& desk : desks_)
    if (std::string name = desk->client_name(); !name.empty())
      names.emplace_back(desk->client(), std::move(name));
  return names;
}

void Gateway::reload(const std::string& reason) {
  for (const ServerEntry& entry : config_.servers) servers_.at(entry.server.name)->reload(reason);
}

void Gateway::sign_in_over(const std::string& server, const std::string& trouble) {
  const auto found = servers_.find(server);
  if (found == servers_.end()) return;
  const std::vector<Instance*> all = found->second->instances();
  for (Instance* const instance : all) instance->sign_in_over(trouble);
}

// One that is back before its last instances have ended is the same server: if it can't run twice, the next
// instance waits for them.
std::shared_ptr<Server> Gateway::added(const ServerConfig& config) {
  const auto removed = removed_.find(config.name);
  auto server = removed == removed_.end() ? nullptr : removed->second.lock();
  if (!server) return std::make_shared<Server>(world_, config);
  removed_.erase(removed);
  server->reopen(config);
  return server;
}

void Gateway::configure(const GatewayConfig& config) {
  std::erase_if(removed_, [](const auto& one) { return one.second.expired(); });
  Servers old = std::exchange(servers_, {});
  for (const ServerEntry& entry : config.servers) {
    const std::string& name = entry.server.name;
    auto known = old.extract(name);
    if (known.empty()) {
      servers_.emplace(name, added(entry.server));
      continue;
    }
    const auto before =
        std::ranges::find(config_.servers, name, [](const ServerEntry& one) { return one.server.name; });
    if (before->server != entry.server) known.mapped()->configure(entry.server);
    servers_.insert(std::move(known));
  }
  for (const auto& [name, gone] : old) {
    gone->close("it was removed from the configuration");
    removed_[name] = gone;
  }
  config_.front = config.front;
  config_.servers = config.servers;
  config_.left_out = config.left_out;
  config_.names = config.names;
  config_.pivot_call = config.pivot_call;
  config_.trouble = config.trouble;
  config_.profiles = config.profiles;
  for (const auto& desk : desks_) desk->configure(seen_by(desk->client()));
}

void Gateway::set_trouble(const std::string& line) {
  config_.trouble = line;
  for (const auto& desk : desks_) desk->set_trouble(line);
}

void Gateway::add_notice(const std::string& words) {
  for (const auto& desk : desks_) desk->add_notice(words);
}

void Gateway::shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
  ending_ = true;
  for (const auto& [name, server] : servers_) server->close("mcpivot is shutting down");
  const auto one_less = after_all(desks_.size() + closing_.all().size() + 1, std::move(done));
  for (const auto& desk : desks_) desk->shut_down(patience, one_less);
  for (const auto& desk : closing_.all()) desk->shut_down(patience, one_less);
  one_less();
}

std::size_t Gateway::leaving() const {
  std::size_t count = closing_.all().size();
  for (const auto& desk : desks_) count += desk->leaving();
  return count;
}

}  // namespace mcpivot
