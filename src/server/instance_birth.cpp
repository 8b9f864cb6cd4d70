// How generations of an instance are born: one is started, shakes hands in the client's name, and takes the
// place of the one before; or it fails, and nothing has changed.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "rpc/json_cursor.h"
#include "server/birth_report.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// What a server writes when it starts is no reason to start it again; but one that takes longer than this may
// hang, and what is saved then may be what fixes it.
constexpr milliseconds quick_birth{2'000};

// Who has no use for the other lists does not miss them.
std::string why_no_tools(const std::vector<FetchedLists::Refusal>& refusals) {
  const auto tools = std::ranges::find(refusals, ListKind::tools, &FetchedLists::Refusal::kind);
  return tools == refusals.end() ? std::string() : tools->why;
}

}  // namespace

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
  const std::string words = unused_report(config_->name, number, unborn()->backend().where());
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
      failure_report(config_->name, failure.why, current_ ? std::optional(current_->number()) : std::nullopt);
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
  watcher_.on_catalog(*this);
  const bool unchanged = change.diff.empty();
  // A session that was merely forgotten is nobody's concern, unless something is different in the new one.
  const bool silent = forgotten && unchanged && outcome.failed_replays.empty();
  const bool news =
      (current_->number() > 1 && !silent) || change.was_missing || (change.was_guess && !unchanged);
  std::string diff;
  if (news || !change.first)
    diff = change.diff.text(
        [this](ListKind kind, const std::string& own) { return watcher_.shown_name(*this, kind, own); });
  if (!change.first) {
    past_.last_diff = unchanged ? "nothing" : diff;
    log_info("{}: changed: {}", config_->name, past_.last_diff);
  }
  for (const auto& refusal : outcome.lists.refusals) log_warn("{}: {}", config_->name, refusal.why);
  const BirthNews told{
      .headline = supervisor.headline({.server = config_->name,
                                       .number = current_->number(),
                                       .where = current_->backend().where(),
                                       .did = change.first ? "runs" : current_->backend().renewed(),
                                       .took = past_.last_start_took,
                                       .reason = birth->reason,
                                       .absence = absence,
                                       .reloaded = reloads_.under_way()}),
      .diff = news ? std::optional(std::move(diff)) : std::nullopt,
      .was_guess = change.was_guess,
      .program = change.first ? std::string() : program_line(file_before, change.version_before),
      .failed_replays = std::move(outcome.failed_replays),
      .no_tools = why_no_tools(outcome.lists.refusals),
      .crash = std::exchange(crash_to_tell_, {})};
  const bool worth_telling =
      news && (change.was_missing || !unchanged || current_->backend().news_if_unchanged());
  tell_birth(birth_report(told), worth_telling || !told.no_tools.empty());
  for (const ListKind kind : all_lists)
    if (offer_.announces(change, kind, news)) watcher_.on_list_changed(*this, kind);
  for (const ListKind kind : all_lists)
    if (birth->changed[static_cast<std::size_t>(kind)]) refetch(kind);
  if (old) last_used_ = std::max(last_used_, old->last_asked());
  if (old) drain(old);
  settle();
  watcher_.on_writable(*this);
  if (!change.was_guess || !unchanged) keep_for_next_run();
}

// Those who wait for it are told in any case; who waits for a build waits for what comes of that.
void Instance::tell_birth(const std::string& words, bool news) {
  if (reloads_.round() == Life::Round::bears) {
    young_deaths_ = 0;  // what somebody asked for is not judged by what it was before
    end_round({.ok = true, .text = words, .news = news});
  } else if (news) {
    add_notice(words);
  }
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

}  // namespace mcpivot
