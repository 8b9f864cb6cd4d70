// How an instance is stopped, rests when idle, and ends for good.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "server/instance.h"

namespace mcpivot {

void Instance::stop(Stops::Done done, bool others) {
  if (ends()) return done(StopResult::failure(fmt::format("nothing was stopped: {}", trouble())));
  const auto stop = supervisor_for(config_in_use()).on_stop_wanted();
  if (!stop) return done(StopResult::failure(stop.error()));
  watcher_.on_stop(*this);
  stops_.add(std::move(done), others);
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
           fmt::format("it was stopped on request; {}", waiting.sent_before.count > 0
                                                            ? "the next call starts it"
                                                            : "the request never reached it"));
  }
}

// Tells the callers that wanted it stopped; if it must run again, it is started at the next attempt.
void Instance::on_daemon_stopped(const DaemonSupervisor::Stopped& stopped) {
  young_deaths_ = 0;
  stops_.finish_with(
      {.ok = stopped.ok, .how = stopped.how, .pids = {}, .others = {}, .program = {}, .next = stopped.next});
  if (ends()) return live();
  if (stopped.renewal.empty()) return reloads_.under_way() ? happens(Life::Due{reloads_.reason()}) : live();
  if (stopped.ok || reloads_.round() == Life::Round::builds) return happens(Life::Due{stopped.renewal});
  end_round({false, fmt::format("[mcpivot] \"{}\" could not be stopped: {}", config_->name, stopped.how)});
  if (!current_) return happens(Life::Due{why_back()});
  live();
}

void Instance::note_end(const Generation& generation, const std::string& how) {
  stops_.on_end(generation.config().command, generation.backend().pid(), how);
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
      refuse(waiting.asker, message, words(waiting.sent_before.count > 0));
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
  patience_ = patience;
  shut_down_ = std::move(done);
  happens(Life::Farewell{"mcpivot is shutting down"}, [this] {
    stops_.give_up();
    daemon_.give_up_stop("mcpivot is shutting down; whether the daemon was stopped is unknown");
  });
}

}  // namespace mcpivot
