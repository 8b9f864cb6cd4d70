// When another generation of an instance is wanted: it is rebuilt, restarted, reconfigured, or follows
// another instance.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

// How often an instance that is out of date checks whether it can be updated.
constexpr std::chrono::milliseconds idle_pace{1'000};

}  // namespace

void Instance::reload(Reload reload) {
  if (ends())
    return reload.done(
        {false, fmt::format("[mcpivot] \"{}\" {}: {}", config_->name, traits().absent, trouble())});
  if (reload.accepts) {
    const CheckReport* const held = source_.held();
    if (held == nullptr)
      return reload.done({false, fmt::format("[mcpivot] no build of \"{}\" is held back.", config_->name)});
    source_.accept(*held);
    reload.changed = true;
  }
  if (source_.unsettled(true)) take_up_saves(reload);
  if (reload.build || reload.changed) announce(reload);
  const bool saves_are_seen = config_->watching && !config_->watch.empty();
  switch (reloads_.join(std::move(reload), can_build(), saves_are_seen)) {
    case ReloadRounds::Step::nothing:
      return;
    case ReloadRounds::Step::begin:
      return happens(Life::RoundWaits{});
    case ReloadRounds::Step::build:
      if (config_->swap == SwapMode::overlap)
        return happens(Life::RoundBegins{.builds = true, .renews = false, .reason = reloads_.reason()});
      reloads_.wait();
      return happens(Life::RoundWaits{});
    case ReloadRounds::Step::bear:
      if (config_->swap == SwapMode::overlap || !life_.is<Life::Ready>())
        return happens(Life::RoundBegins{.builds = false, .renews = false, .reason = reloads_.reason()});
      reloads_.wait();  // it wasn't ready when that round began
      return happens(Life::RoundWaits{});
  }
}

// What was saved a moment ago, and has not been reported yet, belongs to the round that begins now: it won't
// be reported again.
void Instance::take_up_saves(Reload& reload) const {
  reload.build = can_build();
  reload.renew = true;
  reload.changed = reload.saved = true;
  reload.accepts = false;  // the user hasn't seen these changes yet
}

void Instance::announce(Reload& reload) {
  const Changes::Id change =
      source_.change_begins({.reason = reload.reason, .since = world_.timers().now(), .saved = reload.saved});
  reload.done = [source = &source_, change, done = std::move(reload.done)](const ReloadOutcome& outcome) {
    done(outcome);
    source->change_ends(change, outcome.ok);
  };
}

// Once, however many callers are in the round. A failure that somebody gets as an answer is no news.
void Instance::tell(const ReloadOutcome& outcome) {
  if (outcome.news && (outcome.ok || reloads_.is_unasked())) add_notice(outcome.text, reloads_.askers());
}

void Instance::follow_sources(const std::string& reason) {
  reload({.build = can_build(),
          .renew = true,
          .changed = true,
          .saved = true,
          .reason = reason,
          .progress = {},
          .done = [](const ReloadOutcome&) {}});
}

bool Instance::program_replaced(const std::string& reason) {
  const auto program = world_.files().program_of(config_->command);
  const auto& known = birth_ ? birth_->facts().file : current_file_;
  // Replaced by our own build, or it is already running.
  if (build_ || (program && known && program->stamp.looks_like(known->stamp))) return false;
  reload({.build = false,
          .changed = true,
          .saved = true,
          .reason = reason,
          .progress = {},
          .done = [](const ReloadOutcome&) {}});
  return true;
}

void Instance::fall_behind(Clock::Time since) {
  // Its next start uses what is there.
  if (life_.is<Life::Stopped>() || life_.is<Life::Ending>() || ends()) return;
  const Generation* const newest = birth_ ? incoming() : current_.get();
  if (newest != nullptr && newest->started() >= since) return;
  // A birth that gets here began too early, and another one takes its place.
  if (!current_ || birth_ || following_ == Following::now) return follow();
  following_ = Following::soon;
  follow_when_idle();
}

// Calls from now on should reach the same version that others use; but if two can't run side by side, not at
// the cost of calls in flight.
bool Instance::must_follow(const Generation& serving, const Message& message) const {
  if (message.known != Method::tools_call || build_ || serving.has_parked(message)) return false;
  return config_->swap == SwapMode::overlap || (serving.calls() == 0 && !serving.parks());
}

// Calls in flight, or tasks whose results may still be fetched; but not forever.
bool Instance::has_work() const {
  const auto since_last_task = world_.timers().now() - current_->last_task();
  return current_->calls() > 0 || current_->parks() ||
         (current_->tasks() > 0 && since_last_task < current_->config().call_timeout);
}

void Instance::follow_when_idle() {
  follow_timer_.set(idle_pace, [this] {
    if (following_ != Following::soon) return;
    if (current_ && has_work()) return follow_when_idle();
    follow();
  });
}

// Whatever starts from now on is up to date.
void Instance::forget_to_follow() {
  if (following_ == Following::soon) following_ = Following::not_needed;
  follow_timer_.cancel();
}

// If it fails, the callers that wait for it get the old one.
void Instance::follow() {
  following_ = Following::now;
  follow_timer_.cancel();
  reload({.build = false,
          .reason = "another client has a newer generation",
          .progress = {},
          .done = [this](const ReloadOutcome&) { following_ = Following::not_needed; }});
}

// The generation in its way is gone.
void Instance::begin_round() {
  const bool builds = reloads_.begin(can_build());
  unwatch_sources();
  changed_ = world_.timers().now();
  if (!builds) daemon_.on_round_begins();
  happens_first(Life::RoundBegins{.builds = builds,
                                  .renews = traits().comes_and_goes && reloads_.wants_renewal(),
                                  .reason = reloads_.reason()});
}

void Instance::unwatch_sources() {
  if (!std::exchange(sources_unwatched_, true)) source_.reload_begins();
}

void Instance::watch_again() {
  long_birth_timer_.cancel();
  if (!build_ && std::exchange(sources_unwatched_, false)) source_.reload_ends();
}

void Instance::build() {
  log_info("{}: building: {}", config_->name, config_->build);
  unwatch_sources();
  build_began_ = world_.timers().now();
  build_ = source_.build(*config_, reloads_.follows_saves(),
                         {.on_line = [this](std::string_view line) { reloads_.tell(line); },
                          .on_done = [this](const Build::Result& result) { on_built(result); }});
}

void Instance::on_built(const Build::Result& result) {
  const auto keep = std::exchange(build_, nullptr);
  ++past_.builds;
  past_.last_build = fmt::format("{} {}", result.ok ? "succeeded in" : "failed: it " + result.how + " after",
                                 duration_text(result.took));
  log_info("{}: build {}", config_->name, past_.last_build);
  if (result.ok) {
    changed_ = world_.timers().now();
    reloads_.built();
    return happens(Life::Built{fmt::format("rebuilt {}", reloads_.reason())});
  }
  ++past_.failed_builds;
  const std::string serving = current_ ? fmt::format("Generation {} is still serving.", current_->number())
                                       : "mcpivot is starting the last good server again.";
  NextStep next = next_step(past_.starts);
  next.control.logs = {};  // the build's output is all there is
  happens(Life::BuildFailed{fmt::format(
      "[mcpivot] the build of \"{}\" failed: it {} after {}: {}\n{}\n{}\n{}", config_->name, result.how,
      duration_text(result.took), config_->build, result.output, serving, next_line(next))});
}

void Instance::cancel_reload(ReloadId id) {
  if (reloads_.give_up(id) && build_) build_->stop("was stopped because the request was cancelled");
}

void Instance::end_round(const ReloadOutcome& outcome) {
  const bool proven = outcome.ok && reloads_.changes_server();
  tell(outcome);
  const bool next = reloads_.end(outcome);
  if (proven) source_.proven(*this, changed_);
  watch_again();
  if (next) happens(Life::RoundWaits{});
}

// Callers that wait for the next round get the same outcome.
void Instance::give_up_round() {
  reloads_.gather();
  const bool unproven = reloads_.changes_server();
  const std::string reason = reloads_.reason();
  end_round({false, ends() ? fmt::format("[mcpivot] \"{}\" is not restarted: {}", config_->name, trouble())
                           : fmt::format("[mcpivot] \"{}\" was stopped on request. The next call starts it.",
                                         config_->name)});
  if (unproven) source_.gave_up(*this, reason);
}

// Called by each client that shares it. Control tools are only mentioned in texts, so the server may stay as
// it is when they have other names, or when there are fewer of them.
void Instance::configure(ServerConfig config) {
  if (config.build.empty()) config.control.rebuild = {};
  if (config == *config_) return;
  ServerConfig renamed = *config_;
  renamed.control = config.control;
  const bool is_same_server = config == renamed;
  adopt(std::move(config));
  if (is_same_server) return;
  happens(Life::Configured{}, [this] {
    if (ends() || state() == State::stopped) return;  // the next start uses it
    reload({.build = false,
            .reason = "its configuration changed",
            .progress = {},
            .done = [](const ReloadOutcome&) {}});
  });
}

}  // namespace mcpivot
