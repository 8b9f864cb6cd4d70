#include "life.h"

#include <fmt/format.h>

#include <algorithm>
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
           Numbers& numbers)
    : world_(world),
      oracle_(oracle),
      numbers_(numbers),
      client_(world.timers(), oracle, seed, numbers.requests),
      gateway_(world, clients_, config),
      session_(client_.link(), clients_, gateway_, [this](std::string_view) { shut_down(); }),
      typed_(world, clients_, gateway_.fleet(), mcpivot::Compat::none),
      has_pivot_call_(config.compat == mcpivot::Compat::none) {
  oracle_.allows = [this](const std::string& server, std::string_view tool) {
    const Member* const member = find(server);
    return member == nullptr || member->tools().allows(tool);
  };
  oracle_.is_current = [this](const std::string& server, pid_t pid) {
    const Member* const member = find(server);
    if (member == nullptr || ending_) return false;
    const auto life = member->server().status().life;
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
  oracle_.server_called = [this](const std::string& server) {
    const Member* const member = find(server);
    return member == nullptr ? nullptr : &member->server();
  };
  gateway_.set_client(session_.id());
  gateway_.start();
  client_.start(session_);
}

Life::~Life() {
  client_.link().close();
  oracle_.allows = nullptr;
  oracle_.is_current = nullptr;
  oracle_.tells_model = nullptr;
  oracle_.server_called = nullptr;
  oracle_.is_at_work = nullptr;
}

const Member* Life::find(const std::string& server) {
  for (const auto& member : fleet().members())
    if (member->name() == server) return member.get();
  return nullptr;
}

void Life::look(Visits& visits) {
  for (const auto& member : fleet().members()) {
    const auto state = member->server().state();
    auto& seen = seen_[member.get()];
    if (seen != state) visits.step(std::exchange(seen, state), state);
  }
}

void Life::configure(const mcpivot::GatewayConfig& config) {
  if (ending_) return;
  gateway_.configure(config);
  seen_.clear();
  for (const auto& member : fleet().members()) seen_[member.get()] = member->server().state();
}

// --- what the plan does

void Life::act(const Action& action) {
  switch (action.deed) {
    case Deed::trouble:
      gateway_.set_trouble("line 3: no such key");
      return gateway_.add_notice("[mcpivot] the configuration was changed, and has errors; nothing was done");
    case Deed::hup:
      if (!ending_) gateway_.reload("after SIGHUP");
      return;
    case Deed::hello:
      return client_.hello(action.number, action.text);
    case Deed::ready:
      return client_.ready();
    case Deed::call:
      return client_.call(action.server, action.number, call_from(action.text, action.number));
    case Deed::through:
      return client_.call_through(action.server, action.number, call_from(action.text, action.number));
    case Deed::control:
      return client_.control(action.number, action.text);
    case Deed::batch:
      return client_.batch(action.server, action.number, action.text);
    case Deed::crowd:
      for (int i = action.number; i < action.number + crowd_size; ++i)
        client_.call(action.server, i, call_from(action.text, i));
      return;
    case Deed::ask: {
      const auto [method, params] = first_word(action.text);
      return client_.ask(action.number, method, params);
    }
    case Deed::cancel:
      return client_.cancel(action.number);
    case Deed::notify: {
      const auto [method, params] = first_word(action.text);
      return client_.notify(method, params);
    }
    case Deed::noise:
      return client_.noise(action.number);
    case Deed::deaf:
      return client_.stop_reading(Millis(action.number));
    case Deed::type:
      return type(action);
    case Deed::leave:
      if (const auto found = seated_.find(action.server); found != seated_.end()) {
        found->second->leave();
        seated_.erase(found);
      }
      return;
    case Deed::kill:
      return world_.each_life(action.server, [](SimBackend& life) { life.kill("was killed by SIGKILL"); });
    case Deed::blurt:
      return world_.each_life(action.server, [&](SimBackend& life) { life.blurt(action.text); });
    default:
      return;
  }
}

void Life::type(const Action& action) {
  if (ending_) return;
  Terminal*& terminal = seated_[action.server];
  if (terminal == nullptr)
    terminal = terminals_
                   .emplace_back(
                       std::make_unique<Terminal>(clients_, gateway_, typed_, oracle_, ++numbers_.terminals))
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
  for (const auto& member : fleet().members())
    if (const std::size_t waiting = member->server().status().waiting;
        waiting > mcpivot::WaitingRoom::most_waiting)
      oracle_.violate(fmt::format("{} requests wait for {}", waiting, member->name()));
}

void Life::judge_rest() {
  const auto wrong = [&](const std::string& what) { oracle_.violate("at rest, " + what); };
  int lives = 0;
  std::string states;
  std::size_t idle_alarms = 0;
  for (const auto& member : fleet().members()) {
    const mcpivot::Status status = member->server().status();
    if (status.waiting > 0) wrong(fmt::format("{} requests wait for {}", status.waiting, member->name()));
    if (status.draining > 0)
      wrong(fmt::format("{} generations of {} drain", status.draining, member->name()));
    if (status.building) wrong(fmt::format("{} is being built", member->name()));
    if (status.life && status.life->in_flight > 0)
      wrong(fmt::format("{} has {} calls in flight", member->name(), status.life->in_flight));
    if (status.life) ++lives;
    states += fmt::format("; {} is {} ({})", member->name(), status.state, status.trouble);
    if (!member->active() && member->entry().idle_stop) ++idle_alarms;
  }
  if (world_.alive() != lives)
    wrong(fmt::format("{} servers serve, and {} processes or sessions are there: {}", lives, world_.alive(),
                      states));
  for (auto& [name, script] : world_.scripts())
    world_.each_life(name, [&](SimBackend& life) {
      if (life.alive() && !life.actor().open().empty())
        wrong(fmt::format("{} still works on {}, which nobody waits for", name, life.actor().open().front()));
    });
  if (client_.asked() > 0)
    wrong(fmt::format("the client has {} questions that nobody waits for", client_.asked()));
  if (!client_.list_is_right()) wrong("the client's list of tools is not what it would be told now");
  if (world_.builds() > 0) wrong("something is being built");
  if (world_.timers().set() > idle_alarms)
    wrong(fmt::format("{} alarms are set; {} are known", world_.timers().set(), idle_alarms));
  if (client_.wire().waiting_bytes() > 0) wrong("the client has something to read");
}

}  // namespace simulation
