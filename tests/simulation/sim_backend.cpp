#include "sim_backend.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace simulation {

SimBackend::SimBackend(const Place& place, mcpivot::ConfigRef config, int generation,
                       mcpivot::OutputRing& ring, Birth birth)
    : place_(place),
      config_(std::move(config)),
      generation_(generation),
      ring_(&ring),
      chance_(place.seed),
      wire_(std::make_shared<Wire>(place.time, place.seed + 1, config_->max_message,
                                   static_cast<Wire::Peer&>(*this))),
      actor_(*this, place.script, place.ledger, birth, is_cli(), generation) {
  ++place_.alive;
}

SimBackend::~SimBackend() {
  close();
}

void SimBackend::start(mcpivot::Link::Handler& handler, OnEnd on_end) {
  handler_ = &handler;
  on_end_ = std::move(on_end);
  wire_->start(handler);
  reached_ = !is_daemon() || place_.daemon_up;
  if (reached_) return actor_.start();
  wire_->stop_reading();
  place_.time.later(Millis(1), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->alive_) {
      self->ending_words_.unreachable = true;
      self->leave("refused the connection");
    }
  });
}

void SimBackend::end(Millis patience) {
  ending_ = true;
  wire_->finish();
  const auto at = [&](Millis time, bool for_sure, const char* how) {
    place_.time.later(time, [weak = weak_from_this(), for_sure, how] {
      const auto self = weak.lock();
      if (self && self->alive_ && (for_sure || !self->place_.script.slow_to_end)) self->leave(how);
    });
  };
  if (!alive_)  // its last output no longer needs to be waited for
    place_.time.later(patience, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->tell_end();
    });
  at(patience, false, "was killed by SIGTERM");
  at(2 * patience, true, "was killed by SIGKILL");
}

void SimBackend::close() {
  if (std::exchange(alive_, false)) --place_.alive;
  on_end_ = nullptr;
  handler_ = nullptr;
  ring_ = nullptr;
  wire_->forget_peer();
  wire_->close();
}

std::string SimBackend::where() const {
  if (is_daemon()) return config_->http.url;
  return is_cli() ? "tools from: " + config_->command.argv.front() : fmt::format("pid {}", place_.pid);
}

bool SimBackend::another_serves() const {
  return std::ranges::any_of(place_.script.lives, [&](const std::weak_ptr<SimBackend>& weak) {
    const auto other = weak.lock();
    return other && other.get() != this && other->alive_ && !other->ending_ && other->serves();
  });
}

// --- how it ends

void SimBackend::leave(const std::string& how) {
  if (!std::exchange(alive_, false)) return;
  --place_.alive;
  place_.time.count();
  ending_words_.how = how;
  wire_->leave();
  // While the client reads nothing, its last messages wait too, unless it is being ended.
  place_.time.later(Millis(200), [weak = weak_from_this()] {
    if (const auto self = weak.lock(); self && self->ending_) self->tell_end();
  });
}

void SimBackend::tell_end() {
  if (alive_ || !on_end_) return;
  const auto keep = shared_from_this();  // the handler may release us
  const bool alone = std::ranges::none_of(place_.script.lives, [](const auto& weak) {
    const auto life = weak.lock();
    return life && life->alive_;
  });
  if (death_ > 0 && !ending_ && !is_daemon())
    place_.ledger.buried(place_.script.name, place_.pid, death_, actor_.answered() && alone);
  const bool had_tasks = actor_.tasks() > 0 && place_.ledger.serves(place_.script.name, place_.pid);
  std::exchange(on_end_, nullptr)(ending_words_);
  if (had_tasks) place_.ledger.ended_with_tasks(place_.script.name, place_.time.since(actor_.last_task()));
}

void SimBackend::die(const std::string& how) {
  if (!alive_ || is_cli()) return;
  if (ending_) return leave(how);
  ++place_.script.deaths;
  death_ = place_.ledger.died(place_.script.name, actor_.open());
  if (ring_ != nullptr && !is_daemon() && death_ % 2 == 0)
    ring_->add(generation_, fmt::format("panic: at line {} {}", death_, actor_.canary()));
  if (is_daemon()) ending_words_.from_outside = true;
  ending_words_.exit_code = 139;
  leave(fmt::format("{} (death {})", is_daemon() ? "closed the connection" : how, death_));
}

void SimBackend::kill(const std::string& how) {
  ending_words_.from_outside = true;
  die(how);
}

void SimBackend::lose_session(bool forgotten) {
  if (!is_daemon()) return;  // it began before the configuration made it a daemon
  ending_words_.forgotten = forgotten;
  die(forgotten ? "no longer knows the session" : "is gone");
}

void SimBackend::blurt(std::string_view what) {
  if (alive_ && reached_ && !is_cli()) actor_.blurt(what);
}

// --- Wire::Peer, Actor::Body

void SimBackend::hear(std::string_view line) {
  if (alive_) actor_.hear(line);
}

void SimBackend::hear_end() {
  if (place_.script.slow_to_end) return;
  after(Millis(chance_.below(6)), [this] { leave("exited with code 0"); });
}

void SimBackend::say(std::string line) {
  if (alive_) wire_->say(std::move(line));
}

void SimBackend::after(Millis time, std::function<void()> what) {
  place_.time.later(time, [weak = weak_from_this(), what = std::move(what)] {
    const auto self = weak.lock();
    if (self && self->alive_) what();
  });
}

void SimBackend::stop_reading(Millis time) {
  wire_->stop_reading();
  after(time, [this] { wire_->read_again(); });
}

void SimBackend::lose(const std::string& id, bool reached) {
  if (!is_daemon()) return;  // its call goes on forever
  place_.time.later(Micros(0), [weak = weak_from_this(), id, reached] {
    const auto self = weak.lock();
    if (self && self->alive_ && self->handler_ != nullptr)
      self->handler_->on_lost(id, reached, "lost the connection");
  });
}

}  // namespace simulation
