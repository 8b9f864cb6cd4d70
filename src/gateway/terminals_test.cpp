// A desk for terminals, which controls what all clients have.
#include <gmock/gmock.h>

#include <memory>
#include <optional>

#include "fleet.h"
#include "gateway/gateway.h"
#include "oracle.h"
#include "rpc/answers.h"
#include "sim_world.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;

// A caller, in virtual time.
class Guest final : public Peer {
 public:
  Guest(Gateway& gateway, Clients& clients, std::string_view profile)
      : gateway_(gateway),
        clients_(clients),
        desk_(profile.empty() ? gateway.open() : gateway.open(std::string(profile))) {
    clients_.add(id_, *this);
    desk_.start();
    send("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{}})");
  }
  ~Guest() override { leave(); }
  void leave() {
    if (!here_) return;
    here_ = false;
    clients_.remove(id_);
    gateway_.close(id_, 100ms);
  }
  void send(std::string_view method, std::string_view params) {
    const std::string line = request_line(std::to_string(++last_id_), method, params);
    desk_.request({.client = id_}, *read_message(line));
  }
  void call() { send("tools/call", R"({"name":"work","arguments":{"n":0}})"); }
  void restart() {
    desk_.fleet().members().front()->instance().reload(
        {.reason = "on request", .progress = {}, .done = [](const ReloadOutcome&) {}});
  }
  bool is_active() const { return desk_.fleet().members().front()->active(); }
  Instance::State state() const { return desk_.fleet().members().front()->instance().state(); }
  int generation() const {
    const auto life = desk_.fleet().members().front()->instance().status().life;
    return life ? life->generation : 0;
  }

 private:
  void pass(ToClient&) override {}
  void answer(std::uint32_t, std::string_view) override {}
  void answer(std::uint32_t, const Message&, std::span<const Edit>) override {}
  bool full() const override { return false; }

  Gateway& gateway_;
  Clients& clients_;
  Desk& desk_;
  const ClientId id_ = desk_.client();
  int last_id_ = 0;
  bool here_ = true;
};

class Terminals : public testing::Test {
 protected:
  Terminals() : gateway(world, clients, simulation::fleet_from("alpha=process,build")) {}
  void pass(std::chrono::milliseconds time) {
    const auto until = world.timers().now() + time;
    while (world.timers().step(until)) continue;
  }
  Guest& come(std::string_view profile = {}) {
    guests.push_back(std::make_unique<Guest>(gateway, clients, profile));
    pass(1s);
    return *guests.back();
  }
  ControlTools::Fleet& fleet() {
    if (!desk) desk = &gateway.open_for_terminals();
    return desk->fleet();
  }
  void accept() { reload(false, true); }
  void reload(bool build, bool accepts = false) {
    fleet().reload(*fleet().members().front(), {.build = build,
                                                .accepts = accepts,
                                                .reason = "on request",
                                                .progress = {},
                                                .done = [this](const ReloadOutcome& came) { outcome = came; },
                                                .id = asked = clients.next_reload()});
  }

  simulation::SimWorld world{1, oracle};
  simulation::Oracle oracle{world.timers()};
  Clients clients;
  Gateway gateway;
  std::vector<std::unique_ptr<Guest>> guests;
  Desk* desk = nullptr;
  ReloadId asked{};
  std::optional<ReloadOutcome> outcome;
};

TEST_F(Terminals, start_no_instance_of_their_own) {
  const Guest& guest = come();
  EXPECT_EQ(world.alive(), 1);
  reload(false);
  pass(5s);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->ok);
  EXPECT_EQ(guest.generation(), 2);
  EXPECT_EQ(world.alive(), 1);
}

TEST_F(Terminals, reload_the_instances_of_all_clients) {
  const Guest& first = come();
  const Guest& second = come();
  reload(true);
  pass(5s);
  ASSERT_TRUE(outcome);
  EXPECT_THAT(outcome->text,
              AllOf(HasSubstr("generation 2"), HasSubstr("1 instance of other clients follows")));
  EXPECT_EQ(first.generation(), 2);
  EXPECT_EQ(second.generation(), 2);
}

TEST_F(Terminals, get_their_reload_even_if_the_client_that_tries_it_leaves) {
  const Guest& first = come();
  Guest& second = come();
  second.call();  // so it tries out the change
  pass(1s);
  reload(true);
  pass(10ms);
  ASSERT_EQ(world.builds(), 1);
  second.leave();
  pass(10s);
  ASSERT_TRUE(outcome);
  EXPECT_TRUE(outcome->ok) << outcome->text;
  EXPECT_EQ(first.generation(), 2);
}

TEST_F(Terminals, can_build_an_unused_server_and_cancel_that) {
  reload(true);
  pass(1ms);
  EXPECT_EQ(world.builds(), 1);
  fleet().cancel_reload("alpha", asked);
  pass(100ms);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ok);
  EXPECT_THAT(outcome->text, HasSubstr("was stopped because the request was cancelled"));
  EXPECT_EQ(world.builds(), 0);

  reload(true);
  pass(10s);
  EXPECT_TRUE(outcome->ok);
  EXPECT_THAT(outcome->text, AllOf(HasSubstr("built \"alpha\""), HasSubstr("the next call starts it")));
  EXPECT_EQ(world.alive(), 0);
}

TEST_F(Terminals, take_no_client_its_only_server) {
  gateway.configure(simulation::fleet_from("alpha=process,active beta=process,active few:beta+"));
  const Guest& all = come();
  const Guest& few = come("few");
  EXPECT_EQ(fleet().set_active_for_all("beta", false), 1U);
  EXPECT_TRUE(few.is_active());
  EXPECT_EQ(fleet().set_active_for_all("alpha", false), 1U);  // the other one doesn't have it
  EXPECT_FALSE(all.is_active());
}

TEST_F(Terminals, that_list_tools_have_instances_until_they_leave) {
  bool known = false;
  fleet();
  desk->learn_tools({}, true, [&] { known = true; });
  pass(5s);
  EXPECT_TRUE(known);
  EXPECT_NE(fleet().names().tool("work"), nullptr);
  EXPECT_EQ(world.alive(), 1);
  gateway.close(desk->client(), 100ms);
  pass(5s);
  EXPECT_EQ(world.alive(), 0);
}

TEST_F(Terminals, are_told_if_the_server_they_build_is_removed) {
  reload(true);
  pass(1ms);
  ASSERT_EQ(world.builds(), 1);
  gateway.configure(simulation::fleet_from("beta=process"));
  pass(1ms);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ok);
  EXPECT_THAT(outcome->text, AllOf(HasSubstr("the build of \"alpha\" was stopped"),
                                   HasSubstr("removed from the configuration")));
  EXPECT_EQ(world.builds(), 0);
  pass(1s);
  EXPECT_EQ(world.alive(), 0) << "the new server was started for nobody";
}

TEST_F(Terminals, are_told_if_mcpivot_ends_during_their_build) {
  reload(true);
  pass(1ms);
  bool ended = false;
  gateway.shut_down(100ms, [&] { ended = true; });
  pass(1s);
  EXPECT_TRUE(ended);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ok);
  EXPECT_THAT(outcome->text, HasSubstr("mcpivot is shutting down"));

  outcome.reset();
  reload(true);
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ok);
  EXPECT_EQ(world.builds(), 0);
}

TEST_F(Terminals, cannot_accept_a_build_if_none_is_held) {
  accept();
  ASSERT_TRUE(outcome);
  EXPECT_FALSE(outcome->ok);
  EXPECT_THAT(outcome->text, HasSubstr("no build of \"alpha\" is held back"));
}

TEST_F(Terminals, can_accept_a_held_build_even_if_nothing_runs) {
  gateway.configure(simulation::fleet_from("alpha=process,build,gate"));
  Guest& guest = come();
  fleet();
  const auto is_held = [&] { return fleet().members().front()->instance().holds_build(); };
  for (int i = 0; i < 50 && !is_held(); ++i) {
    world.scripts().of("alpha").builds.push_back({.news = true});
    reload(true);
    pass(5s);
  }
  ASSERT_TRUE(is_held());
  guest.leave();
  pass(1s);
  ASSERT_EQ(world.alive(), 0);
  accept();
  EXPECT_TRUE(outcome->ok);
  EXPECT_THAT(outcome->text, AllOf(HasSubstr("accepted"), HasSubstr("the next call starts it")));
  EXPECT_FALSE(is_held());
}

TEST_F(Terminals, can_stop_a_failed_server_before_its_retry) {
  auto& births = world.scripts().of("alpha").births;
  births.assign(50, simulation::Birth::rejects);
  const Guest& guest = come();
  ASSERT_EQ(guest.state(), Instance::State::failed);
  ControlTools typed(world, clients, fleet(), Compat::none);
  const std::string line =
      request_line("1", "tools/call", R"({"name":"pivot_restart","arguments":{"stop":true}})");
  typed.call({.client = desk->client()}, *read_message(line));
  births.clear();
  pass(60s);
  EXPECT_EQ(guest.state(), Instance::State::stopped);
  EXPECT_EQ(world.alive(), 0);
}

// --- what one client's instance shows, the others follow

TEST_F(Terminals, reload_an_instance_even_if_it_was_just_restarted) {
  Guest& first = come();
  Guest& second = come();
  second.call();
  pass(1s);
  world.scripts().of("alpha").builds.push_back({.took = 200});
  reload(true);  // the second client's instance tries it out
  pass(100ms);
  world.scripts().of("alpha").births.push_back(simulation::Birth::slow);
  first.restart();  // with the program that exists
  pass(10s);
  EXPECT_EQ(second.generation(), 2);
  EXPECT_EQ(first.generation(), 3) << "the second was started before the build was done";
}

}  // namespace
}  // namespace mcpivot
