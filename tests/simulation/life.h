// One run of mcpivot within a simulation: its gateway, the session of the client that started it, guests with
// their own sessions, and terminals; guests and terminals come and go.
#pragma once

#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "bookkeeper.h"
#include "client.h"
#include "gateway/gateway.h"
#include "gateway/link_client.h"
#include "journal_check.h"
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
    int guests = 0;
    int requests_of_guests = 20'000'000;
  };
  Life(SimWorld& world, Oracle& oracle, const mcpivot::GatewayConfig& config, std::uint64_t seed,
       Numbers& numbers, Visits& visits);
  ~Life();

  void act(const Action& action);
  void configure(const mcpivot::GatewayConfig& config);
  void look();  // at what the servers' states are by now

  // Ends mcpivot. `gone` is called once it has ended.
  void end(std::function<void()> gone);
  bool ending() const { return ending_; }

  Client& client() { return client_; }
  // Everyone who has a seat: the client and the guests that are present.
  struct Seated {
    Client& client;
    mcpivot::Desk& desk;
  };
  std::vector<Seated> seated();
  mcpivot::Gateway& gateway() { return gateway_; }
  mcpivot::ControlTools::Fleet& fleet() { return desk_.fleet(); }
  // False while the tools of another program are in its place.
  bool has_pivot_call() const { return has_pivot_call_; }
  const mcpivot::Member* find(const std::string& server);  // of a guest: "alpha~g1"
  // Checks that no more requests wait than the limits allow.
  void judge_bounds();
  // Enough time has passed in a working world that nothing is in flight anymore.
  void judge_starts();
  // Whether a server has calls that it hasn't answered.
  bool is_at_work();
  // The servers have other tools from now on, and say so; mcpivot must have noticed.
  void change_tools();
  void judge_changes();
  // Everyone has been answered, and nothing is left over.
  void judge_rest();

 private:
  std::string script_of(const Seated& seat, const mcpivot::Member& member) const;
  // Each server that a seat's instance has now.
  void each_server(const std::function<void(const Seated&, const mcpivot::Member&, SimBackend&)>& what);
  void judge_era(const mcpivot::Member& member, mcpivot::Instance::State state);
  void type(const Action& action);
  void act_as(Client& client, const Action& action);
  void act_as_guest(const Action& action);
  void part(const std::string& guest);
  void shut_down();

  SimWorld& world_;
  Oracle& oracle_;
  Numbers& numbers_;
  Client client_;
  Bookkeeper books_;
  JournalCheck journal_;
  mcpivot::Clients clients_;
  mcpivot::Gateway gateway_;
  mcpivot::Desk& desk_;
  mcpivot::LinkClient session_;
  mcpivot::ControlTools typed_;  // as the control socket has its own
  // For terminals of `serve`, which control what all clients have; nothing is started for them.
  struct Steering {
    Steering(Life& life);
    mcpivot::Desk& desk;
    mcpivot::ControlTools typed;
  };
  std::unique_ptr<Steering> steering_;
  struct Guest {
    Guest(Life& life, int who, const std::string& name);
    Client client;
    mcpivot::Desk& desk;
    mcpivot::LinkClient session;
  };
  std::map<std::string, std::unique_ptr<Guest>> guests_;
  std::vector<std::unique_ptr<Guest>> parting_;
  std::map<std::string, Terminal*> terminal_at_;
  std::list<std::unique_ptr<Terminal>> terminals_;  // including those that left: nobody may call them
  std::map<const mcpivot::Member*, mcpivot::Instance::State> seen_;
  struct Tries {
    bool failed = false;  // since it was last ready
    int starts = 0;       // before those that are under way
  };
  std::map<const mcpivot::Member*, Tries> tries_;
  std::function<void()> gone_;
  bool has_pivot_call_;
  bool ending_ = false;
  std::shared_ptr<bool> here_ = std::make_shared<bool>();
};

}  // namespace simulation
