// How an instance lives: what happens to it goes into its Life, and what comes out of that is done here;
// births and deaths of its generations.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "mcp/initialize.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// Until one that is on its way is looked for again.
constexpr milliseconds look_again{100};
// What a server writes when it starts is no reason to start it again; but one that takes longer than this may
// hang, and what is saved then may be what fixes it.
constexpr milliseconds quick_birth{2'000};

// Methods that change nothing: if the server dies over one, it can be asked again.
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
          .comes_and_goes = manner().comes_and_goes,
          .asked = waiting_.size() > 0,
          .serves = serving() != nullptr && following_ != Following::now,
          .others = !leaving_.empty(),
          .stop_wanted = !stops_.empty(),
          .stops = daemon_.stopping() || ends(current_) || std::ranges::any_of(leaving_, ends),
          .held = daemon_.stopping(),
          .empty = shut_down_ && !current_ && leaving_.empty() && !daemon_.stopping() && stoppings_.empty(),
          .number = past_.starts + 1};
}

// What is done about it may make more happen: that waits for its turn.
void Instance::happens(Life::Event event, std::function<void()> then) {
  happenings_.push_back({std::move(event), std::move(then)});
  live();
}

// What comes of a step that was just taken belongs to it, and goes before all that waits.
void Instance::happens_first(Life::Event event) {
  happenings_.push_front({std::move(event), {}});
  live();
}

void Instance::live() {
  if (living_) return;
  const struct Turn {
    explicit Turn(bool& living) : living_(living) { living_ = true; }
    ~Turn() { living_ = false; }  // also when something is thrown: what happens later must have its turn
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

// Something has happened; or, if null, all that did has been dealt with.
Life::Effects Instance::step(const Life::Event* event) {
  const State before = state();
  const std::string trouble_before(life_.trouble());
  Life::Effects effects = event != nullptr ? life_.on(*event, facts()) : life_.next(facts());
  if (before != state() || (!life_.trouble().empty() && life_.trouble() != trouble_before)) log_step(before);
  return effects;
}

void Instance::log_step(State before) const {
  log_at(life_.is<Life::Failed>() ? LogLevel::warn : LogLevel::info, "{}: {} -> {}{}{}", config_->name,
         text(before), text(state()), life_.trouble().empty() ? "" : ": ", life_.trouble());
}

void Instance::perform(const Life::Effect& effect) {
  switch (effect.what) {
    case Life::Do::start:
      return bear(effect.words);
    case Life::Do::end_birth:
      return abandon_birth();
    case Life::Do::end_current:
      if (current_) current_->end(patience_);
      return;
    case Life::Do::detach_current:
      if (!current_) return;
      leaving_.push_back(std::exchange(current_, nullptr));
      if (!leaving_.back()->ending()) leaving_.back()->end(patience_);
      return;
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
      return back_off_timer_.set(look_again, [this, reason = effect.words] { happens(Life::Due{reason}); });
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
      return finish_stop();
    case Life::Do::tell_gone:
      return std::exchange(shut_down_, nullptr)();
  }
}

void Instance::back_off() {
  back_off_timer_.set(supervisor().back_off(young_deaths_, waiting_.size() > 0),
                      [this] { happens(Life::Due{std::string(manner().comes_back)}); });
}

// --- birth -------------------------------------------------------------------------------------------------

void Instance::bear(const std::string& reason) {
  forget_to_follow();
  const int number = ++past_.starts;
  birth_ = std::make_unique<Birth>(world_.timers(), life_.births(), reason,
                                   world_.files().program_of(config_->command));
  auto generation = start_generation(number);
  if (!generation) return birth_failed(generation.error(), false);
  birth_->generation = std::move(*generation);
  if (sources_unwatched_) long_birth_timer_.set(quick_birth, [this] { watch_again(); });
  if (knows_client()) return shake_hands();
  // It may be long until a client comes; those who asked for this must not wait for that.
  if (reloads_.round() != Life::Round::bears) return;
  const std::string words =
      fmt::format("[mcpivot] \"{}\" was started: generation {}, {}. It shakes hands when the client does.",
                  config_->name, number, unborn()->backend().where());
  if (reloads_.end({true, words})) happens(Life::RoundWaits{});
}

// Whatever goes wrong is a birth that failed: without descriptors, for example, a link throws.
std::expected<std::shared_ptr<Generation>, std::string> Instance::start_generation(int number) {
  try {
    return Generation::start(world_, clients_, config_,
                             {id_, static_cast<std::uint64_t>(life_.births()), number}, ring_, *this,
                             current_ ? &current_->backend() : nullptr);
  } catch (const std::exception& error) {
    return std::unexpected(fmt::format("cannot start it: {}", error.what()));
  }
}

void Instance::shake_hands() {
  birth_->overdue.set(config_->start_timeout, [this] { on_birth_overdue(); });
  auto may_make = [this](const Replay::Call& call) {
    return call.method != "tools/call" || watcher_.allows_call(*this, find_member(call.params, "name"));
  };
  birth_->handshake =
      std::make_shared<Handshake>(*unborn(), replay_.hello, replay_.calls(), std::move(may_make),
                                  [this](auto outcome) { on_born(std::move(outcome)); });
  birth_->handshake->start();
}

// A call that is made again and never answers blocks nothing; the second time in a row it is given up.
void Instance::on_birth_overdue() {
  const std::string limit = duration_text(config_->start_timeout);
  const auto keep = birth_->handshake;
  const Replay::Call* const call = keep ? keep->replaying() : nullptr;
  if (call == nullptr)
    return birth_failed(fmt::format("it did not finish its handshake within {}", limit), true);
  const std::string what = fmt::format("{} {}", call->method, call->params);
  const bool again = late_replay_ == what;
  if (again) replay_.drop(*call);
  keep->finish_without_replay(fmt::format("no answer within {} of its start{}", limit,
                                          again ? ", for the second time; it is given up" : ""));
  late_replay_ = again ? std::string() : what;
}

void Instance::on_born(std::expected<Handshake::Outcome, std::string> outcome) {
  late_replay_.clear();
  if (!outcome) return birth_failed(std::move(outcome.error()), true);
  // A server that cannot list what it had offered takes nobody's place.
  std::string worse = offer_.why_worse(outcome->lists.refusals);
  if (!worse.empty()) return birth_failed(std::move(worse), true);
  const int birth = birth_->number;
  happens(Life::Born{birth}, [this, birth, outcome = std::move(*outcome)]() mutable {
    if (birth_ && birth_->number == birth) swap_in(std::move(outcome));
  });
}

// `ran`: its program did, at least.
void Instance::birth_failed(std::string why, bool ran) {
  if (unborn() != nullptr) {
    const std::string lines = telling_lines(unborn()->stderr_lines());
    if (!lines.empty()) why += fmt::format("\n{}", lines);
  }
  const int birth = birth_->number;
  blame_replay();
  abandon_birth();
  Supervisor::Failure failure = supervisor().on_birth_failed({.number = past_.starts,
                                                              .why = std::move(why),
                                                              .ran = ran,
                                                              .asked = waiting_.size() > 0,
                                                              .ends = ends()});
  if (!failure.counts) --past_.starts;
  if (failure.postponed) return happens_first(Life::BirthPostponed{birth, *failure.postponed});
  if (!current_) ++young_deaths_;
  std::string words =
      current_ ? fmt::format("[mcpivot] the new generation of \"{}\" failed: {}\nGeneration {} still serves.",
                             config_->name, failure.why, current_->number())
               : fmt::format("[mcpivot] \"{}\" failed to start: {}", config_->name, failure.why);
  happens_first(Life::BirthFailed{
      .birth = birth, .why = std::move(failure.why), .ran = ran, .words = std::move(words)});
}

// A call that two births in a row did not survive is not made again: else there would never be a third.
void Instance::blame_replay() {
  const Replay::Call* const call = birth_->handshake ? birth_->handshake->replaying() : nullptr;
  const std::string what = call != nullptr ? fmt::format("{} {}", call->method, call->params) : std::string();
  if (std::exchange(fatal_replay_, what) != what || call == nullptr) return;
  dropped_replays_.push_back(fmt::format("{} (two generations did not survive it)", call->label));
  replay_.drop(*call);
}

// Whatever is being born is no longer wanted.
void Instance::abandon_birth() {
  const auto birth = std::exchange(birth_, nullptr);
  if (!birth || !birth->generation || birth->generation->dead()) return;
  leaving_.push_back(birth->generation);
  birth->generation->end(farewell);
}

void Instance::swap_in(Handshake::Outcome outcome) {
  const auto birth = std::exchange(birth_, nullptr);
  fatal_replay_.clear();
  for (std::string& dropped : std::exchange(dropped_replays_, {}))
    outcome.failed_replays.push_back(std::move(dropped));
  const auto old = std::exchange(current_, birth->generation);
  following_ = Following::not_needed;  // what was just born is new enough
  past_.last_start_took = world_.timers().since(current_->started());
  Supervisor& supervisor = supervisor_for(current_->config());
  const auto [absence, forgotten] = supervisor.on_born();
  const auto file_before = std::exchange(current_file_, std::move(birth->file));
  const Offer::Change change =
      offer_.replace(std::move(outcome.initialize_result), std::move(outcome.lists.catalog));
  const auto& [diff, first, guessed, missing, version_before] = change;
  watcher_.on_catalog(*this);
  const auto shown = [&](ListKind kind, const std::string& own) {
    return watcher_.shown_name(*this, kind, own);
  };
  std::string words = supervisor.headline({.number = current_->number(),
                                           .where = current_->backend().where(),
                                           .did = first ? "runs" : current_->backend().renewed(),
                                           .took = past_.last_start_took,
                                           .reason = birth->reason,
                                           .absence = absence,
                                           .reloaded = reloads_.under_way()});
  // A session that was merely forgotten is nobody's concern, unless something is different in the new one.
  const bool silent = forgotten && diff.empty() && outcome.failed_replays.empty();
  const bool news = (current_->number() > 1 && !silent) || missing || (guessed && !diff.empty());
  bool telling = news && (missing || !diff.empty() || current_->backend().news_if_unchanged());
  if (!first) {
    past_.last_diff = diff.empty() ? "nothing" : diff.text(shown);
    log_info("{}: changed: {}", config_->name, past_.last_diff);
  }
  if (news)
    words += fmt::format("\n{}{}", guessed && !diff.empty() ? "unlike its last run: " : "",
                         diff.empty() ? "tools, prompts and resources: unchanged." : diff.text(shown));
  if (!first) words += program_line(file_before, version_before);
  for (const std::string& failed : outcome.failed_replays)
    words += fmt::format("\nnot repeated: {}.", failed);
  for (const auto& [kind, why] : outcome.lists.refusals) {
    log_warn("{}: {}", config_->name, why);
    if (kind != ListKind::tools) continue;  // who has no use for the others does not miss them
    words += fmt::format("\nit has no tools: {}.", why);
    telling = true;
  }
  if (!crash_to_tell_.empty())
    words += fmt::format("\nprevious generation: {}.", std::exchange(crash_to_tell_, {}));
  if (reloads_.round() == Life::Round::bears) {  // else they wait for what comes of the build
    young_deaths_ = 0;  // what somebody asked for is not judged by what it was before
    end_round({.ok = true, .text = words, .news = telling});
  } else if (telling) {
    add_notice(words);
  }
  for (const ListKind kind : all_lists)
    if (offer_.announces(change, kind, news)) watcher_.on_list_changed(*this, kind);
  for (const ListKind kind : all_lists)
    if (birth->changed[static_cast<std::size_t>(kind)]) refetch(kind);
  if (old) last_used_ = std::max(last_used_, old->last_asked());
  if (old) drain(old);
  settle();
  watcher_.on_writable(*this);
  if (!guessed || !diff.empty()) keep_for_next_run();
}

// What the model should know about the program that runs now: only if it is another one.
std::string Instance::program_line(const std::optional<FileFacts>& before,
                                   const std::string& version_before) const {
  const std::string version = offer_.version();
  const bool same_file = !current_file_ || (before && before->path == current_file_->path &&
                                            before->stamp.looks_like(current_file_->stamp));
  if (same_file && version == version_before) return {};
  const ServerConfig& config = current_->config();
  const std::string name = config.command.argv.empty() ? std::string() : config.command.argv[0];
  return supervisor_for(config).program_line(
      {.file = current_file_ ? current_file_->text(world_.timers().date()) : name,
       .version_before = version_before,
       .version = version});
}

// --- death -------------------------------------------------------------------------------------------------

void Instance::on_lost(Generation& generation, Generation::Open lost, std::string_view why) {
  settle(generation, lost, describe_death(generation, std::string(why)), !stopped_on_request());
}

void Instance::on_death(Generation& generation, const Backend::Ending& ending) {
  const auto keep = generation.shared_from_this();
  clients_[client()].forget(generation.id());
  Death death = describe_death(generation, ending.how);
  past_.last_exit_code = ending.exit_code;
  past_.last_lifetime = death.after;
  if (keep.get() == unborn()) {
    supervisor_for(generation.config()).on_unborn_death(ending);
    settle_open(generation, death, false);
    birth_failed(fmt::format("it {}{}", ending.how, generation.backend().manner().unborn), true);
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

// What it worked on must not start it again.
bool Instance::stopped_on_request() const {
  const auto* const stopped = life_.get<Life::Stopped>();
  return !stops_.empty() || (stopped != nullptr && stopped->why == Life::Stopped::Why::on_request);
}

// One of those that drain, or end. A session with a daemon may end later than the daemon itself.
void Instance::on_buried(Generation& generation, Death& death) {
  const bool on_request = stopped_on_request();
  if (generation.ending()) {
    death.because = ends()       ? std::string(life_.trouble())
                    : on_request ? "it was stopped on request"
                                 : "a new generation took its place";
    count_kill(death.because);
  }
  settle_open(generation, death, !ends() && !on_request);
  leaving_.remove(generation.shared_from_this());
  if (generation.ending()) note_end(generation, death.how);
  live();
}

// The current generation is gone because we wanted it so: to stop, to make room for the next one, or for
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
    watcher_.on_writable(*this);  // nobody may wait for a dead server to read
  });
}

void Instance::on_crash(const Death& death, const Backend::Ending& ending) {
  const Supervisor::Loss loss = supervisor_for(current_->config()).on_lost(death, ending);
  if (loss.fault != Supervisor::Loss::Fault::none) {
    past_.last_exit = ending_text(death);
    ++(loss.fault == Supervisor::Loss::Fault::outside ? past_.outside_deaths : past_.crashes);
  }
  if (loss.crash) crash_to_tell_ = past_.last_exit;
  count_young_death(*current_, death.after < death.manner->young);
  happens(Life::Lost{loss.words}, [this, dead = current_, death, crash = loss.crash] {
    current_.reset();
    if (settle_open(*dead, death, true) == 0 && crash) add_notice(crash_report(death, {}, {}));
    watcher_.on_writable(*this);  // nobody may wait for a dead server to read
  });
}

// What the earlier ones did says nothing of one that was good for something.
void Instance::count_young_death(const Generation& generation, bool young) {
  if (generation.answered() || !young) young_deaths_ = 0;
  if (young) ++young_deaths_;
}

// "tools/call of "search"", "tools/list"
std::string Instance::describe(const Generation::Requests::Request& request) const {
  std::string words = string_value(request.method());
  if (request.name().empty()) return words;
  const ListKind kind = request.known == Method::prompts_get ? ListKind::prompts : ListKind::tools;
  return words + fmt::format(" of \"{}\"", watcher_.shown_name(*this, kind, string_value(request.name())));
}

Death Instance::describe_death(Generation& generation, std::string how) const {
  return {.server = config_->name,
          .generation = generation.number(),
          .how = std::move(how),
          .after = world_.timers().since(generation.started()),
          .stderr_lines = generation.stderr_lines(),
          .control = config_->control,
          .manner = &generation.backend().manner(),
          .because = {}};
}

std::size_t Instance::settle_open(Generation& generation, const Death& death, bool again) {
  std::size_t told = 0;
  for (Generation::Open& open : generation.take_open())
    told += settle(generation, open, death, again) ? 1 : 0;
  return told;
}

bool Instance::settle(const Generation& generation, Generation::Open& open, const Death& death, bool again) {
  const auto& [request, reached] = open;
  const Manner& manner = generation.backend().manner();
  const Message message = request.kept.message();
  const Item* tool = request.known == Method::tools_call && !request.name().empty()
                         ? catalog().find(ListKind::tools, string_value(request.name()))
                         : nullptr;
  const bool safe = !reached || is_read(request.known) || (tool != nullptr && is_safe_to_repeat(*tool));
  if (again && safe && !ends() && request.sent_before < manner.most_tries && may_pass(message)) {
    if (Generation* next = serving()) {
      next->request(request.origin, message, request.sent_before + 1);
      watch_overdue_calls();
    } else {
      wait(request.origin, message, request.sent_before + 1);
    }
    return false;
  }
  const std::string_view fate = reached ? manner.unsure : "It never reached the server; it had no effect.";
  const std::string words = crash_report(death, describe(request), fate);
  clients_.refuse(request.origin, failure_answer(request.known, request.id(), words));
  return true;
}

void Instance::drain(const std::shared_ptr<Generation>& old) {
  leaving_.push_back(old);
  if (old->ending()) return;
  if (old->idle()) return old->end(farewell);
  old->drain();
  if (old->backend().calls_have_own_limits()) return;  // on_idle() will end it
  old->end_by(old->config().drain, farewell);
}

void Instance::on_idle(Generation& generation) {
  if (!generation.ending() && generation.idle()) generation.end(farewell);
}

}  // namespace mcpivot
