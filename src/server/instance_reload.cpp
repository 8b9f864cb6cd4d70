// The part of an instance's life that others decide: it is built, started anew, stopped, configured
// otherwise, and ended.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "log/log.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

// How often an instance that has fallen behind looks whether it may follow.
constexpr std::chrono::milliseconds idle_pace{1'000};

}  // namespace

void Instance::reload(Reload reload) {
  if (!farewell_reason_.empty())
    return reload.done(
        {false, fmt::format("[mcpivot] \"{}\" {}: {}", config_->name, manner().absent, farewell_reason_)});
  const bool saves_are_seen = config_->watching && !config_->watch.empty();
  switch (reloads_.join(std::move(reload), can_build(), saves_are_seen)) {
    case ReloadRounds::Step::nothing:
      return;
    case ReloadRounds::Step::begin:
      return start_round();
    case ReloadRounds::Step::build:
      if (config_->swap == SwapMode::overlap) return build();
      reloads_.wait();
      return start_round();
    case ReloadRounds::Step::bear:
      if (config_->swap == SwapMode::stop_first && current_) {  // it was not when that round began
        reloads_.wait();
        return start_round();
      }
      if (!config_->is_daemon()) return bear_for_round();
      bear(reloads_.reason());  // if it is not on its way: a session is not older than what was asked for
  }
}

// What came of a reload that the client didn't ask for.
void Instance::tell(const ReloadOutcome& outcome) {
  if (outcome.news) add_notice(outcome.text);
}

void Instance::follow_sources(const std::string& reason) {
  reload({.build = can_build(),
          .renew = true,
          .changed = true,
          .reason = reason,
          .progress = {},
          .done = [this](const ReloadOutcome& outcome) { tell(outcome); }});
}

bool Instance::program_replaced(const std::string& reason) {
  const auto program = world_.files().program_of(config_->command);
  const auto& known = unborn_ ? unborn_file_ : current_file_;
  // By a build of ours, or it runs already.
  if (build_ || (program && known && program->stamp.looks_like(known->stamp))) return false;
  reload({.build = false,
          .changed = true,
          .reason = reason,
          .progress = {},
          .done = [this](const ReloadOutcome& outcome) { tell(outcome); }});
  return true;
}

void Instance::fall_behind(Clock::Time since) {
  // Its next start finds what is there.
  if (state_ == State::stopped || ends() || (current_ && current_->ending())) return;
  const Generation* const newest = unborn_ ? unborn_.get() : current_.get();
  if (newest != nullptr && newest->started() >= since) return;
  behind_ = true;
  if (!current_) return catch_up();
  catch_up_when_idle();
}

// What is called from now on should be what the others call; but where two cannot run side by side, not at
// the price of calls that are under way.
bool Instance::must_catch_up(const Generation& serving, const Message& message) const {
  if (message.known != Method::tools_call || build_) return false;
  return config_->swap == SwapMode::overlap || serving.calls() == 0;
}

// Calls under way, or tasks that somebody may yet fetch; but not for ever.
bool Instance::has_work() const {
  const auto since_last_task = world_.timers().now() - current_->last_task();
  return current_->calls() > 0 ||
         (current_->tasks() > 0 && since_last_task < current_->config().call_timeout);
}

void Instance::catch_up_when_idle() {
  catch_up_timer_.set(idle_pace, [this] {
    if (!behind_) return;
    if (current_ && has_work()) return catch_up_when_idle();
    catch_up();
  });
}

void Instance::forget_to_catch_up() {
  behind_ = false;
  catch_up_timer_.cancel();
}

// If it fails, who waits for it gets the old one.
void Instance::catch_up() {
  forget_to_catch_up();
  reload({.build = false,
          .reason = "another client has a newer one",
          .progress = {},
          .done = [this](const ReloadOutcome& outcome) {
            tell(outcome);
            if (!outcome.ok) release_waiting();
          }});
}

void Instance::start_round() {
  if (config_->swap == SwapMode::stop_first) {
    abandon_birth();
    if (current_ && !current_->ending()) current_->end(farewell);
  }
  begin_reload_if_clear();
}

// What is in the way dies soon, and then this is called again.
void Instance::begin_reload_if_clear() {
  const bool ends = current_ && current_->ending();
  const bool runs_twice = config_->swap == SwapMode::stop_first && !leaving_.empty();
  if (reloads_.waits() && !ends && !runs_twice) begin_reload();
}

void Instance::begin_reload() {
  const bool wants_build = reloads_.begin(can_build());
  unwatch_sources();
  changed_ = world_.timers().now();
  if (wants_build) return build();
  daemon_restarted_ = false;
  bear_for_round();
}

// What is being born already may be older than what was asked for.
void Instance::bear_for_round() {
  if (config_->is_daemon() && reloads_.wants_renewal()) return renew_daemon(reloads_.reason());
  if (!config_->is_daemon()) abandon_birth();
  bear(reloads_.reason());
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
  build_ = source_.build(*config_, {.on_line = [this](std::string_view line) { reloads_.tell(line); },
                                    .on_done = [this](const Build::Result& result) { on_built(result); }});
}

void Instance::on_built(const Build::Result& result) {
  const auto keep = std::exchange(build_, nullptr);
  ++past_.builds;
  past_.last_build = fmt::format("{} in {}", result.ok ? "succeeded" : "failed: it " + result.how,
                                 duration_text(result.took));
  log_info("{}: build {}", config_->name, past_.last_build);
  if (result.ok) {
    changed_ = world_.timers().now();
    reloads_.built();
    abandon_birth();  // one that began before the build ended may run the old code
    const std::string reason = fmt::format("rebuilt {}", reloads_.reason());
    return config_->is_daemon() ? renew_daemon(reason) : bear(reason);
  }
  ++past_.failed_builds;
  const std::string serving = current_ ? fmt::format("Generation {} still serves.", current_->number())
                                       : "The last good server is started again.";
  reload_done(
      {false, fmt::format("[mcpivot] the build of \"{}\" failed: it {} after {}: {}\n{}\n{}", config_->name,
                          result.how, duration_text(result.took), config_->build, result.output, serving)});
  if (!current_) bear("again, after a failed build");
}

void Instance::cancel_reload(const void* whose) {
  if (reloads_.give_up(whose) && build_) build_->stop("was stopped, because the request was cancelled");
}

void Instance::reload_done(const ReloadOutcome& outcome) {
  if (end_round(outcome)) start_round();
}

// True: the next round waits to be started, once whoever ended this one has done the rest of its work.
bool Instance::end_round(const ReloadOutcome& outcome) {
  const bool proven = outcome.ok && reloads_.changes_server();
  const bool next = reloads_.end(outcome);
  if (proven) source_.proven(*this, changed_);
  watch_again();
  return next;
}

// It is to be stopped: whatever was to come of it is not to come any more.
void Instance::abandon_plans() {
  back_off_timer_.cancel();
  build_.reset();
  renewal_.clear();
  forget_to_catch_up();
  abandon_birth();
  give_up_round(fmt::format("[mcpivot] \"{}\" was stopped on request", config_->name));
}

// Who waits for the next round shares its fate.
void Instance::give_up_round(const std::string& why) {
  reloads_.gather();
  const bool unproven = reloads_.changes_server();
  const std::string reason = reloads_.reason();
  reload_done({false, why});
  if (unproven) source_.gave_up(*this, reason);
}

void Instance::stop(std::function<void(const Stopped&)> done) {
  if (!farewell_reason_.empty())
    return done({.ok = false,
                 .how = fmt::format("nothing was stopped: {}", farewell_reason_),
                 .pids = {},
                 .others = {},
                 .program = {},
                 .next = {}});
  if (config_in_use().is_daemon()) return stop_daemon(std::move(done));
  // Whoever came before the stop does not get what it ends.
  for (const auto& waiting : waiting_.take_all())
    if (waiting.is_request())
      refuse(
          waiting.asker, waiting.message.message(),
          fmt::format("it was stopped on request; {}",
                      waiting.sent_before > 0 ? "the next call starts it" : "the request never reached it"));
  abandon_plans();
  stops_.push_back(std::move(done));
  if (current_ && !current_->ending()) current_->end(farewell);
  for (const auto& generation : std::list(leaving_))
    if (!generation->ending()) generation->end(farewell);
  if (!current_) become(State::stopped, "it was stopped on request; the next call starts it");
  settle();
  finish_stop_if_gone();
}

// One that somebody wants stopped has ended; of several, the last to serve counts.
void Instance::note_end(const Generation& generation, const std::string& how) {
  if (stops_.empty()) return;
  stopping_.how = fmt::format("it {}", how);
  stopping_.pids.push_back(generation.backend().pid());
  stopping_command_ = generation.config().command;
}

// Nothing of it is on its way out any more: whoever wanted it stopped is told.
void Instance::finish_stop_if_gone() {
  const auto ends = [](const auto& generation) { return generation && generation->ending(); };
  if (stops_.empty() || daemon_busy_ || ends(current_) || std::ranges::any_of(leaving_, ends)) return;
  Stopped stopped = std::exchange(stopping_, {});
  if (stopped.how.empty()) stopped.how = "it was not running";
  finish_stop(std::exchange(stopping_command_, {}).value_or(config_->command), std::move(stopped));
}

void Instance::rest() {
  if (!current_ || current_->ending() || current_->calls() > 0 || reloads_.under_way()) return;
  if (has_work()) return;
  forget_to_catch_up();
  resting_ = true;
  current_->end(farewell);
}

void Instance::configure(ServerConfig config) {
  adopt(std::move(config));
  abandon_birth();  // it would be born of the old one
  if (shut_down_) return;
  if (state_ == State::stopped) return bear_for_waiting();
  reload({.build = false,
          .reason = "its configuration changed",
          .progress = {},
          .done = [this](const ReloadOutcome& outcome) { add_notice(outcome.text); }});
}

void Instance::finish_stop(const Command& command, Stopped stopped) {
  const auto stopping = std::make_shared<Stopping>();
  stopping->stopped = std::move(stopped);
  stopping->waiting = std::exchange(stops_, {});
  const auto program = world_.files().stoppable_program_of(command);
  if (!program || ends_with_mcpivot_) return stopping->tell();
  stopping->stopped.program = program->path;
  stoppings_.push_back(stopping);
  world_.end_processes_running(*program, farewell, [this, weak = std::weak_ptr(stopping)](auto others) {
    const auto still = weak.lock();
    if (!still) return;  // they were told sooner, or we are gone
    stoppings_.remove(still);
    still->stopped.others = std::move(others);
    still->tell();
    end_if_gone();
  });
}

void Instance::answer_all_waiting(const std::string& why) {
  for (const auto& waiting : waiting_.take_all())
    if (waiting.is_request())
      refuse(waiting.asker, waiting.message.message(),
             waiting.sent_before > 0 ? why : fmt::format("{}; the request never reached it", why));
  give_up_round(fmt::format("[mcpivot] \"{}\" is not started again: {}", config_->name, why));
}

// Whoever destroys us next finds no handler of theirs under way.
void Instance::cancel_timers() {
  for (auto* timer : {&birth_timer_, &back_off_timer_, &patience_timer_, &overdue_timer_, &long_birth_timer_,
                      &catch_up_timer_})
    timer->cancel();
}

void Instance::retire(std::function<void()> done) {
  farewell_reason_ = "it was taken out of the configuration";
  shut_down_ = std::move(done);
  cancel_timers();
  build_.reset();
  abandon_birth();
  answer_all_waiting(std::string(farewell_reason_));
  trouble_ = farewell_reason_;
  settle();
  if (current_) drain(std::exchange(current_, nullptr));
  end_if_gone();
}

// Nothing is left of it, and nobody waits for it to be stopped.
void Instance::end_if_gone() {
  if (shut_down_ && !current_ && leaving_.empty() && !daemon_busy_ && stoppings_.empty())
    std::exchange(shut_down_, nullptr)();
}

void Instance::shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
  cancel_timers();
  farewell_reason_ = "mcpivot ends";
  ends_with_mcpivot_ = true;
  build_.reset();
  abandon_birth();
  shut_down_ = std::move(done);
  answer_all_waiting(std::string(farewell_reason_));
  trouble_ = farewell_reason_;
  settle();
  // There is no time to wait for these.
  for (const auto& stopping : std::exchange(stoppings_, {})) stopping->tell();
  if (daemon_busy_) on_daemon_stopped(false, "mcpivot ends; whether the daemon was stopped is not known");
  if (current_) current_->end(patience);
  for (const auto& generation : leaving_) generation->end(patience);
  end_if_gone();
}

}  // namespace mcpivot
