// How an instance lives: events go into its Life, and the resulting effects are carried out here; and how its
// generations die.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/without_queries.h"
#include "log/log.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// How soon to look again for a daemon that is coming up.
constexpr milliseconds look_again_after{100};

// Methods that change nothing: if the server dies during one, it can be retried.
bool is_read(Method method) {
  switch (method) {
    case Method::ping:
    case Method::tools_list:
    case Method::prompts_list:
    case Method::prompts_get:
    case Method::resources_list:
    case Method::resource_templates_list:
    case Method::resources_read:
    case Method::complete:
      return true;
    default:
      return false;
  }
}

}  // namespace

// --- what happens ------------------------------------------------------------------------------------------

Life::Facts Instance::facts() const {
  const auto ends = [](const auto& generation) { return generation && generation->ending(); };
  return {.round = reloads_.round(),
          .overlaps = config_->swap == SwapMode::overlap,
          .comes_and_goes = traits().comes_and_goes,
          .asked = is_waited_for(),
          .serves = serving() != nullptr && following_ != Following::now,
          .others = !leaving_.empty() || source_.has_predecessor(*this),
          .stop_wanted = stops_.wanted(),
          .stops = daemon_.stopping() || ends(current_) || std::ranges::any_of(leaving_, ends),
          .blocked = daemon_.stopping(),
          .empty = shut_down_ && !current_ && leaving_.empty() && !daemon_.stopping() &&
                   !stops_.is_ending_others(),
          .number = past_.starts + 1};
}

// Carrying out effects may cause more events: these wait for their turn.
void Instance::happens(Life::Event event, std::function<void()> then) {
  happenings_.push_back({std::move(event), std::move(then)});
  live();
}

// An event that results from the current step belongs to it, and goes before all waiting ones.
void Instance::happens_first(Life::Event event) {
  happenings_.push_front({std::move(event), {}});
  live();
}

void Instance::live() {
  if (living_) return;
  const struct Turn {
    explicit Turn(bool& living) : living_(living) { living_ = true; }
    ~Turn() { living_ = false; }  // even after an exception: later events must have their turn
    bool& living_;
  } turn(living_);
  for (;;) {
    while (!happenings_.empty()) {
      const Happening now = std::move(happenings_.front());
      happenings_.pop_front();
      const Life::Effects effects = step(&now.event);
      if (now.then) now.then();
      for (const Life::Effect& effect : effects) perform(effect);
    }
    const Life::Effects effects = step(nullptr);
    if (effects.empty()) break;
    for (const Life::Effect& effect : effects) perform(effect);
  }
}

// Processes an event; null: all events have been processed.
Life::Effects Instance::step(const Life::Event* event) {
  const State before = state();
  const std::string trouble_before(life_.trouble());
  if (event != nullptr) clients_.happens(life_, *event);
  Life::Effects effects = event != nullptr ? life_.on(*event, facts()) : life_.next(facts());
  if (before != state() || (!life_.trouble().empty() && life_.trouble() != trouble_before)) log_step(before);
  return effects;
}

void Instance::log_step(State before) const {
  log_at(life_.is<Life::Failed>() ? LogLevel::warn : LogLevel::info, "{}: {} -> {}{}{}", config_->name,
         text(before), text(state()), life_.trouble().empty() ? "" : ": ", without_queries(life_.trouble()));
}

void Instance::perform(const Life::Effect& effect) {
  switch (effect.what) {
    case Life::Do::start:
      return bear(effect.words);
    case Life::Do::join_birth:
      end_unused_round();
      if (!reloads_.under_way()) watch_again();  // nothing was started that could write
      return;
    case Life::Do::end_birth:
      return abandon_birth();
    case Life::Do::check:
      return check();
    case Life::Do::end_current:
      if (current_) current_->end(patience_);
      return;
    case Life::Do::detach_current:
      if (!current_) return;
      leaving_.push_back(std::exchange(current_, nullptr));
      if (!leaving_.back()->ending()) leaving_.back()->end(patience_);
      return watcher_.on_writable(*this);  // no client may wait for it to read
    case Life::Do::drain_current:
      if (current_) drain(std::exchange(current_, nullptr));
      return;
    case Life::Do::end_others:
      for (const auto& generation : std::list(leaving_))
        if (!generation->ending() || ends()) generation->end(patience_);
      return;
    case Life::Do::build:
      return build();
    case Life::Do::stop_build:
      return build_.reset();
    case Life::Do::begin_round:
      return begin_round();
    case Life::Do::renew:
      if (!daemon_.renew(effect.words)) happens_first(Life::Due{effect.words});
      return;
    case Life::Do::fail_round:
      return end_round({.ok = false, .text = effect.words});
    case Life::Do::give_up_round:
      return give_up_round();
    case Life::Do::back_off:
      return back_off();
    case Life::Do::look_again:
      return back_off_timer_.set(look_again_after,
                                 [this, reason = effect.words] { happens(Life::Due{reason}); });
    case Life::Do::cancel_back_off:
      return back_off_timer_.cancel();
    case Life::Do::release:
      return release_waiting();
    case Life::Do::refuse_waiting:
      return refuse_waiting(effect.words);
    case Life::Do::settle:
      return settle();
    case Life::Do::stop_daemon:
      return daemon_.stop();
    case Life::Do::tell_stopped:
      return stops_.finish(config_->command, [this] { live(); });
    case Life::Do::tell_gone:
      std::exchange(shut_down_, nullptr)();
      return source_.gone(*this);
  }
}

void Instance::back_off() {
  back_off_timer_.set(supervisor().back_off(young_deaths_, is_waited_for()),
                      [this] { happens(Life::Due{why_back()}); });
}

// --- death -------------------------------------------------------------------------------------------------

void Instance::on_lost(Generation& generation, Generation::Open lost, std::string_view why) {
  settle(generation, lost, describe_death(generation, std::string(why)), !stopped_on_request());
  live();  // the request may wait again, though a generation serves
}

void Instance::on_death(Generation& generation, const Backend::Ending& ending) {
  const auto keep = generation.shared_from_this();
  clients_.forget(generation.id());
  Death death = describe_death(generation, ending.how);
  death.from_outside = killed_ = ending.from_outside;
  past_.last_exit_code = ending.exit_code;
  past_.last_lifetime = death.after;
  if (keep.get() == incoming() && birth_->survives(ending)) {
    settle_open(generation, death, true);
    live();  // requests may wait for what was started instead
  } else if (keep.get() == incoming()) {
    supervisor_for(generation.config()).on_early_death(ending);
    settle_open(generation, death, false);
    birth_failed(fmt::format("it {}{}", ending.how, generation.backend().traits().before_ready), true);
  } else if (keep != current_) {
    on_buried(generation, death);
  } else if (generation.ending()) {
    on_ended(std::move(death));
  } else {
    on_crash(death, ending);
  }
}

void Instance::count_kill(std::string reason) {
  ++past_.kills;
  past_.last_kill = std::move(reason);
  past_.last_kill_at = world_.timers().date();
}

// Whether it was stopped, so that what was in flight must not start it again.
bool Instance::stopped_on_request() const {
  const auto* const stopped = life_.get<Life::Stopped>();
  return stops_.wanted() || (stopped != nullptr && stopped->why == Life::Stopped::Why::on_request);
}

// The end of a generation that was draining or ending. A session with a daemon may end later than the daemon
// itself.
void Instance::on_buried(Generation& generation, Death& death) {
  const bool on_request = stopped_on_request();
  if (current_) death.successor = current_->number();
  if (generation.ending()) {
    death.because = ends()       ? std::string(life_.trouble())
                    : on_request ? "it was stopped on request"
                    : current_   ? "a new generation took its place"
                                 : "it was not needed any more";
    count_kill(death.because);
  }
  settle_open(generation, death, !ends() && !on_request);
  leaving_.remove(generation.shared_from_this());
  if (generation.ending()) note_end(generation, ending_text(death));
  live();
}

// The current generation is gone because we ended it: to stop, to make room for the next one, or for
// good.
void Instance::on_ended(Death death) {
  past_.last_exit = ending_text(death);
  happens(Life::Ended{}, [this, dead = current_, death = std::move(death)]() mutable {
    current_.reset();
    const bool makes_room = life_.is<Life::Starting>();
    death.because = ends()                 ? std::string(life_.trouble())
                    : makes_room           ? std::string(Life::words_of_room)
                    : stopped_on_request() ? "it was stopped on request"
                                           : "nobody needed it";
    count_kill(death.because);
    settle_open(*dead, death, makes_room);
    note_end(*dead, past_.last_exit);
    watcher_.on_writable(*this);  // no client may wait for a dead server to read
  });
}

void Instance::on_crash(const Death& death, const Backend::Ending& ending) {
  const Supervisor::Loss loss = supervisor_for(current_->config()).on_lost(death, ending);
  if (loss.fault != Supervisor::Loss::Fault::none) {
    past_.last_exit = ending_text(death);
    ++(loss.fault == Supervisor::Loss::Fault::outside ? past_.outside_deaths : past_.crashes);
  }
  count_young_death(*current_, death.after < death.traits->young);
  happens(Life::Lost{loss.words}, [this, dead = current_, death, crash = loss.crash] {
    current_.reset();
    const Settled settled = settle_open(*dead, death, true);
    if (crash) add_notice(crash_notice(death, settled), settled.told);
    watcher_.on_writable(*this);  // no client may wait for a dead server to read
  });
}

// A generation that was useful resets the count.
void Instance::count_young_death(const Generation& generation, bool young) {
  if (generation.answered() || !young) young_deaths_ = 0;
  if (young) ++young_deaths_;
}

// "running the tool "search"", "answering tools/list"
std::string Instance::describe(const Generation::Requests::Request& request) const {
  const std::string method = string_value(request.method());
  if (request.name().empty()) return fmt::format("answering {}", method);
  const ListKind kind = request.known == Method::prompts_get ? ListKind::prompts : ListKind::tools;
  const std::string name =
      watcher_.shown_name(*this, request.origin.client, kind, string_value(request.name()));
  return request.known == Method::tools_call ? fmt::format("running the tool \"{}\"", name)
                                             : fmt::format("answering {} for \"{}\"", method, name);
}

// What this generation wrote to stderr is mentioned only if it wrote something.
NextStep Instance::next_step(int generation) const {
  using Saving = NextStep::Saving;
  NextStep next{.control = config_->control};
  if (stderr_for_clients(generation).empty()) next.control.logs = {};
  if (!config_->watching) return next;
  const auto file = world_.files().program_of(config_->command);
  const bool restarts = !config_->watch.empty() || (file && !file->is_binary);
  next.on_save = restarts && can_build() && !config_->watch.empty() ? Saving::rebuilds
                 : restarts                                         ? Saving::restarts
                 : file                                             ? Saving::restarts_with_binary
                                                                    : Saving::nothing;
  return next;
}

Death Instance::describe_death(Generation& generation, std::string how) const {
  return {.server = config_->name,
          .generation = generation.number(),
          .how = std::move(how),
          .after = world_.timers().since(generation.started()),
          .from_outside = false,
          .stderr_lines = stderr_for_clients(generation.number()),
          .tells_stderr = !is_shared(),
          .next = next_step(generation.number()),
          .traits = &generation.backend().traits(),
          .because = {}};
}

Instance::Settled Instance::settle_open(Generation& generation, const Death& death, bool again) {
  remember_lost(generation, death);
  Death brief = death;
  brief.stderr_lines.clear();
  brief.tells_stderr = false;
  Settled settled;
  for (Generation::Open& open : generation.take_open())
    if (settle(generation, open, settled.told.size() < FewAtOnce::most ? death : brief, again))
      settled.told.push_back(open.request.origin.client);
    else if (open.reached_the_server && ++settled.retried == 1)
      settled.retried_first = describe(open.request);
  return settled;
}

// What one client asked of a shared server is nothing that the others are told.
std::string Instance::crash_notice(const Death& death, const Settled& settled) const {
  if (settled.retried == 0 || is_shared()) return crash_report(death);
  return crash_report(death, settled.retried == 1 ? settled.retried_first : std::string(),
                      Fate{.again = settled.retried});
}

// Clients whose calls were parked can't be told now: they are told when they come back.
void Instance::remember_lost(const Generation& generation, const Death& death) {
  for (std::string& state : generation.parked_states())
    lost_calls_.add(std::move(state), crash_report(death, "waiting for the client's input", Fate{}));
}

bool Instance::settle(const Generation& generation, Generation::Open& open, const Death& death, bool again) {
  const auto& [request, reached] = open;
  const KindTraits& traits = generation.backend().traits();
  const Message message = request.kept.message();
  const Item* tool = request.known == Method::tools_call && !request.name().empty()
                         ? catalog().find(ListKind::tools, string_value(request.name()))
                         : nullptr;
  const bool resumes = message.request_state && generation.owns_states();  // known to no other generation
  const Attempts tries = request.sent_before.after(reached);
  const bool repeatable = is_read(request.known) || (tool != nullptr && is_safe_to_repeat(*tool));
  if (again && (!reached || repeatable) && !resumes && !ends() &&
      request.sent_before.count < traits.most_tries && may_pass(request.origin, message)) {
    if (Generation* next = serving()) {
      put(*next, request.origin, message, tries);
      watch_overdue_calls();
    } else {
      wait(request.origin, message, tries);
    }
    return false;
  }
  const Fate fate{.reached = tries.reached, .retries = request.sent_before.count};
  const std::string words = crash_report(death, describe(request), fate);
  count_failure(request);
  clients_.refuse(request.origin, failure_answer(request.known, request.id(), words));
  return true;
}

void Instance::drain(const std::shared_ptr<Generation>& old) {
  leaving_.push_back(old);
  if (old->ending()) return;
  if (old->idle()) return old->end();
  old->drain();
  if (old->backend().calls_have_own_limits()) return;  // on_idle() will end it
  old->end_by(old->config().drain, Generation::farewell);
}

void Instance::on_idle(Generation& generation) {
  if (!generation.ending() && generation.idle()) generation.end();
}

}  // namespace mcpivot
