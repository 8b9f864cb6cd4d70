// What all clients share: the configuration, and the servers with their builds and watches. Each client has a
// desk of its own, with its own instances of the servers, and so learns nothing about the others.
//
// One thread.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "config/config.h"
#include "gateway/desk.h"
#include "gateway/leaving.h"

namespace mcpivot {

class Gateway {
 public:
  // The world and the clients must outlive it.
  Gateway(World& world, Clients& clients, GatewayConfig config);

  // For a new client: with everything that is configured, or with what this profile shows of it.
  Desk& open();
  Desk& open(const std::string& profile);
  // Whether clients can connect with this profile; the empty one works unless the default profile has errors.
  bool has_profile(std::string_view name) const;
  // The scopes that a token needs for it (config/profile.h).
  std::optional<std::vector<std::string>> scopes_of(std::string_view profile) const;
  std::vector<std::string> all_scopes() const;
  // For terminals: what is done there applies to every client.
  Desk& open_for_terminals();
  // The client is gone: its servers end, each within twice the patience, and then its desk.
  void close(ClientId client, std::chrono::milliseconds patience);

  // The clients that are connected now, as they call themselves.
  std::vector<std::pair<ClientId, std::string>> client_names() const;

  // Starts a new generation of every server, as requested from outside.
  void reload(const std::string& reason);
  // A sign-in to this server is over: instances that it rejected ask it again. `trouble`: why the sign-in
  // failed; empty: it succeeded.
  void sign_in_over(const std::string& server, const std::string& trouble);
  // The configuration has changed: servers are added, removed and changed, each on its own.
  void configure(const GatewayConfig& config);
  // The edited configuration has errors, which this line describes: nothing is done.
  void set_trouble(const std::string& line);
  // Something that every model should know.
  void add_notice(const std::string& words);
  void shut_down(std::chrono::milliseconds patience, std::function<void()> done);

  // Clients and servers that are gone, or no longer configured, and have not ended yet.
  std::size_t leaving() const;

 private:
  Desk& open(ClientId client);
  // The configuration, as this client sees it.
  GatewayConfig seen_by(ClientId client) const;
  std::shared_ptr<Server> added(const ServerConfig& config);

  World& world_;
  Clients& clients_;
  GatewayConfig config_;
  Servers servers_;
  std::map<std::string, std::weak_ptr<Server>> removed_;  // as long as instances of theirs are ending
  std::vector<std::unique_ptr<Desk>> desks_;
  std::map<ClientId, std::string> profiles_;  // of those that have one
  Leaving<Desk> closing_;                     // their clients are gone; their servers are ending
  bool ending_ = false;
};

}  // namespace mcpivot
