// How an instance is stopped, rests when idle, and ends for good.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/instance.h"

namespace mcpivot {

void Instance::stop(std::function<void(const StopResult&)> done, bool others) {
  if (ends())
    return done({.ok = false,
                 .how = fmt::format("nothing was stopped: {}", trouble()),
                 .pids = {},
                 .others = {},
                 .program = {},
                 .next = {}});
  const auto stop = supervisor_for(config_in_use()).on_stop_wanted();
  if (!stop)
    return done({.ok = false, .how = stop.error(), .pids = {}, .others = {}, .program = {}, .next = {}});
  watcher_.on_stop(*this);
  stops_.push_back(std::move(done));
  stops_others_ = stops_others_ || others;
  daemon_.forget_renewal();
  forget_to_follow();
  eras_.set_futile(false);
  happens(Life::Stop{.words = stop->words, .at_once = stop->at_once}, [this, at_once = stop->at_once] {
    if (!at_once) refuse_stopped();
  });
}

// Requests that came before the stop are refused.
void Instance::refuse_stopped() {
  for (const auto& waiting : take_waiting()) {
    const Message message = waiting.message.message();
    if (!waiting.is_request()) {
      drop_notification(message, "a notification for a server that was stopped on request");
      continue;
    }
    refuse(waiting.asker, message,
           fmt::format("it was stopped on request; {}",
                       waiting.sent_before > 0 ? "the next call starts it" : "the request never reached it"));
  }
}

// Tells the callers that wanted it stopped; if it must run again, it is started at the next attempt.
void Instance::on_daemon_stopped(const DaemonSupervisor::Stopped& stopped) {
  young_deaths_ = 0;
  stopping_ = {
      .ok = stopped.ok, .how = stopped.how, .pids = {}, .others = {}, .program = {}, .next = stopped.next};
  stopping_command_.reset();
  stops_others_ = false;  // it isn't a program of ours
  finish_stop();
  if (ends()) return live();
  if (stopped.renewal.empty()) return reloads_.under_way() ? happens(Life::Due{reloads_.reason()}) : live();
  if (stopped.ok || reloads_.round() == Life::Round::builds) return happens(Life::Due{stopped.renewal});
  end_round({false, fmt::format("[mcpivot] \"{}\" could not be stopped: {}", config_->name, stopped.how)});
  if (!current_) return happens(Life::Due{why_back()});
  live();
}

// A generation that was to be stopped has ended; of several, the last one counts.
void Instance::note_end(const Generation& generation, const std::string& how) {
  if (stops_.empty()) return;
  stopping_.how = fmt::format("it {}", how);
  stopping_.pids.push_back(generation.backend().pid());
  stopping_command_ = generation.config().command;
}

bool Instance::is_idle() const {
  return current_ && !current_->ending() && !reloads_.under_way() && !has_work() && !waiting_.any(true) &&
         !replay_.has_subscriptions() && listened_.empty();
}

void Instance::rest() {
  if (!is_idle()) return;
  forget_to_follow();
  happens(Life::Rest{});
}

// All of its generations have ended, or its daemon has: tells the callers that wanted it stopped.
void Instance::finish_stop() {
  const Command command = std::exchange(stopping_command_, {}).value_or(config_->command);
  const auto stopping = std::make_shared<Stopping>();
  stopping->result = std::exchange(stopping_, {});
  if (stopping->result.how.empty()) stopping->result.how = "it was not running";
  stopping->waiting = std::exchange(stops_, {});
  const auto program =
      std::exchange(stops_others_, false) ? world_.files().stoppable_program_of(command) : std::nullopt;
  if (!program || ends_with_mcpivot_) return stopping->tell();
  stopping->result.program = program->path;
  stoppings_.push_back(stopping);
  world_.end_processes_running(*program, Generation::farewell,
                               [this, weak = std::weak_ptr(stopping)](auto others) {
                                 const auto still = weak.lock();
                                 if (!still) return;  // they have been told already, or we are gone
                                 stoppings_.remove(still);
                                 still->result.others = std::move(others);
                                 still->tell();
                                 live();
                               });
}

void Instance::refuse_waiting(const std::string& why) {
  const bool tries_again = life_.is_refused();
  const auto words = [&](bool sent_before) {
    if (!tries_again) return sent_before ? why : fmt::format("{}; the request never reached it", why);
    return fmt::format("{}{} {}", why, why.ends_with('.') ? "" : ".",
                       sent_before ? "The next request tries again."
                                   : "The request was not sent; the next one tries again.");
  };
  for (const auto& waiting : take_waiting()) {
    const Message message = waiting.message.message();
    if (!waiting.is_request()) {
      drop_notification(message, why);
      continue;
    }
    if (!tries_again || !ask_to_sign_in(waiting.asker, message))
      refuse(waiting.asker, message, words(waiting.sent_before > 0));
  }
}

// So that no handler runs after the callee has destroyed us.
void Instance::cancel_timers() {
  for (auto* timer : {&patience_timer_, &overdue_timer_, &long_birth_timer_, &follow_timer_, &held_timer_})
    timer->cancel();
}

void Instance::retire(std::function<void()> done) {
  shut_down_ = std::move(done);
  cancel_timers();
  happens(Life::Retired{"it was removed from the configuration"});
}

void Instance::shut_down(std::chrono::milliseconds patience, std::function<void()> done) {
  cancel_timers();
  ends_with_mcpivot_ = true;
  patience_ = patience;
  shut_down_ = std::move(done);
  happens(Life::Farewell{"mcpivot is shutting down"}, [this] {
    // There is no time left to wait for these.
    for (const auto& stopping : std::exchange(stoppings_, {})) stopping->tell();
    daemon_.give_up_stop("mcpivot is shutting down; whether the daemon was stopped is unknown");
  });
}

}  // namespace mcpivot
