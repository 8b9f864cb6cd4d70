#include "config/profile.h"

#include <algorithm>

#include "base/contains.h"

namespace mcpivot {
namespace {

const Profile* find(const GatewayConfig& config, std::string_view name) {
  const auto found = config.profiles.find(std::string(name.empty() ? default_profile : name));
  return found == config.profiles.end() ? nullptr : &found->second;
}

}  // namespace

bool has_profile(const GatewayConfig& config, std::string_view name) {
  const Profile* const profile = find(config, name);
  return profile == nullptr ? name.empty() : !profile->broken;
}

GatewayConfig seen_through(const GatewayConfig& config, std::string_view name) {
  GatewayConfig seen = config;
  const Profile* const profile = find(config, name);
  if (!has_profile(config, name)) {
    seen.servers.clear();
    seen.powers = no_powers;
  }
  if (profile == nullptr || profile->broken) return seen;
  if (profile->servers)
    std::erase_if(seen.servers,
                  [&](const ServerEntry& entry) { return !contains(*profile->servers, entry.server.name); });
  for (ServerEntry& entry : seen.servers) {
    entry.granted = profile->tools;
    if (profile->active) entry.active = contains(*profile->active, entry.server.name);
  }
  seen.powers = {.build = contains(profile->control, "build"),
                 .restart = contains(profile->control, "restart"),
                 .logs = contains(profile->control, "logs"),
                 .others = false};
  return seen;
}

}  // namespace mcpivot
