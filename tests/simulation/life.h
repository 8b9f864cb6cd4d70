// One run of mcpivot within a simulation: its gateway, one client's session, and terminals that come and go.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>

#include "client.h"
#include "gateway/gateway.h"
#include "gateway/session.h"
#include "sim_world.h"
#include "terminal.h"
#include "visits.h"

namespace simulation {

class Life {
 public:
  // `numbers` are those of requests and terminals that nobody planned, across lives.
  struct Numbers {
    int requests = 0;
    int terminals = 0;
  };
  Life(SimWorld& world, Oracle& oracle, const mcpivot::GatewayConfig& config, std::uint64_t seed,
       Numbers& numbers);
  ~Life();

  void act(const Action& action);
  void configure(const mcpivot::GatewayConfig& config);
  void look(Visits& visits);  // at what the servers' states are by now

  // mcpivot is to end. `gone` is called when it has.
  void end(std::function<void()> gone);
  bool ending() const { return ending_; }

  Client& client() { return client_; }
  mcpivot::Gateway& gateway() { return gateway_; }
  mcpivot::ControlTools::Fleet& fleet() { return gateway_.fleet(); }
  // Not where the tools of another program stand in its place.
  bool has_pivot_call() const { return has_pivot_call_; }
  const mcpivot::Member* find(const std::string& server);
  // No more wait than may.
  void judge_bounds();
  // Everybody has been answered, and nothing is left over.
  void judge_rest();

 private:
  void type(const Action& action);
  void shut_down();

  SimWorld& world_;
  Oracle& oracle_;
  Numbers& numbers_;
  Client client_;
  mcpivot::Clients clients_;
  mcpivot::Gateway gateway_;
  mcpivot::Session session_;
  mcpivot::ControlTools typed_;  // as the control socket has its own
  std::map<std::string, Terminal*> seated_;
  std::list<std::unique_ptr<Terminal>> terminals_;  // those that left, too: nobody may call them
  std::map<const mcpivot::Member*, mcpivot::Server::State> seen_;
  std::function<void()> gone_;
  bool has_pivot_call_;
  bool ending_ = false;
};

}  // namespace simulation
