#include "life.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <utility>

#include "sim_backend.h"

namespace simulation {

using mcpivot::Member;

namespace {

constexpr Millis patience{100};

std::pair<std::string, std::string> first_word(const std::string& text) {
  const auto space = text.find(' ');
  if (space == std::string::npos) return {text, {}};
  return {text.substr(0, space), text.substr(space + 1)};
}

}  // namespace

Life::Life(SimWorld& world, Oracle& oracle, const mcpivot::GatewayConfig& config, std::uint64_t seed,
           Numbers& numbers, Visits& visits)
    : world_(world),
      oracle_(oracle),
      numbers_(numbers),
      client_(world.timers(), oracle, seed, numbers.requests, {}),
      books_(oracle, visits),
      journal_(oracle, books_),
      gateway_(world, clients_, config),
      desk_(gateway_.open()),
      session_(client_.link(), clients_, desk_, [this](std::string_view) { shut_down(); }),
      typed_(world, clients_, desk_.fleet(), mcpivot::Compat::none),
      has_pivot_call_(config.compat == mcpivot::Compat::none) {
  oracle_.allows = [this](const std::string& server, std::string_view tool) {
    const Member* const member = find(server);
    return member == nullptr || member->tools().allows(tool);
  };
  oracle_.is_current = [this](const std::string& server, pid_t pid) {
    const Member* const member = find(server);
    if (member == nullptr || ending_) return false;
    const auto life = member->instance().status().life;
    return life && life->pid == pid;
  };
  oracle_.tells_model = [this](const std::string& server) {
    const Member* const member = find(server);
    return member != nullptr && member->active();
  };
  oracle_.is_at_work = [this](int number) {
    bool at_work = false;
    for (auto& [name, script] : world_.scripts())
      world_.each_life(name, [&](const SimBackend& life) {
        const auto open = life.actor().open();
        at_work =
            at_work || (life.alive() && !life.ending() && std::ranges::find(open, number) != open.end());
      });
    return at_work;
  };
  oracle_.is_being_stopped = [this](const std::string& server) {
    return world_.scripts().of(server.substr(0, server.find('~'))).stops > 0;
  };
  oracle_.whose = [this](const std::string& server) {
    const auto mark = server.find('~');
    if (mark == std::string::npos) return 0;
    const auto guest = guests_.find(server.substr(mark + 1));
    return guest == guests_.end() ? 0 : guest->second->client.seat().who;
  };
  oracle_.server_called = [this](const std::string& server) {
    const Member* const member = find(server);
    return member == nullptr ? nullptr : &member->instance();
  };
  clients_.observe(books_, world_.timers(), true);
  clients_.observe(journal_, world_.timers(), true);
  desk_.start();
  client_.start(session_);
}

Life::~Life() {
  client_.link().close();
  oracle_.allows = nullptr;
  oracle_.is_current = nullptr;
  oracle_.tells_model = nullptr;
  oracle_.server_called = nullptr;
  oracle_.is_at_work = nullptr;
  oracle_.is_being_stopped = nullptr;
  oracle_.whose = nullptr;
}

const Member* Life::find(const std::string& server) {
  const auto mark = server.find('~');
  const auto guest = mark == std::string::npos ? guests_.end() : guests_.find(server.substr(mark + 1));
  if (mark != std::string::npos && guest == guests_.end()) return nullptr;
  auto& of = mark == std::string::npos ? fleet() : guest->second->desk.fleet();
  for (const auto& member : of.members())
    if (member->name() == server.substr(0, mark)) return member.get();
  return nullptr;
}

std::vector<Life::Seated> Life::seated() {
  std::vector<Seated> all{{client_, desk_}};
  for (const auto& [name, guest] : guests_) all.push_back({guest->client, guest->desk});
  return all;
}

// --- guests

Life::Guest::Guest(Life& life, int who, const std::string& name)
    : client(life.world_.timers(), life.oracle_, static_cast<std::uint64_t>(who),
             life.numbers_.requests_of_guests, {.who = who, .guest = "~" + name}),
      // "g2f" comes in by a profile.
      desk(name.ends_with('f') ? life.gateway_.open("few") : life.gateway_.open()),
      session(client.link(), life.clients_, desk, [&life, name](std::string_view) { life.part(name); }) {
  life.world_.set_guest(desk.client(), name);
  desk.start();
  client.start(session);
  // "g1", "m1", "d1", "x1": the first letter is its era.
  const char* const how = name.starts_with('m')   ? "modern"
                          : name.starts_with('d') ? "dual"
                          : name.starts_with('x') ? "mixed"
                                                  : "2025-06-18";
  client.hello(client.own_number(), how);
  client.ready();
  // Immediately, so that it sees what the last one of its name has left.
  if (!client.is_undecided()) client.ask(client.own_number(), "prompts/list", {});
}

// "g1 call work", at a server.
void Life::act_as_guest(const Action& action) {
  if (ending_) return;
  const auto [name, rest] = first_word(action.text);
  const auto [deed, text] = first_word(rest);
  auto& guest = guests_[name];
  if (!guest) guest = std::make_unique<Guest>(*this, -++numbers_.guests, name);
  Action own = action;
  own.text = text;
  own.deed = deed_called(deed);
  act_as(guest->client, own);
}

// Its session may still be handling its last messages.
void Life::part(const std::string& name) {
  const auto found = guests_.find(name);
  if (found == guests_.end()) return;
  auto guest = std::move(found->second);
  guests_.erase(found);
  oracle_.gone(guest->client.seat().who);
  oracle_.forget_servers(guest->client.seat().guest);
  books_.gone(guest->desk.client());
  gateway_.close(guest->desk.client(), patience);
  guest->client.link().close();
  parting_.push_back(std::move(guest));
  world_.timers().later(Micros(0), [weak = std::weak_ptr(here_), this] {
    if (!weak.expired()) parting_.clear();
  });
}

void Life::look() {
  for (const auto& member : fleet().members()) {
    const auto state = member->instance().state();
    // Requests that waited may still start it.
    if (state == mcpivot::Instance::State::stopped && oracle_.expects_stop(member->name()) &&
        member->instance().stopped_on_request() && member->instance().status().waiting == 0)
      oracle_.stopped(member->name());
    auto& seen = seen_[member.get()];
    if (seen == state) continue;
    seen = state;
    judge_era(*member, state);
  }
}

// A server that rejects one era is started in the other immediately; that alone isn't a failure. After a
// failure, it may be tried in only one era, until it is stopped.
void Life::judge_era(const Member& member, mcpivot::Instance::State state) {
  Tries& tries = tries_[&member];
  const std::string server = script_of({client_, desk_}, member);
  const bool refused = oracle_.has_refused_era(server) &&
                       member.instance().trouble().find("other era)") != std::string_view::npos;
  if (state == mcpivot::Instance::State::failed && !tries.failed && !member.instance().config().era &&
      refused && oracle_.starts_of(server) == tries.starts + 1)
    oracle_.violate(fmt::format("{} has the other era, and is said to have failed: {}", member.name(),
                                member.instance().trouble()));
  const bool afresh = state == mcpivot::Instance::State::ready || state == mcpivot::Instance::State::stopped;
  tries.failed = !afresh && (tries.failed || state == mcpivot::Instance::State::failed);
  if (state != mcpivot::Instance::State::starting) tries.starts = oracle_.starts_of(server);
}

void Life::configure(const mcpivot::GatewayConfig& config) {
  if (ending_) return;
  gateway_.configure(config);
  seen_.clear();
  for (const auto& member : fleet().members()) tries_[member.get()].failed = true;
  for (const auto& member : fleet().members()) seen_[member.get()] = member->instance().state();
}

// --- what the plan does

void Life::act(const Action& action) {
  switch (action.deed) {
    case Deed::guest:
      return act_as_guest(action);
    case Deed::part:
      if (const auto found = guests_.find(action.server); found != guests_.end() && !ending_)
        found->second->client.vanish([this, name = action.server] { part(name); });
      return;
    case Deed::trouble:
      gateway_.set_trouble("line 3: no such key");
      return gateway_.add_notice("[mcpivot] the configuration was changed, and has errors; nothing was done");
    case Deed::hup:
      if (!ending_) gateway_.reload("after SIGHUP");
      return;
    case Deed::type:
      return type(action);
    case Deed::leave:
      if (const auto found = terminal_at_.find(action.server); found != terminal_at_.end()) {
        books_.gone(found->second->id());
        found->second->leave();
        terminal_at_.erase(found);
      }
      return;
    case Deed::kill:
      return world_.each_life(action.server, [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
    case Deed::blurt:
      return world_.each_life(action.server, [&](SimBackend& life) { life.blurt(action.text); });
    default:
      return act_as(client_, action);
  }
}

void Life::act_as(Client& client, const Action& action) {
  if (client.is_undecided() && action.deed != Deed::hello && action.deed != Deed::deaf)
    return client.when_decided([this, &client, action] { act_as(client, action); });
  switch (action.deed) {
    case Deed::hello:
      return client.hello(action.number, action.text);
    case Deed::ready:
      return client.ready();
    case Deed::call:
      return client.call(action.server, action.number, call_from(action.text, action.number));
    case Deed::through:
      return client.call_through(action.server, action.number, call_from(action.text, action.number));
    case Deed::control:
      return client.control(action.number, action.text);
    case Deed::batch:
      return client.batch(action.server, action.number, action.text);
    case Deed::crowd:
      for (int i = action.number; i < action.number + crowd_size; ++i)
        client.call(action.server, i, call_from(action.text, i));
      return;
    case Deed::ask: {
      const auto [method, params] = first_word(action.text);
      return client.ask(action.number, method, params);
    }
    case Deed::cancel:
      return client.cancel(action.number);
    case Deed::listen:
      return client.listen(action.number, action.text);
    case Deed::notify: {
      const auto [method, params] = first_word(action.text);
      return client.notify(method, params);
    }
    case Deed::noise:
      return client.noise(action.number);
    case Deed::deaf:
      return client.stop_reading(Millis(action.number));
    default:
      return;
  }
}

Life::Steering::Steering(Life& life)
    : desk(life.gateway_.open_for_terminals()),
      typed(life.world_, life.clients_, desk.fleet(), mcpivot::Compat::none) {}

void Life::type(const Action& action) {
  if (ending_) return;
  Terminal*& terminal = terminal_at_[action.server];
  // "s0" controls all, "t0" the client's own.
  const bool steers = action.server.starts_with('s');
  if (steers && !steering_) steering_ = std::make_unique<Steering>(*this);
  mcpivot::Desk& desk = steers ? steering_->desk : desk_;
  mcpivot::ControlTools& typed = steers ? steering_->typed : typed_;
  if (terminal == nullptr)
    terminal =
        terminals_
            .emplace_back(std::make_unique<Terminal>(clients_, desk, typed, oracle_, ++numbers_.terminals))
            .get();
  terminal->type(action.number, action.text);
}

// --- the end

void Life::end(std::function<void()> gone) {
  if (gone_) return;
  gone_ = std::move(gone);
  shut_down();
}

void Life::shut_down() {
  if (std::exchange(ending_, true)) return;
  gateway_.shut_down(patience, [this] { gone_(); });
}

void Life::judge_bounds() {
  for (const Seated& seat : seated())
    for (const auto& member : seat.desk.fleet().members())
      if (const std::size_t waiting = member->instance().status().waiting;
          waiting > (member->instance().is_shared() ? 2 : 1) * mcpivot::WaitingRoom::most_waiting)
        oracle_.violate(fmt::format("{} requests wait for {}", waiting, member->name()));
}

void Life::judge_starts() {
  for (const Seated& seat : seated())
    for (const auto& member : seat.desk.fleet().members())
      if (member->instance().state() == mcpivot::Instance::State::starting)
        oracle_.violate(fmt::format("{}{} has been starting for a long time: {}", member->name(),
                                    seat.client.seat().guest, member->instance().trouble()));
}

bool Life::is_at_work() {
  bool at_work = false;
  for (auto& [name, script] : world_.scripts())
    world_.each_life(name, [&](const SimBackend& life) {
      at_work = at_work || (life.alive() && !life.actor().open().empty());
    });
  return at_work;
}

std::string Life::script_of(const Seated& seat, const Member& member) const {
  return member.instance().is_shared() ? member.name() : member.name() + seat.client.seat().guest;
}

void Life::each_server(const std::function<void(const Seated&, const Member&, SimBackend&)>& what) {
  for (const Seated& seat : seated())
    for (const auto& member : seat.desk.fleet().members())
      if (member->instance().status().life)
        world_.each_life(script_of(seat, *member), [&](SimBackend& life) {
          if (life.alive() && !life.ending() && !life.is_cli()) what(seat, *member, life);
        });
}

void Life::change_tools() {
  std::set<const SimBackend*> changed;  // several seats may share one
  each_server([&](const Seated&, const Member&, SimBackend& life) {
    if (changed.insert(&life).second) life.blurt("tools");
  });
}

void Life::judge_changes() {
  each_server([&](const Seated&, const Member& member, const SimBackend& life) {
    if (life.actor().era() == mcpivot::Era::modern && !life.actor().hears_listens()) return;
    const int extra = life.actor().revision() % tool_revisions;
    for (int i = 1; i < tool_revisions; ++i)
      if ((member.instance().catalog().find(mcpivot::ListKind::tools, fmt::format("extra{}", i)) !=
           nullptr) != (i == extra))
        return oracle_.violate(
            fmt::format("{} has said that its tools changed, and mcpivot has the old ones", member.name()));
  });
}

void Life::judge_rest() {
  const auto wrong = [&](const std::string& what) { oracle_.violate("at rest, " + what); };
  std::set<const mcpivot::Instance*> lives;  // several seats may share one
  std::string states;
  std::size_t idle_alarms = 0;
  for (const Seated& seat : seated())
    for (const auto& member : seat.desk.fleet().members()) {
      const mcpivot::Status status = member->instance().status();
      if (status.waiting > 0) wrong(fmt::format("{} requests wait for {}", status.waiting, member->name()));
      if (status.draining > 0)
        wrong(fmt::format("{} generations of {} drain", status.draining, member->name()));
      if (status.building) wrong(fmt::format("{} is being built", member->name()));
      if (status.life && status.life->in_flight > 0)
        wrong(fmt::format("{} has {} calls in flight", member->name(), status.life->in_flight));
      if (status.life) lives.insert(&member->instance());
      states += fmt::format("; {} is {} ({})", member->name(), status.state, status.trouble);
      if (!member->active() && member->entry().idle_stop) ++idle_alarms;
    }
  if (steering_)
    for (const auto& member : steering_->desk.fleet().members())
      if (!member->active() && member->entry().idle_stop) ++idle_alarms;
  if (world_.alive() != static_cast<int>(lives.size()))
    wrong(fmt::format("{} servers serve, and {} processes or sessions are there: {}", lives.size(),
                      world_.alive(), states));
  for (auto& [name, script] : world_.scripts())
    world_.each_life(name, [&](SimBackend& life) {
      if (life.alive() && !life.actor().open().empty())
        wrong(fmt::format("{} still works on {}, which nobody waits for", name, life.actor().open().front()));
    });
  each_server([&](const Seated& seat, const Member& member, const SimBackend& life) {
    if (life.spoken() != life.actor().era().value_or(life.spoken()))
      wrong(fmt::format("{} is taken for a server of the other era", member.name()));
    const bool told = oracle_.is_modern(seat.client.seat().who) || member.instance().is_shared() ||
                      life.actor().era() == mcpivot::Era::modern;
    if (told && life.actor().questions() > 0)
      wrong(fmt::format("{} has asked something, and was not answered", member.name()));
  });
  for (const Seated& seat : seated()) {
    if (seat.client.asked() > 0)
      wrong(fmt::format("the client has {} questions that nobody waits for", seat.client.asked()));
    if (!seat.client.list_is_right()) wrong("the client's list of tools is not what it would be told now");
    if (seat.client.wire().waiting_bytes() > 0) wrong("the client has something to read");
  }
  if (world_.builds() > 0) wrong("something is being built");
  if (gateway_.leaving() > 0) wrong(fmt::format("{} that are gone are still there", gateway_.leaving()));
  for (const std::string& server : world_.unwatched())
    wrong(fmt::format("nobody would notice that sources of {} are saved", server));
  books_.judge_rest();
  journal_.judge_rest();
  if (world_.timers().set() > idle_alarms)
    wrong(fmt::format("{} alarms are set; {} are known", world_.timers().set(), idle_alarms));
}

}  // namespace simulation
