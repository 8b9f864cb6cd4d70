// How generations of an instance are born: one is started, does the handshake in the client's name, and
// replaces the one before; or it fails, and nothing has changed.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "log/log.h"
#include "mcp/request_meta.h"
#include "rpc/json_cursor.h"
#include "server/birth_report.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// What a server writes when it starts must not restart it; but if it takes longer than this, it may hang, and
// what is saved then may be the fix.
constexpr milliseconds quick_birth{2'000};

// A server that hasn't answered for this long is also asked in the other era; or for half of its start
// timeout, if that is less.
constexpr milliseconds longest_silence{5'000};
// A server that is only asked for its era has less time, because a client waits for that.
constexpr milliseconds era_patience{2'000};

// Whether this is the same program as before; without a file, that isn't known.
bool same_file(const std::optional<FileFacts>& now, const std::optional<FileFacts>& before) {
  if (!now) return true;
  return before && now->path == before->path && now->stamp.looks_like(before->stamp);
}

// Only the tools matter here: many clients don't use the other lists.
std::string why_no_tools(const std::vector<FetchedLists::Refusal>& refusals) {
  const auto tools = std::ranges::find(refusals, ListKind::tools, &FetchedLists::Refusal::kind);
  return tools == refusals.end() ? std::string() : tools->why;
}

}  // namespace

void Instance::bear(const std::string& reason) {
  forget_to_follow();
  if (reloads_.round() == Life::Round::bears)
    eras_futile_ = false;  // a caller waits to learn whether it works
  const int number = ++past_.starts;
  birth_ = std::make_unique<Birth>(world_.timers(), life_.births(), reason,
                                   world_.files().program_of(config_->command));
  auto generation = start_generation(number);
  if (!generation) return birth_failed(generation.error(), false);
  birth_->generation = std::move(*generation);
  if (sources_unwatched_) long_birth_timer_.set(quick_birth, [this] { watch_again(); });
  if (knows_client()) return shake_hands();
  if (!era_askers_.empty()) put_era_question();
  end_unused_round();
}

// It may take long until a client connects; the callers that asked for this must not wait for that.
void Instance::end_unused_round() {
  if (knows_client() || incoming() == nullptr || reloads_.round() != Life::Round::bears) return;
  const std::string words =
      unused_report(config_->name, traits().life, past_.starts, incoming()->backend().where());
  if (reloads_.end({true, words})) happens(Life::RoundWaits{});
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

void Instance::shake_hands() {
  birth_->overdue.set(config_->start_timeout, [this] { on_birth_overdue(); });
  if (!birth_->refusal) birth_->era = era_to_try();
  incoming()->meet(birth_->era, replay_.hello, client_era_);
  shake_hands(birth_->handshake);
  // A bridge can't be removed while it waits for the server; after that, we know what the server accepts.
  const bool waits = birth_ && birth_->handshake && !birth_->handshake->opened();
  if (waits && birth_->era == client_era_ && may_switch_era() && !eras_.of(birth_->era).value_or(false))
    birth_->silence.set(silence(), [this] { on_silence(); });
}

void Instance::shake_hands(std::shared_ptr<Handshake>& handshake) {
  auto may_make = [this](const Replay::Call& call) {
    return call.method != "tools/call" ||
           watcher_.allows(*this, {.client = client()}, Method::tools_call, find_member(call.params, "name"));
  };
  handshake = std::make_shared<Handshake>(*incoming(), replay_.hello, client_era_, replay_.calls(),
                                          std::move(may_make));
  const Handshake* const by = handshake.get();
  const auto keep = handshake;
  keep->start([this, by] { on_opened(*by); },
              [this, by](auto outcome) { on_handshake(*by, std::move(outcome)); });
}

// --- eras --------------------------------------------------------------------------------------------------

// The client's own, unless the server is known not to accept it.
Era Instance::era_to_try() const {
  if (const auto era = supervisor().fixed_era()) return *era;
  return eras_.refuses(client_era_) && !eras_.refuses(other(client_era_)) ? other(client_era_) : client_era_;
}

bool Instance::may_switch_era() const {
  return !supervisor().fixed_era() && !birth_->refusal && !eras_futile_;
}

// Some servers stick to the era of their first message, so the other one needs a fresh start.
void Instance::switch_era(std::string why) {
  birth_->refusal = std::move(why);
  birth_->era = other(birth_->era);
  birth_->silence.cancel();
  log_info("{}: it doesn't speak the {} era: {}; trying the {} one", config_->name, text(other(birth_->era)),
           *birth_->refusal, text(birth_->era));
  end_to_start_over();
}

// Not before the first is gone: it may be a server that can't run twice.
void Instance::end_to_start_over() {
  birth_->handshake.reset();
  birth_->other.reset();
  birth_->was_asked_era = false;
  birth_->starts_over = true;
  if (incoming()->dead()) return start_over();
  incoming()->end(farewell);
}

void Instance::start_over() {
  birth_->starts_over = false;
  auto generation = start_generation(past_.starts);
  if (!generation) return birth_failed(generation.error(), false);
  birth_->generation = std::move(*generation);
  open_handshake();
}

std::chrono::milliseconds Instance::silence() const {
  return std::min(longest_silence, config_->start_timeout / 2);
}

// It may be slow, or not understand what it was asked: it is asked in the other era as well, and its first
// valid answer decides.
void Instance::on_silence() {
  if (!birth_->handshake || birth_->handshake->opened()) return;
  log_info("{}: no answer for {} in the {} era; asking in the other one as well", config_->name,
           duration_text(silence()), text(birth_->era));
  incoming()->meet(other(birth_->era), replay_.hello, client_era_);
  shake_hands(birth_->other);
}

void Instance::on_opened(const Handshake& by) {
  birth_->silence.cancel();
  if (!birth_->other) return;
  (&by == birth_->other.get() ? birth_->handshake : birth_->other)->withdraw();
  if (&by == birth_->other.get()) {
    birth_->refusal = fmt::format("it said nothing for {}", duration_text(silence()));
    birth_->era = other(birth_->era);
    birth_->handshake = std::move(birth_->other);
  } else {
    incoming()->meet(birth_->era, replay_.hello, client_era_);
  }
  birth_->other.reset();
}

// What it accepts is remembered for the next run; across builds it is assumed to stay the same.
void Instance::learn_eras(const Eras& now) {
  const Eras before = std::exchange(eras_, now);
  const auto& file = birth_ ? birth_->file : current_file_;
  if (eras_ != before || !same_file(file, current_file_))
    EraCache(world_.files(), *config_, file).save(eras_);
}

// An unknown server is started for this. A shared one has mcpivot's handshake, and isn't asked.
void Instance::ask_era(ClientId client, std::string_view hello, std::function<void()> then) {
  const bool lacks_words = config_->for_many && eras_.modern == true && eras_.discovered.empty();
  const bool known = eras_.modern && !lacks_words;
  if (known || supervisor().fixed_era() || is_shared() || current_ || ends() ||
      (birth_ && birth_->handshake) || life_.is<Life::Failed>())
    return then();
  era_askers_.push_back({client, std::move(then)});
  era_hello_ = hello;
  if (birth_) {
    if (birth_->generation && !birth_->asks_era && !birth_->starts_over) put_era_question();
  } else {
    start("to learn its protocol era");
  }
}

void Instance::put_era_question() {
  const bool again = std::exchange(birth_->asks_era, true);
  birth_->was_asked_era = true;
  incoming()->meet(Era::modern, era_hello_, Era::modern);
  birth_->silence.set(era_patience, [this] {
    end_to_start_over();
    end_asking();
  });
  const auto on_answer = [this, again, birth = birth_->number, of = incoming()->id()](const Message& answer) {
    // The answer may not be needed any more.
    if (!birth_ || birth_->number != birth || !birth_->asks_era || incoming()->id() != of) return;
    if (!again && wants_modern_again(answer)) return put_era_question();
    const std::string result(answer.kind == Kind::result ? answer.text(answer.result) : std::string_view());
    const bool is_modern = offers_modern(result);
    if (answer.kind == Kind::result || speaks_of_era(answer)) {
      Eras now = eras_;
      now.modern = is_modern;
      if (is_modern) now.discovered = result;
      learn_eras(now);
    }
    if (!is_modern) end_to_start_over();
    end_asking();
  };
  incoming()->inquire("server/discover", {}, on_answer);
}

void Instance::end_asking() {
  if (birth_) {
    birth_->asks_era = false;
    birth_->silence.cancel();
    open_handshake();
  }
  tell_era_askers();
}

void Instance::tell_era_askers() {
  for (const auto& [client, then] : std::exchange(era_askers_, {})) then();
}

// As soon as there are a client and a server to talk to. A server that was asked for its era may have treated
// that as its first message.
void Instance::open_handshake() {
  if (!knows_client() || !birth_ || !birth_->generation || birth_->handshake || birth_->asks_era ||
      birth_->starts_over)
    return;
  if (birth_->was_asked_era && client_era_ == Era::legacy) return end_to_start_over();
  shake_hands();
}

// The process ended before it was ready. True: that isn't a failure yet.
bool Instance::dies_before_ready(const Backend::Ending& ending) {
  if (birth_->starts_over) {
    start_over();
    return true;
  }
  if (ending.unreachable || ending.from_outside || birth_->generation->ending()) return false;
  if (birth_->asks_era) {
    Eras now = eras_;
    now.modern = false;
    learn_eras(now);
    end_to_start_over();
    end_asking();
    return true;
  }
  const bool opened = !birth_->handshake || birth_->handshake->opened();
  if (opened || !may_switch_era()) return false;
  // A server that has accepted this era before has most likely crashed. If it happens again, it may be
  // another program by now.
  if (std::exchange(eras_.of(birth_->era), std::nullopt).value_or(false)) return false;
  switch_era(fmt::format("it {}{}", ending.how, birth_->generation->backend().traits().before_ready));
  return true;
}

// --- born, or not ------------------------------------------------------------------------------------------

// A replayed call that never answers blocks nothing; the second time in a row, it is given up.
void Instance::on_birth_overdue() {
  const std::string limit = duration_text(config_->start_timeout);
  const auto keep = birth_->handshake;
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

void Instance::on_handshake(const Handshake& by,
                            std::expected<Handshake::Outcome, Handshake::Failure> outcome) {
  if (outcome) return on_born(std::move(*outcome));
  // As long as it may still accept the other era, this isn't news.
  if (&by == birth_->other.get()) {
    birth_->other.reset();
    return incoming()->meet(birth_->era, replay_.hello, client_era_);
  }
  if (birth_->other) {
    birth_->handshake = std::exchange(birth_->other, nullptr);
    birth_->refusal = std::move(outcome.error().why);
    birth_->era = other(birth_->era);
    return;
  }
  late_replay_.clear();
  if (outcome.error().refused && may_switch_era()) return switch_era(std::move(outcome.error().why));
  birth_failed(std::move(outcome.error().why), true, outcome.error().final);
}

void Instance::on_born(Handshake::Outcome outcome) {
  late_replay_.clear();
  if (birth_->checked) {
    std::ranges::move(outcome.failed_replays, std::back_inserter(birth_->outcome.failed_replays));
    return make_up();
  }
  // A server that can't list what its predecessor offered doesn't replace it.
  if (const FetchedLists::Refusal* const worse = offer_.why_worse(outcome.lists.refusals))
    return birth_failed(worse->why, true, worse->final);
  Eras now = eras_;
  now.of(birth_->era) = true;
  if (birth_->refusal) now.of(other(birth_->era)) = false;
  if (client_era_ == Era::modern) now.discovered = outcome.initialize_result;
  learn_eras(now);
  eras_futile_ = false;
  tell_era_askers();
  const int birth = birth_->number;
  const bool checks =
      config_->verify.wanted() && reloads_.round() == Life::Round::bears && reloads_.wants_check();
  happens(Life::Born{birth, checks}, [this, birth, checks, outcome = std::move(outcome)]() mutable {
    if (!birth_ || birth_->number != birth) return;
    if (!checks) return swap_in(std::move(outcome));
    birth_->outcome = std::move(outcome);
  });
}

// `ran`: its program did run. `refused`: it is there, but refused us.
void Instance::birth_failed(std::string why, bool ran, bool refused) {
  const bool opened = birth_->handshake && birth_->handshake->opened();
  if (birth_->refusal && opened) {  // it accepts this era; the failure came after that
    eras_.of(birth_->era) = true;
    eras_.of(other(birth_->era)) = false;
  } else if (birth_->refusal) {
    log_info("{}: it doesn't speak the {} era either: {}", config_->name, text(birth_->era), why);
    why = *birth_->refusal;
    // A process that was restarted for the other era may have died the first time without refusing anything.
    refused = refused && traits().comes_and_goes;
  } else if (birth_->handshake && !opened) {
    eras_.legacy = eras_.modern = std::nullopt;  // it may be another program by now
  }
  eras_futile_ = birth_->refusal && !opened && !current_;
  if (incoming() != nullptr) {
    const std::string lines = telling_lines(stderr_for_clients(incoming()->number()));
    if (!lines.empty()) why += fmt::format("\n{}", lines);
  }
  const int birth = birth_->number;
  blame_replay();
  abandon_birth();
  Supervisor::Failure failure = supervisor().on_birth_failed({.number = past_.starts,
                                                              .why = std::move(why),
                                                              .ran = ran,
                                                              .asked = is_waited_for(),
                                                              .ends = ends(),
                                                              .refused = refused});
  if (failure.refused) eras_futile_ = false;  // each attempt is for a request, and must try both
  if (!failure.counts) --past_.starts;
  if (failure.postponed) return happens_first(Life::BirthPostponed{birth, *failure.postponed});
  if (!current_) ++young_deaths_;
  std::string words =
      failure_report(config_->name, failure.why, current_ ? std::optional(current_->number()) : std::nullopt,
                     traits().comes_and_goes ? std::string() : next_line(next_step()));
  happens_first(Life::BirthFailed{.birth = birth,
                                  .why = std::move(failure.why),
                                  .ran = ran,
                                  .words = std::move(words),
                                  .refused = failure.refused});
}

// A call that two births in a row didn't survive is not replayed again: otherwise there would never be a
// third.
void Instance::blame_replay() {
  const Replay::Call* const call = birth_->handshake ? birth_->handshake->replaying() : nullptr;
  const std::string what = call != nullptr ? fmt::format("{} {}", call->method, call->params) : std::string();
  if (std::exchange(fatal_replay_, what) != what || call == nullptr) return;
  dropped_replays_.push_back(fmt::format("{} (two generations died during it)", call->label));
  replay_.drop(*call);
}

// The birth under way is no longer wanted.
void Instance::abandon_birth() {
  const auto birth = std::exchange(birth_, nullptr);
  if (!birth) return;
  if (birth->generation && !birth->generation->dead()) {
    leaving_.push_back(birth->generation);
    if (!birth->generation->ending()) birth->generation->end(farewell);
  }
  tell_era_askers();
}

// What a new generation changed when it replaced the old one.
struct Instance::Swap {
  std::unique_ptr<Birth> birth;
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
  const bool news = swap.news(current_->number());
  report(swap, news);
  announce_lists(swap, news);
  if (swap.old) last_used_ = std::max(last_used_, swap.old->last_asked());
  if (swap.old) drain(swap.old);
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
  auto old = std::exchange(current_, birth->generation);
  following_ = Following::not_needed;  // the new generation is up to date
  past_.last_start_took = world_.timers().since(current_->started());
  auto arrival = supervisor_for(current_->config()).on_born();
  auto file_before = std::exchange(current_file_, std::move(birth->file));
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
  const std::optional<CheckReport>& checked = swap.birth->checked;
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
                 .reason = swap.birth->reason,
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
  if (same_file(current_file_, before) && version == version_before) return {};
  const ServerConfig& config = current_->config();
  const std::string name = config.command.argv.empty() ? std::string() : config.command.argv[0];
  return supervisor_for(config).program_line(
      {.file = current_file_ ? current_file_->text(world_.timers().date()) : name,
       .is_binary = !current_file_ || current_file_->is_binary,
       .version_before = version_before,
       .version = version});
}

}  // namespace mcpivot
