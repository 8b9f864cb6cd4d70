// A client at its own desk, without a session in between: for unit tests, which see every line that it
// and its servers are sent.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gateway/gateway.h"
#include "ledger.h"
#include "sim_world.h"

namespace simulation {

class Visitor final : private mcpivot::Peer, private Ledger {
 public:
  // The fleet as fleet_from() reads it.
  explicit Visitor(std::string_view fleet);
  ~Visitor() override;

  void configure(std::string_view fleet);
  // Starts the servers, initializes, and lets everything become ready. Returns the answer to `initialize`.
  std::string arrive();
  // Sends a request. Returns its id.
  std::string send(std::string_view method, std::string_view params);
  std::string answer_to(std::string_view id) const;  // empty: there is none yet
  // Both; time passes until there is an answer, or 10 s are over.
  std::string ask(std::string_view method, std::string_view params);
  std::string call(std::string_view tool, std::string_view arguments = "{}");
  void pass(Millis time);

  mcpivot::Desk& desk() { return desk_; }
  mcpivot::Clients& clients() { return clients_; }
  mcpivot::Gateway& gateway() { return gateway_; }
  SimWorld& world() { return world_; }
  Millis now() const;
  // Everything that it received.
  const std::vector<std::string>& heard() const { return heard_; }
  // Which generations asked it something.
  const std::vector<mcpivot::GenerationId>& asked() const { return asked_; }
  // What a server was sent with this method.
  std::vector<std::string> lines_to(std::string_view server, std::string_view method) const;

 private:
  // Peer
  void pass(mcpivot::ToClient& said) override;
  void answer(std::uint32_t /*batch*/, const mcpivot::Message& inside,
              std::span<const mcpivot::Edit> around) override {
    heard_.push_back(mcpivot::spliced(inside.raw, around));
  }
  void answer(std::uint32_t /*batch*/, std::string_view line) override { heard_.emplace_back(line); }
  void announce(std::string_view line) override { heard_.emplace_back(line); }
  bool full() const override { return false; }

  // Ledger
  void executed(int /*number*/, const std::string& /*server*/) override {}
  int died(const std::string& /*server*/, const std::vector<int>& /*open*/) override { return ++deaths_; }
  void buried(const std::string& /*server*/, pid_t /*pid*/, int /*death*/, bool /*answered*/) override {}
  void born(const std::string& /*server*/) override {}
  void runs_twice(const std::string& /*server*/) override {}
  bool serves(const std::string& /*server*/, pid_t /*pid*/) const override { return true; }
  void ended_with_tasks(const std::string& /*server*/, Millis /*since_last*/) override {}
  void bad_retry(int /*number*/, const std::string& /*server*/, const std::string& /*state*/) override {}
  void resumed(int /*number*/, const std::string& /*server*/, bool /*complete*/) override {}
  void wrong(const std::string& /*server*/, const std::string& /*what*/) override {}
  void sent_to(const std::string& server, std::string_view line) override {
    sent_.emplace_back(server, std::string(line));
  }

  SimWorld world_{1, *this};
  mcpivot::Clients clients_;
  mcpivot::Gateway gateway_;
  mcpivot::Desk& desk_;
  mcpivot::Clock::Time began_;
  int last_id_ = 0;
  int deaths_ = 0;
  std::vector<std::string> heard_;
  std::vector<mcpivot::GenerationId> asked_;
  std::vector<std::pair<std::string, std::string>> sent_;  // to whom, what
};

}  // namespace simulation
