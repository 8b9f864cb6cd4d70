// A server that two clients share, in virtual time. Each client puts a canary into everything it asks; at the
// end of every test, neither has seen the other's.
//
// One thread.
#pragma once

#include <gmock/gmock.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "fleet.h"
#include "gateway/gateway.h"
#include "ledger.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "sim_backend.h"
#include "sim_world.h"

namespace mcpivot {

using namespace std::chrono_literals;
using simulation::SimBackend;

// Clients of one gateway, in virtual time. Both use the same ids: each thinks that it is alone.
class SharedServer : public testing::Test, private simulation::Ledger {
 protected:
  class Client final : public Peer {
   public:
    Client(SharedServer& test, std::string name, std::string_view capabilities = R"({"roots":{}})",
           std::string_view as = {}, const std::string& profile = {})
        : test_(test),
          desk_(profile.empty() ? &test.gateway->open() : &test.gateway->open(profile)),
          id_(desk_->client()),
          name_(std::move(name)) {
      test_.clients.add(id_, *this);
      desk_->start();
      ask("initialize", fmt::format(R"({{"protocolVersion":"2025-06-18","capabilities":{},)"
                                    R"("clientInfo":{{"name":"{}","version":"1"}}}})",
                                    capabilities, as.empty() ? std::string_view(name_) : as));
      test_.pass(50ms);
    }
    ~Client() override { leave(); }

    void leave(std::chrono::milliseconds patience = 100ms, std::chrono::milliseconds then = 1s) {
      if (desk_ == nullptr) return;
      test_.clients.remove(id_);
      test_.gateway->close(id_, patience);
      desk_ = nullptr;
      test_.pass(then);
    }
    std::string send(std::string_view method, std::string_view params) {
      const std::string id = std::to_string(++last_id_);
      const std::string line = request_line(id, method, params);
      desk_->request({.client = id_}, *read_message(line));
      return id;
    }
    // With these members of the params, in the modern era.
    std::string send_modern(std::string_view method, std::string_view members) {
      const std::string id = std::to_string(++last_id_);
      const std::string line = request_line(
          id, method,
          fmt::format(R"({{{},"_meta":{{"{}":"2026-07-28","{}":{{"elicitation":{{"url":{{}}}}}}}}}})",
                      members, meta_key::version, meta_key::client_capabilities));
      desk_->request({.client = id_, .era = Era::modern}, *read_message(line));
      return id;
    }
    std::string ask(std::string_view method, std::string_view params) {
      const std::string id = send(method, params);
      test_.pass(500ms);
      return answer_to(id);
    }
    // With its own name in the arguments: servers repeat it.
    std::string start_call(const std::string& how = {}) {
      return send("tools/call",
                  fmt::format(R"({{"name":"{}","arguments":{{"n":0,"canary":"{}"{}}}}})", tool, name_, how));
    }
    std::string call(const std::string& how = {}) {
      const std::string id = start_call(how);
      test_.pass(500ms);
      return answer_to(id);
    }
    std::string answer_to(std::string_view id) const {
      for (const std::string& line : heard)
        if (const auto message = read_message(line);
            message && message->is_answer() && message->text(message->id) == id)
          return line;
      return {};
    }
    void cancel(std::string_view id) {
      const std::string line = cancellation(id, "never mind");
      desk_->cancel({.client = id_}, *read_message(line));
    }
    void notify(std::string_view method) {
      const std::string line = request_line({}, method, {});
      desk_->notify(*read_message(line));
    }
    // Answers the last question that it was asked.
    void answer_question(std::string_view result) {
      const auto [from, id] = questions.back();
      const std::string line = result_answer("1", result);
      if (Generation* const asker = desk_->find(from)) asker->answer(id_, *read_message(line), id);
      test_.pass(500ms);
    }
    Desk& desk() { return *desk_; }
    ClientId id() const { return id_; }
    Instance& instance() { return desk_->fleet().members().front()->instance(); }

    std::vector<std::string> heard;
    std::vector<std::pair<GenerationId, std::string>> questions;  // whose, and under which id
    std::vector<GenerationId> forgotten;
    bool stuffed = false;
    std::string tool = "work";

   private:
    void pass(ToClient& said) override {
      heard.push_back(spliced(said.message.raw, said.edits.list()));
      if (said.message.kind == Kind::request)
        questions.emplace_back(said.from, said.message.text(said.message.id));
    }
    void forget(GenerationId from) override { forgotten.push_back(from); }
    void answer(std::uint32_t, std::string_view line) override { heard.emplace_back(line); }
    void answer(std::uint32_t, const Message& inside, std::span<const Edit> around) override {
      heard.push_back(spliced(inside.raw, around));
    }
    void announce(std::string_view line) override { heard.emplace_back(line); }
    bool full() const override { return stuffed; }
    bool overflows() const override { return stuffed; }

    SharedServer& test_;
    Desk* desk_;
    ClientId id_;
    std::string name_;
    int last_id_ = 0;
  };

  void open(std::string_view fleet) {
    gateway = std::make_unique<Gateway>(world, clients, simulation::fleet_from(fleet));
    ann = std::make_unique<Client>(*this, "canary-ann");
    bob = std::make_unique<Client>(*this, "canary-bob");
  }
  // Ann connects with the profile p, Bob with q, and these are their servers.
  void open_profiles(std::vector<std::string> of_p, std::vector<std::string> of_q) {
    ann.reset();
    bob.reset();
    gateway = std::make_unique<Gateway>(world, clients, with_profiles(std::move(of_p), std::move(of_q)));
    ann = std::make_unique<Client>(*this, "canary-ann", "{}", "", "p");
    bob = std::make_unique<Client>(*this, "canary-bob", "{}", "", "q");
    ann->tool = bob->tool = "alpha__work";
  }
  static GatewayConfig with_profiles(std::vector<std::string> of_p, std::vector<std::string> of_q) {
    GatewayConfig config = simulation::fleet_from(
        "alpha=process,shared,active beta=process,shared,active gamma=process,shared,active");
    config.profiles["p"].servers = std::move(of_p);
    config.profiles["q"].servers = std::move(of_q);
    return config;
  }
  int lives_of(const std::string& server) {
    int lives = 0;
    world.each_life(server, [&](SimBackend&) { ++lives; });
    return lives;
  }
  void SetUp() override { open("alpha=process,shared,replay"); }
  void TearDown() override {
    for (const auto& [client, name] : {std::pair(ann.get(), "canary-bob"), {bob.get(), "canary-ann"}})
      EXPECT_THAT(client->heard, testing::Not(testing::Contains(testing::HasSubstr(name))));
    ann.reset();
    bob.reset();
    gateway.reset();
    EXPECT_EQ(world.alive(), 0);
  }
  void pass(std::chrono::milliseconds time) {
    const auto until = world.timers().now() + time;
    while (world.timers().step(until)) continue;
  }
  void blurt(std::string_view what) {
    world.each_life("alpha", [&](SimBackend& life) { life.blurt(what); });
    pass(50ms);
  }
  void kill() {
    world.each_life("alpha", [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
    pass(1s);
  }
  std::vector<std::string> sent(std::string_view method) const {
    std::vector<std::string> lines;
    for (const std::string& line : lines_)
      if (find_member(line, "method") == quote(method)) lines.push_back(line);
    return lines;
  }
  // Ledger
  void executed(int, const std::string&) override {}
  void bad_retry(int, const std::string&, const std::string&) override {}
  void resumed(int, const std::string&, bool) override {}
  void wrong(const std::string&, const std::string&) override {}
  void finished(int) override {}
  void refused_era(const std::string&) override {}
  int died(const std::string&, const std::vector<int>&) override { return 2; }
  void buried(const std::string&, pid_t, int, bool) override {}
  void born(const std::string&) override {}
  void runs_twice(const std::string&) override { ADD_FAILURE() << "it runs twice"; }
  bool serves(const std::string&, pid_t) const override { return true; }
  void ended_with_tasks(const std::string&, simulation::Millis) override {}
  void sent_to(const std::string&, std::string_view line) override { lines_.emplace_back(line); }

  simulation::SimWorld world{1, *this};
  Clients clients;
  std::unique_ptr<Gateway> gateway;
  std::unique_ptr<Client> ann;
  std::unique_ptr<Client> bob;

 private:
  std::vector<std::string> lines_;
};

}  // namespace mcpivot
