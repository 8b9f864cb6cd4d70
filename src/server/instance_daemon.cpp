// The part of an instance's life that only HTTP daemons have: they go and come without asking us, forget us,
// and are ours to start or stop only if the user said so.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/url.h"
#include "log/log.h"
#include "server/instance.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// A daemon may come back any moment, and a connection costs little.
constexpr milliseconds first_back_off{100};
constexpr milliseconds longest_back_off{5'000};
// A session that ends sooner than this was none worth the name.
constexpr milliseconds young{1'000};
// While somebody waits, it is looked for more often.
constexpr milliseconds longest_back_off_with_queue{1'000};
constexpr const char* next_call_starts_it = "The next call starts it.";
constexpr const char* no_start = "Start it yourself: there is no --start.";

}  // namespace

// A daemon that is away is told of when it is back.
void Instance::on_daemon_lost(const Death& death, bool forgotten) {
  count_young_death(*current_, death.after < young);
  session_forgotten_ = forgotten;
  if (!forgotten) {
    ++past_.outside_deaths;
    past_.last_exit = fmt::format("{} after {}", death.how, duration_text(death.after));
    connection_.lost(death.how);
  }
  happens(Life::Lost{fmt::format("it {}; a new connection is being tried", death.how)},
          [this, dead = current_, death] {
            current_.reset();
            settle_open(*dead, death, true);
            watcher_.on_writable(*this);  // nobody may wait for a daemon that is gone
          });
}

// Many clients of one daemon must not all come at the same moment; and whoever waits for it to be started
// must not wait longer than need be.
milliseconds Instance::daemon_back_off() const {
  if (young_deaths_ == 0) return milliseconds(0);
  const milliseconds longest = waiting_.size() > 0 ? longest_back_off_with_queue : longest_back_off;
  const auto full = std::min(longest, first_back_off * (1 << std::min(young_deaths_ - 1, 10)));
  // The clock's nanoseconds are chance enough.
  const auto chance = world_.timers().now().time_since_epoch().count() % (full.count() / 4 + 1);
  const milliseconds delay(full.count() - chance);
  if (!keeper_ || !keeper_->can_start() || waiting_.size() == 0) return delay;
  return std::min(delay, std::max(config_->http.start_after - connection_.away(), first_back_off));
}

// A birth failed. True: the daemon is being started, so it is tried again soon and nobody is told.
bool Instance::wait_for_daemon(std::string& why) {
  if (!keeper_ || !keeper_->can_start() || ends()) return false;
  const bool first = std::exchange(first_try_, false) && unreachable_;
  const bool overdue = waiting_.size() > 0 && connection_.away() >= config_->http.start_after;
  if ((first || overdue || start_wanted_) && !keeper_->starting()) keeper_->start(unreachable_);
  if (!keeper_->starting()) {
    if (!keeper_->trouble().empty()) why += "; " + keeper_->trouble();
    return false;
  }
  return true;
}

std::string Instance::connection_words(const std::optional<ConnectionRecord::Absence>& absence,
                                       const std::string& reason) const {
  const std::string where = current_->backend().where();
  std::string words =
      absence ? fmt::format("[mcpivot] \"{}\" is back after {}: {} (it {}).", config_->name,
                            duration_text(absence->length), where, absence->why)
              : fmt::format("[mcpivot] \"{}\": session {} with {}, ready in {} ({}).", config_->name,
                            current_->number(), where, duration_text(past_.last_start_took), reason);
  if (reloads_.under_way())
    words += daemon_restarted_ ? " The daemon was restarted." : " The daemon itself was not restarted.";
  return words;
}

// A build made it out of date. If it is ours to stop, it is stopped and, at the next try, started; else a new
// session is all that we can do.
void Instance::renew_daemon(const std::string& reason) {
  daemon_restarted_ = keeper_ && keeper_->can_stop();
  if (!daemon_restarted_) {
    start_wanted_ = keeper_ && keeper_->can_start();
    return happens_first(Life::Due{reason});
  }
  renewal_ = reason;
  end_daemon();
}

// Whoever wants it stopped while it is being stopped waits for the same end.
void Instance::end_daemon() {
  if (!keeper_ || std::exchange(daemon_busy_, true)) return;
  keeper_->stop([this](bool ok, const std::string& how) { on_daemon_stopped(ok, how); });
}

// What is to follow may have changed since the stop began.
void Instance::on_daemon_stopped(bool ok, const std::string& how) {
  daemon_busy_ = false;
  log_info("{}: {}", config_->name, how);
  adopt_keeper();
  start_wanted_ = keeper_ && keeper_->can_start();
  young_deaths_ = 0;
  const std::string renewal = std::exchange(renewal_, {});
  const std::string next = start_wanted_ ? next_call_starts_it : no_start;
  stopping_ = {};
  stopping_command_.reset();
  for (const auto& tell : std::exchange(stops_, {}))
    tell({.ok = ok, .how = how, .pids = {}, .others = {}, .program = {}, .next = next});
  if (ends()) return live();
  if (renewal.empty()) return reloads_.under_way() ? happens(Life::Due{reloads_.reason()}) : live();
  if (ok || reloads_.round() == Life::Round::builds) return happens(Life::Due{renewal});
  end_round({false, fmt::format("[mcpivot] \"{}\" could not be stopped: {}", config_->name, how)});
  if (!current_) return happens(Life::Due{std::string(manner().comes_back)});
  live();
}

void Instance::stop_daemon(std::function<void(const StopResult&)> done) {
  if (!daemon_busy_ && (!keeper_ || !keeper_->can_stop()))
    return done(
        {.ok = false,
         .how =
             "nothing was stopped: this daemon is not ours to stop, because mcpivot did not start it and was "
             "given no --stop",
         .pids = {},
         .others = {},
         .program = {},
         .next = {}});
  stops_.push_back(std::move(done));
  renewal_.clear();
  forget_to_follow();
  connection_.lost("was stopped on request");
  const bool starts = keeper_ && keeper_->can_start();
  happens(Life::Stop{
      .words = fmt::format("it was stopped on request. {}", starts ? next_call_starts_it : no_start),
      .at_once = true});
}

void Instance::describe_daemon(Status& status) const {
  status.daemon = true;
  const auto of_session = std::exchange(status.more, {});  // stands behind what is true of all sessions
  const Backend::Describe line = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) status.more.emplace_back(key, value);
  };
  line("url", parse_url(config_->http.url)->shown());
  connection_.describe(line);
  if (current_) line("session age", duration_text(status.life->uptime));
  for (const auto& [key, value] : of_session) line(key, value);
  if (keeper_ && keeper_->pid() != 0)
    line("daemon started by mcpivot", fmt::format("pid {}", keeper_->pid()));
}

}  // namespace mcpivot
