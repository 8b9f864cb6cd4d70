#include "config/profile.h"

#include <algorithm>

#include "base/contains.h"

namespace mcpivot {
namespace {

const Profile* find(const GatewayConfig& config, std::string_view name) {
  const auto found = config.profiles.find(std::string(name.empty() ? default_profile : name));
  return found == config.profiles.end() ? nullptr : &found->second;
}

Powers powers_of(const Profile& profile) {
  return {.build = contains(profile.control, "build"),
          .restart = contains(profile.control, "restart"),
          .logs = contains(profile.control, "logs"),
          .others = false};
}

}  // namespace

bool has_profile(const GatewayConfig& config, std::string_view name) {
  const Profile* const profile = find(config, name);
  return profile == nullptr ? name.empty() : !profile->broken;
}

std::optional<std::vector<std::string>> scopes_of(const GatewayConfig& config, std::string_view name) {
  if (!has_profile(config, name)) return std::nullopt;
  const Profile* const profile = find(config, name);
  if (profile != nullptr) return profile->scopes;
  return config.profiles.empty() ? std::optional(std::vector<std::string>()) : std::nullopt;
}

std::vector<std::string> all_scopes(const GatewayConfig& config) {
  std::vector<std::string> all;
  for (const auto& [name, profile] : config.profiles)
    for (const std::string& scope : profile.scopes.value_or(std::vector<std::string>()))
      if (!profile.broken && !contains(all, scope)) all.push_back(scope);
  return all;
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
  seen.powers = powers_of(*profile);
  return seen;
}

Powers powers_of_all(const GatewayConfig& config, std::string_view server) {
  Powers all;
  for (const auto& [name, profile] : config.profiles) {
    if (profile.broken || (profile.servers && !contains(*profile.servers, server))) continue;
    const Powers theirs = powers_of(profile);
    all = {.build = all.build && theirs.build,
           .restart = all.restart && theirs.restart,
           .logs = all.logs && theirs.logs,
           .others = all.others && theirs.others};
  }
  return all;
}

}  // namespace mcpivot
