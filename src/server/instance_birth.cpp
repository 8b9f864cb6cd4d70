// How generations of an instance are born: one is started, does the handshake in the client's name, and
// replaces the one before; or it fails, and nothing has changed.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "log/log.h"
#include "rpc/json_cursor.h"
#include "server/birth_report.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// What a server writes when it starts must not restart it; but if it takes longer than this, it may hang, and
// what is saved then may be the fix.
constexpr milliseconds quick_birth{2'000};

// How often a new generation is told what clients told the old one in the meantime. The limit makes sure that
// this ends.
constexpr int most_make_ups = 3;

// Only the tools matter here: many clients don't use the other lists.
std::string why_no_tools(const std::vector<FetchedLists::Refusal>& refusals) {
  const auto tools = std::ranges::find(refusals, ListKind::tools, &FetchedLists::Refusal::kind);
  return tools == refusals.end() ? std::string() : tools->why;
}

}  // namespace

void Instance::bear(const std::string& reason) {
  forget_to_follow();
  // A caller waits to learn whether it works.
  if (reloads_.round() == Life::Round::bears) eras_.set_futile(false);
  birth_ = std::make_shared<Birth>(static_cast<Birth::Owner&>(*this), eras_, world_.timers(),
                                   Birth::Facts{.number = life_.births(),
                                                .generation = ++past_.starts,
                                                .reason = reason,
                                                .config = config_,
                                                .fixed_era = supervisor().fixed_era(),
                                                .file = world_.files().program_of(config_->command)});
  if (const auto started = birth_->start(); !started) return birth_failed(started.error(), false);
  if (sources_unwatched_) long_birth_timer_.set(quick_birth, [this] { watch_again(); });
  if (knows_client()) return birth_->open();
  if (!era_askers_.empty()) birth_->ask_era(era_hello_);
  end_unused_round();
}

// It may take long until a client connects; the callers that asked for this must not wait for that.
void Instance::end_unused_round() {
  if (knows_client() || incoming() == nullptr || reloads_.round() != Life::Round::bears) return;
  const std::string words =
      unused_report(config_->name, traits().life, past_.starts, incoming()->backend().where());
  if (reloads_.end({.ok = true, .text = words, .news = false})) happens(Life::RoundWaits{});
}

// Whatever goes wrong is a failed birth: without descriptors, for example, a link throws.
std::expected<std::shared_ptr<Generation>, std::string> Instance::start_generation(int number) {
  last_line_before_start_ = ring_.last_number();
  try {
    return Generation::start(world_, clients_, config_, {id_, ++generations_, number}, ring_, *this,
                             current_ ? &current_->backend() : nullptr);
  } catch (const std::exception& error) {
    return std::unexpected(fmt::format("cannot start it: {}", error.what()));
  }
}

std::shared_ptr<Handshake> Instance::make_handshake(Generation& with) const {
  auto may_make = [this](const Replay::Call& call) {
    return call.method != "tools/call" ||
           watcher_.allows(*this, {.client = client()}, Method::tools_call, find_member(call.params, "name"));
  };
  return std::make_shared<Handshake>(with, replay_.hello, client_era_, replay_.calls(), std::move(may_make));
}

// An unknown server is started for this. A shared one has mcpivot's handshake, which tells.
void Instance::ask_era(ClientId client, std::string_view hello, std::function<void()> then) {
  const bool lacks_words =
      eras_.accepts(Era::modern) &&
      (is_shared() ? !offer_.known() : config_->for_many && eras_.get().discovered.empty());
  const bool known = eras_.get().modern && !lacks_words;
  if (known || supervisor().fixed_era() || current_ || ends() || life_.is<Life::Failed>() ||
      stopped_on_request() || (birth_ && birth_->handshake() && !is_shared()))
    return then();
  era_askers_.push_back({client, std::move(then)});
  era_hello_ = hello;
  if (!birth_) return start("to learn its protocol era");
  if (!is_shared()) birth_->ask_era(era_hello_);
}

void Instance::on_era_asked() {
  for (const auto& [client, then] : std::exchange(era_askers_, {})) then();
}

// --- born, or not ------------------------------------------------------------------------------------------

// A replayed call that never answers blocks nothing; the second time in a row, it is given up.
void Instance::on_birth_overdue() {
  const std::string limit = duration_text(config_->start_timeout);
  const auto keep = birth_->handshake();
  const Replay::Call* const call = keep ? keep->replaying() : nullptr;
  if (call == nullptr)
    return birth_failed(fmt::format("it did not finish its handshake within {}", limit), true);
  const std::string what = fmt::format("{} {}", call->method, call->params);
  const bool again = late_replay_ == what;
  if (again) replay_.drop(*call);
  keep->finish_without_replay(fmt::format("no answer within {} of the start{}", limit,
                                          again ? ", for the second time; mcpivot won't try again" : ""));
  late_replay_ = again ? std::string() : what;
}

void Instance::on_handshake(std::expected<Handshake::Outcome, Handshake::Failure> outcome) {
  late_replay_.clear();
  if (!outcome) return birth_failed(std::move(outcome.error().why), true, outcome.error().final);
  on_born(std::move(*outcome));
}

void Instance::on_born(Handshake::Outcome outcome) {
  if (birth_->made_up > 0) {
    std::ranges::move(outcome.failed_replays, std::back_inserter(birth_->handshake_outcome.failed_replays));
    return make_up();
  }
  // A server that can't list what its predecessor offered doesn't replace it.
  if (const FetchedLists::Refusal* const worse = offer_.why_worse(outcome.lists.refusals))
    return birth_failed(worse->why, true, worse->final);
  Eras now = eras_.get();
  now.of(birth_->era()) = true;
  if (birth_->refusal()) now.of(other(birth_->era())) = false;
  if (client_era_ == Era::modern) now.discovered = outcome.initialize_result;
  eras_.learn(std::move(now), *birth_->facts().config, birth_->facts().file);
  eras_.set_futile(false);
  if (!is_shared()) on_era_asked();
  birth_->handshake_outcome = std::move(outcome);
  const bool checks =
      config_->verify.wanted() && reloads_.round() == Life::Round::bears && reloads_.wants_check();
  checks ? happens(Life::Born{birth_->facts().number, true}) : make_up();
}

// It is told what clients have told its predecessor since its handshake began.
void Instance::make_up() {
  const auto keep = birth_->handshake();
  birth_->limit_time();
  if (++birth_->made_up <= most_make_ups && keep->make_up_for(replay_.calls(), birth_->handshake_outcome))
    return;
  birth_->lift_limit();
  if (birth_->check.report) return end_check();
  happens(Life::Born{birth_->facts().number}, [this, birth = birth_->facts().number] {
    if (birth_ && birth_->facts().number == birth) swap_in(std::move(birth_->handshake_outcome));
  });
}

// `ran`: its program did run. `refused`: it is there, but refused us.
void Instance::birth_failed(std::string why, bool ran, bool refused) {
  const std::optional<std::string>& refusal = birth_->refusal();
  const Era era = birth_->era();
  if (refusal && birth_->opened()) {  // it accepts this era; the failure came after that
    eras_.assume(era, true);
    eras_.assume(other(era), false);
  } else if (refusal) {
    log_info("{}: it doesn't speak the {} era either: {}", config_->name, text(era), why);
    why = *refusal;
    // A process that was restarted for the other era may have died the first time without refusing anything.
    refused = refused && traits().comes_and_goes;
  } else if (birth_->handshake() && !birth_->opened()) {
    eras_.doubt(Era::legacy);
    eras_.doubt(Era::modern);
  }
  eras_.set_futile(refusal && !birth_->opened() && !current_);
  if (incoming() != nullptr) {
    const std::string lines = telling_lines(stderr_for_clients(incoming()->number()));
    if (!lines.empty()) why += fmt::format("\n{}", lines);
  }
  const int birth = birth_->facts().number;
  const int generation = past_.starts;
  blame_replay();
  abandon_birth();
  Supervisor::Failure failure = supervisor().on_birth_failed({.number = past_.starts,
                                                              .why = std::move(why),
                                                              .ran = ran,
                                                              .asked = is_waited_for(),
                                                              .ends = ends(),
                                                              .refused = refused});
  if (failure.refused) eras_.set_futile(false);  // each attempt is for a request, and must try both
  if (!failure.counts) --past_.starts;
  if (failure.postponed) return happens_first(Life::BirthPostponed{birth, *failure.postponed});
  if (!current_) ++young_deaths_;
  const bool away = traits().comes_and_goes && status().away;
  const std::string_view trouble = !traits().comes_and_goes ? "failed to start"
                                   : away                   ? traits().absent
                                                            : "can't be used";
  // Nothing serves at a daemon that is away, whether we have noticed it or not. But before, it may have been
  // a server of another kind, which does.
  const bool still_serves = current_ && !(away && supervisor_for(current_->config()).traits().comes_and_goes);
  const auto serving = still_serves ? std::optional(current_->number()) : std::nullopt;
  std::string words = failure_report(config_->name, trouble, failure.why, serving,
                                     !traits().comes_and_goes     ? next_line(next_step(generation))
                                     : failure.refused || serving ? std::string()
                                                                  : next_at_daemon(ran));
  happens_first(Life::BirthFailed{.birth = birth,
                                  .why = std::move(failure.why),
                                  .ran = ran,
                                  .words = std::move(words),
                                  .refused = failure.refused});
}

// A call that two births in a row didn't survive is not replayed again: otherwise there would never be a
// third.
void Instance::blame_replay() {
  const Replay::Call* const call = birth_->handshake() ? birth_->handshake()->replaying() : nullptr;
  const std::string what = call != nullptr ? fmt::format("{} {}", call->method, call->params) : std::string();
  if (std::exchange(fatal_replay_, what) != what || call == nullptr) return;
  dropped_replays_.push_back(fmt::format("{} (two generations died during it)", call->label));
  replay_.drop(*call);
}

// The birth under way is no longer wanted.
void Instance::abandon_birth() {
  const auto birth = std::exchange(birth_, nullptr);
  if (!birth) return;
  if (const auto& generation = birth->generation(); generation && !generation->dead()) {
    leaving_.push_back(generation);
    if (!generation->ending()) generation->end();
  }
  on_era_asked();
  watcher_.on_writable(*this);  // no client may wait for it to read
}

// What a new generation changed when it replaced the old one.
struct Instance::Swap {
  std::shared_ptr<Birth> birth;
  std::shared_ptr<Generation> old;  // may be null
  ConnectionRecord::Arrival arrival;
  std::optional<FileFacts> file_before;
  Offer::Change change;
  std::vector<FetchedLists::Refusal> refusals;
  std::vector<std::string> failed_replays;

  // Whether the model should know that there is a new generation. A session that was merely forgotten isn't
  // worth a notice, unless something changed in the new one.
  bool news(int number) const {
    const bool unchanged = change.diff.empty();
    const bool silent = arrival.forgotten && unchanged && failed_replays.empty();
    return (number > 1 && !silent) || change.was_missing || (change.was_guess && !unchanged);
  }
};

void Instance::swap_in(Handshake::Outcome outcome) {
  const Swap swap = make_current(std::move(outcome));
  on_era_asked();
  const bool news = swap.news(current_->number());
  report(swap, news);
  announce_lists(swap, news);
  if (swap.old) last_used_ = std::max(last_used_, swap.old->last_asked());
  if (swap.old) drain(swap.old);
  // Calls that its predecessor works on don't count.
  take_turns();
  if (current_->open() > 0) watch_overdue_calls();  // from before its handshake
  settle();
  watcher_.on_writable(*this);
  release_signing_in();
  if (!swap.change.was_guess || !swap.change.diff.empty()) keep_for_next_run();
}

// From here on, it gets the requests, and clients see what it offers.
Instance::Swap Instance::make_current(Handshake::Outcome outcome) {
  auto birth = std::exchange(birth_, nullptr);
  fatal_replay_.clear();
  auto failed_replays = take_failed_replays(outcome);
  auto old = std::exchange(current_, birth->generation());
  following_ = Following::not_needed;  // the new generation is up to date
  past_.last_start_took = world_.timers().since(current_->started());
  auto arrival = supervisor_for(current_->config()).on_born();
  auto file_before = std::exchange(current_file_, birth->facts().file);
  const bool knows_tools = why_no_tools(outcome.lists.refusals).empty();
  auto change =
      offer_.replace(std::move(outcome.initialize_result), std::move(outcome.lists.catalog), knows_tools);
  if (!listened_.empty()) current_->listen(listened_);
  watcher_.on_catalog(*this);
  return {.birth = std::move(birth),
          .old = std::move(old),
          .arrival = std::move(arrival),
          .file_before = std::move(file_before),
          .change = std::move(change),
          .refusals = std::move(outcome.lists.refusals),
          .failed_replays = std::move(failed_replays)};
}

// Its own, and those that were given up in births before it. What one client told the server, and the
// server's answer, is not for the others.
std::vector<std::string> Instance::take_failed_replays(Handshake::Outcome& outcome) {
  std::vector<std::string> failed = std::move(outcome.failed_replays);
  std::ranges::move(std::exchange(dropped_replays_, {}), std::back_inserter(failed));
  if (is_shared() && !failed.empty()) return {"some of its clients' settings and calls"};
  return failed;
}

// Reports it in the log, and to everyone who should know.
void Instance::report(const Swap& swap, bool news) {
  const Offer::Change& change = swap.change;
  const std::optional<CheckReport>& checked = swap.birth->check.report;
  std::string diff = diff_of(change, news);
  for (const auto& refusal : swap.refusals) log_warn("{}: {}", config_->name, refusal.why);
  const BirthNews told{
      .headline = headline_of(swap),
      .diff = news ? std::optional(std::move(diff)) : std::nullopt,
      .was_guess = change.was_guess,
      .program = change.first ? std::string() : program_line(swap.file_before, change.version_before),
      .failed_replays = swap.failed_replays,
      .checked = checked ? checked->text(shows_values()) : std::string(),
      .no_tools = why_no_tools(swap.refusals)};
  const bool worth_telling =
      news && (change.was_missing || !change.diff.empty() || current_->backend().news_if_unchanged());
  const bool differs = checked && !checked->differ.empty();
  if (checked) past_.last_check = checked->summary();
  source_.drop_held();
  // What the model is told now is what the next build is compared with; a file stays what it is.
  if (differs && config_->verify.from_journal()) source_.accept(*checked);
  tell_birth(birth_report(told), worth_telling || differs || !told.no_tools.empty());
}

// What has changed since the last generation, in words for the client.
std::string Instance::diff_of(const Offer::Change& change, bool news) {
  if (!news && change.first) return {};
  std::string diff = change.diff.text([this](ListKind kind, const std::string& own) {
    return watcher_.shown_name(*this, client(), kind, own);
  });
  if (!change.first) {
    past_.last_diff = change.diff.empty() ? "nothing" : diff;
    log_info("{}: changed: {}", config_->name, past_.last_diff);
  }
  return diff;
}

std::string Instance::headline_of(const Swap& swap) const {
  const bool first = swap.change.first;
  return supervisor_for(current_->config())
      .headline({.server = config_->name,
                 .number = current_->number(),
                 .where = current_->backend().where(),
                 .did = first ? "started" : current_->backend().renewed(),
                 .took = past_.last_start_took,
                 .reason = swap.birth->facts().reason,
                 .absence = swap.arrival.absence,
                 .reloaded = reloads_.under_way(),
                 .memory_gone = !first && current_->backend().news_if_unchanged()});
}

// Those that are different now. Those that changed again since they were fetched are fetched again.
void Instance::announce_lists(const Swap& swap, bool news) {
  for (const ListKind kind : all_lists) {
    // Templates are announced with the resources.
    if (kind == ListKind::templates && offer_.announces(swap.change, ListKind::resources, news)) continue;
    if (offer_.announces(swap.change, kind, news)) watcher_.on_list_changed(*this, kind);
  }
  for (const ListKind kind : all_lists)
    if (swap.birth->changed[static_cast<std::size_t>(kind)]) refetch(kind);
}

// Callers that wait for it are told in any case; callers that wait for a build wait for its outcome.
void Instance::tell_birth(const std::string& words, bool news) {
  if (reloads_.round() == Life::Round::bears) {
    young_deaths_ = 0;  // a requested restart starts with a clean slate
    end_round({.ok = true, .text = words, .news = news});
  } else if (news) {
    add_notice(words);
  }
}

// What the model should know about the program that runs now, if it has changed.
std::string Instance::program_line(const std::optional<FileFacts>& before,
                                   const std::string& version_before) const {
  const std::string version = offer_.version();
  if (looks_the_same(current_file_, before) && version == version_before) return {};
  const ServerConfig& config = current_->config();
  const std::string name = config.command.argv.empty() ? std::string() : config.command.argv[0];
  return supervisor_for(config).program_line(
      {.file = current_file_ ? current_file_->text(world_.timers().date()) : name,
       .is_binary = !current_file_ || current_file_->is_binary,
       .version_before = version_before,
       .version = version});
}

}  // namespace mcpivot
