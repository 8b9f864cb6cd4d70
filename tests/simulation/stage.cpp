#include "stage.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "fleet.h"
#include "life.h"
#include "log/log.h"
#include "sim_backend.h"

namespace simulation {
namespace {

using mcpivot::Clock;

// After the plan: until everything begun has come to an end; for one answer; and for everything to be quiet.
constexpr Millis recovery{100'000};
constexpr Millis answer_time{40'000};
// For a server that was known to support one era and doesn't answer in it now: until that start is given up
// and the next one has tried the other era.
constexpr Millis second_start{20'000};
constexpr Millis quiet{200'000};
constexpr Millis longest_parking{620'000};
constexpr Millis farewell{5'000};
constexpr std::uint64_t most_events = 5'000'000;  // beyond this, it is stuck in a loop

// Whether it may start a server that someone stopped. Requests are judged where they are made.
bool wakes(Deed deed) {
  switch (deed) {
    case Deed::fleet:
    case Deed::hup:
    case Deed::type:
      return true;
    default:
      return false;
  }
}

// Whether any client may stop reading from now on.
bool stops_listening(const Action& action) {
  return action.deed == Deed::deaf || action.text.find("deaf") != std::string::npos ||
         action.text == name_of(Birth::hangs);
}

bool has_tools(const mcpivot::Member& member) {
  return !member.instance().catalog().list(mcpivot::ListKind::tools).empty();
}

class Stage {
 public:
  Stage(const Plan& plan, Visits& visits)
      : plan_(plan), visits_(visits), world_(plan.chance, *this_oracle()), oracle_(world_.timers()) {
    if (Oracle::tracing) mcpivot::set_up_log([this](std::string_view line) { oracle_.trace("log", line); });
  }
  ~Stage() {
    if (Oracle::tracing) mcpivot::set_up_log(std::function<void(std::string_view)>());
  }
  Stage(const Stage&) = delete;
  Stage& operator=(const Stage&) = delete;

  Verdict play();

 private:
  Ledger* this_oracle() { return &oracle_; }
  Clock::Time now() { return world_.timers().now(); }
  void pass(Clock::Time until);
  void plan_birth(const Action& action);
  void set_tongue(const Action& action);
  void set_fleet(const std::string& text);
  void act(const Action& action);
  void begin_life();
  void on_gone();
  void rest();
  bool call_each(const Life::Seated& seat);
  void call(const Life::Seated& seat, const mcpivot::Member& member, int number, const char* text);
  void ask_back(const Life::Seated& seat, const mcpivot::Member& member);
  void restart(const Life::Seated& seat, const std::string& name);

  const Plan& plan_;
  Visits& visits_;
  SimWorld world_;
  Oracle oracle_;
  mcpivot::GatewayConfig config_;
  Life::Numbers numbers_;
  std::unique_ptr<Life> life_;
  int lives_ = 0;
  bool circling_ = false;
};

void Stage::pass(Clock::Time until) {
  while (!circling_ && world_.timers().step(until)) {
    if (life_) life_->look();
    if (world_.timers().events() > most_events) {
      circling_ = true;
      oracle_.violate("it is stuck in a loop");
    }
  }
}

void Stage::begin_life() {
  oracle_.wanted_back();
  life_ = std::make_unique<Life>(world_, oracle_, config_, seed_of(plan_.chance, "client", ++lives_),
                                 numbers_, visits_);
}

// mcpivot says that it has ended: everyone has been answered, and no process is left.
void Stage::on_gone() {
  oracle_.judge_end(true);
  for (const Life::Seated& seat : life_->seated()) seat.client.link().close();
  for (int who = -numbers_.guests; who <= numbers_.terminals; ++who) oracle_.gone(who);
  oracle_.forget_deaths();
  if (world_.alive() > 0)
    oracle_.violate(fmt::format("mcpivot has ended, and {} servers run", world_.alive()));
  world_.timers().later(Micros(0), [this] {
    life_.reset();
    if (world_.timers().set() > 0)
      oracle_.violate(fmt::format("mcpivot is gone, and {} alarms are set", world_.timers().set()));
    begin_life();
  });
}

void Stage::plan_birth(const Action& action) {
  auto& births = world_.scripts().of(action.server).births;
  births.insert(births.end(), static_cast<std::size_t>(action.number), birth_called(action.text));
}

void Stage::set_tongue(const Action& action) {
  Script& script = world_.scripts().of(action.server);
  script.tongue = tongue_called(action.text);
  if (action.number == 1) ++script.stamp;
}

void Stage::set_fleet(const std::string& text) {
  config_ = fleet_from(text);
  oracle_.reconfigured();
  for (const mcpivot::ServerEntry& entry : config_.servers)
    if (entry.server.sharing == mcpivot::Sharing::shared) oracle_.may_share(entry.server.name);
}

void Stage::act(const Action& action) {
  for (const auto& member : life_->fleet().members())
    if (action.server == "-" || action.deed == Deed::part || action.server.starts_with('t') ||
        action.server.starts_with('s') || member->name() == action.server)
      visits_.act(action.deed, member->instance().state());
  oracle_.trace("", to_text({.chance = 0, .actions = {action}}).substr(9));
  if (action.deed != Deed::call && action.deed != Deed::ask && action.deed != Deed::cancel) oracle_.meddled();
  if (wakes(action.deed)) oracle_.wanted_back();
  Script* const script = action.server == "-" ? nullptr : &world_.scripts().of(action.server);
  switch (action.deed) {
    case Deed::fleet:
      set_fleet(action.text);
      return life_->configure(config_);
    case Deed::crowd:
      for (const int time : {5, 50, 500})
        world_.timers().later(Millis(time), [this] { life_->judge_bounds(); });
      return life_->act(action);
    case Deed::quit:
      return life_->end([this] { on_gone(); });
    case Deed::vanish:
      return life_->client().vanish([this] { life_->end([this] { on_gone(); }); });
    case Deed::disk:
      if (action.number == 2) return world_.files().damage();
      return world_.files().set_full(action.number == 1);
    case Deed::daemon:
      if (action.text == "forget")
        return world_.each_life(action.server, [](SimBackend& life) { life.lose_session(true); });
      return world_.set_daemon(action.server, action.text == "up");
    case Deed::births:
      return plan_birth(action);
    case Deed::tongue:
      return set_tongue(action);
    case Deed::builds:
      script->builds.push_back(
          {.ok = action.text != "fails", .took = action.number, .news = action.text == "news"});
      return;
    case Deed::save:
      return world_.save(action.server);
    case Deed::replace:
      return world_.replace(action.server);
    case Deed::slow:
      script->slow_to_end = action.number == 1;
      return;
    default:
      return life_->act(action);
  }
}

void Stage::restart(const Life::Seated& seat, const std::string& name) {
  if (seat.client.seat().who != 0) {
    seat.client.control(seat.client.own_number(), fmt::format(R"(pivot_restart {{"server":"{}"}})", name));
  } else {
    life_->act({.at = 0,
                .deed = Deed::type,
                .server = "t9",
                .number = life_->client().own_number(),
                .text = fmt::format(R"(pivot_restart {{"server":"{}"}})", name)});
  }
  pass(now() + Millis(5'000));
}

void Stage::call(const Life::Seated& seat, const mcpivot::Member& member, int number, const char* text) {
  const std::string shown = seat.desk.fleet().names().shown(member, mcpivot::ListKind::tools, "work");
  CallText call = call_from(text, number);
  if (!member.active()) {
    call.arguments = fmt::format(R"({{"tool":"{}","arguments":{}}})", shown, call.arguments);
    seat.client.call_named("pivot_call", member.name(), number, call);
  } else {
    seat.client.call_named(shown, member.name(), number, call);
  }
}

// A server that asks something during a call gets an answer, and so does the call: by the fourth attempt,
// because clients don't always answer.
void Stage::ask_back(const Life::Seated& seat, const mcpivot::Member& member) {
  for (int i = 0; i < 4; ++i) {
    int number = seat.client.own_number();
    while (!seat.client.comes_back(number)) number = seat.client.own_number();
    call(seat, member, number, R"(work ,"do":"ask")");
    const auto until = now() + Millis(6'000);
    while (!circling_ && !oracle_.was_answered_in_rounds(number) && now() < until) pass(now() + Millis(50));
    if (circling_ || oracle_.was_answered_in_rounds(number)) return;
  }
  oracle_.violate(
      fmt::format("{}{} asks back, and its calls come to nothing", member.name(), seat.client.seat().guest));
}

// Every server answers again.
bool Stage::call_each(const Life::Seated& seat) {
  std::vector<std::string> names;
  for (const auto& member : seat.desk.fleet().members()) names.push_back(member->name());
  bool any = false;
  for (const std::string& name : names) {
    const mcpivot::Member* const member = life_->find(name + seat.client.seat().guest);
    if (member == nullptr || (!member->active() && !life_->has_pivot_call())) continue;
    // A guest with another program's control tools can't start a server whose tools nobody knows.
    if (seat.client.seat().who != 0 && !life_->has_pivot_call() && !has_tools(*member)) continue;
    bool good = false;
    for (int i = 0; i < 3 && !good; ++i) {
      // A resting server that refused to list its tools has none to call: until it lists them, their bare
      // names may mean another server's tools.
      if (!has_tools(*member)) restart(seat, name);
      const auto listed = now() + second_start;
      while (!circling_ && !has_tools(*member) && now() < listed) pass(now() + Millis(50));
      const int number = seat.client.own_number();
      call(seat, *member, number, "work");
      const auto until = now() + answer_time;
      while (!circling_ && !oracle_.was_answered(number) && now() < until) pass(now() + Millis(5));
      good = oracle_.was_answered_well(number);
      if (!good) pass(now() + second_start);
    }
    if (!good) oracle_.violate(fmt::format("{}{} does not recover", name, seat.client.seat().guest));
    any = any || (good && member->active());
    if (good && seat.client.asks_at_rest()) ask_back(seat, *member);
  }
  return any;
}

void Stage::rest() {
  world_.heal();
  pass(now() + Millis(1'000));
  Client& client = life_->client();
  for (const Life::Seated& seat : life_->seated()) seat.client.read_again();
  if (!client.greeted()) pass(now() + answer_time);
  if (!client.greeted()) client.hello(client.own_number(), "2025-06-18");
  client.ready();
  // A server gets messages once its client has sent `initialize` or a modern request.
  for (const Life::Seated& seat : life_->seated()) {
    if (!seat.client.has_modern()) continue;
    int number = seat.client.own_number();
    while (!seat.client.speaks_modern(number) || seat.client.is_faulty(number))
      number = seat.client.own_number();
    seat.client.ask(number, "tools/list", {});
  }
  pass(now() + recovery);
  life_->judge_starts();
  // The client first, so that it makes no difference to it whether there are guests.
  for (const Life::Seated& seat : life_->seated()) {
    if (call_each(seat)) oracle_.judge_deaths(seat.client.seat().who);
    pass(now() + quiet);
    seat.client.check_list();
    pass(now() + Millis(1'000));
  }
  // A call whose client doesn't come back is kept for 10 minutes, and so is its answer.
  if (life_->is_at_work() || world_.timers().set() > 0) pass(now() + longest_parking);
  // Everyone who wants to know is told about a last change that servers make by themselves.
  life_->change_tools();
  pass(now() + Millis(2'000));
  life_->judge_changes();
  for (const Life::Seated& seat : life_->seated()) seat.client.check_list();
  pass(now() + Millis(1'000));
  oracle_.judge_end(false);
  life_->judge_rest();
}

Verdict Stage::play() {
  oracle_.all_listen = true;
  oracle_.no_crowds =
      std::ranges::none_of(plan_.actions, [](const Action& action) { return action.deed == Deed::crowd; });
  const auto begin = now();
  for (std::size_t i = 0; i < plan_.actions.size(); ++i) {
    const Action& action = plan_.actions[i];
    if (!life_ && (action.deed == Deed::births || action.deed == Deed::tongue)) {
      if (stops_listening(action)) oracle_.all_listen = false;
      action.deed == Deed::births ? plan_birth(action) : set_tongue(action);
      continue;
    }
    if (!life_) {
      if (action.deed == Deed::fleet) set_fleet(action.text);
      begin_life();
      if (action.deed == Deed::fleet) continue;
    }
    pass(begin + Micros(action.at));
    if (stops_listening(action)) oracle_.all_listen = false;
    world_.timers().count();
    act(action);
    life_->look();
  }
  if (!life_) begin_life();
  rest();
  life_->end([this] {
    oracle_.judge_end(true);
    if (world_.alive() > 0)
      oracle_.violate(fmt::format("mcpivot has ended, and {} servers run", world_.alive()));
    circling_ = true;  // nothing more happens
  });
  pass(now() + farewell);
  const std::string transcript = life_->client().transcript();
  if (!circling_) oracle_.violate("mcpivot does not end");
  life_.reset();
  if (world_.timers().set() > 0)
    oracle_.violate(fmt::format("mcpivot is gone, and {} alarms are set", world_.timers().set()));
  return {oracle_.broken(), world_.timers().events(), oracle_.hash(), transcript};
}

}  // namespace

Verdict play(const Plan& plan, Visits& visits) {
  Stage stage(plan, visits);
  return stage.play();
}

}  // namespace simulation
