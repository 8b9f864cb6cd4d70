#include "server/daemon_supervisor.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/url.h"
#include "log/log.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr const char* next_call_starts_it = "The next call starts it.";
constexpr const char* no_start = "Start it yourself: there is no --start command.";

}  // namespace

DaemonSupervisor::DaemonSupervisor(const Clock& clock, MakeKeeper make_keeper, OnStopped on_stopped)
    : clock_(clock),
      make_keeper_(std::move(make_keeper)),
      on_stopped_(std::move(on_stopped)),
      connection_(clock) {}

void DaemonSupervisor::configure(const ConfigRef& config) {
  Supervisor::configure(config);
  if (!stopping()) adopt_keeper();  // otherwise once the daemon has stopped
}

void DaemonSupervisor::adopt_keeper() {
  const bool kept = !config_->http.start.empty() || !config_->http.stop.empty();
  if (!kept || (keeper_ && !keeper_->fits(*config_))) keeper_.reset();
  if (keeper_) keeper_->configure(config_);
  if (kept && !keeper_) keeper_ = make_keeper_(config_);
}

// --- births and losses -------------------------------------------------------------------------------------

// A daemon may come back at any moment, and a connection costs little. Many clients of one daemon must not
// all come at the same moment; and callers that wait for it to be started must not wait longer than
// necessary.
milliseconds DaemonSupervisor::back_off(int young_deaths, bool asked) const {
  constexpr milliseconds first{100};
  if (young_deaths == 0) return milliseconds(0);
  const milliseconds longest(asked ? 1'000 : 5'000);
  const auto full = std::min(longest, first * (1 << std::min(young_deaths - 1, 10)));
  // The clock's nanoseconds are random enough.
  const auto chance = clock_.now().time_since_epoch().count() % (full.count() / 4 + 1);
  const milliseconds delay(full.count() - chance);
  if (!can_start() || !asked) return delay;
  return std::min(delay, std::max(config_->http.start_after - connection_.away(), first));
}

// There was no session to count. While the daemon is being started, it is retried soon and no client is told.
// A daemon that is up but refuses us is a different case from one that is away.
Supervisor::Failure DaemonSupervisor::on_birth_failed(const FailedBirth& birth) {
  if (birth.refused && !comes_up()) {
    connection_.refused(birth.why);
    if (start_when_ == StartWhen::nobody_listens) start_when_ = StartWhen::overdue;
    return {.why = birth.why, .counts = false, .refused = true};
  }
  connection_.failed(birth.why);
  Failure failure{.why = birth.why, .counts = false};
  if (!birth.ran || !can_start() || birth.ends) return failure;
  if (start_if_due(birth.asked)) {
    failure.postponed = fmt::format("it is being started: {}", config_->http.start);
  } else if (!keeper_->trouble().empty()) {
    failure.why += "; " + keeper_->trouble();
  }
  return failure;
}

// What answers in the meantime may not be the daemon that is being started.
bool DaemonSupervisor::comes_up() const {
  return can_start() && (keeper_->starting() || start_when_ == StartWhen::at_once);
}

// True: it has been started, and still has time to come up.
bool DaemonSupervisor::start_if_due(bool asked) {
  const bool overdue = asked && connection_.away() >= config_->http.start_after;
  const bool due = overdue || start_when_ == StartWhen::at_once ||
                   (start_when_ == StartWhen::nobody_listens && unreachable_);
  if (start_when_ == StartWhen::nobody_listens) start_when_ = StartWhen::overdue;
  if (due && !keeper_->starting()) keeper_->start(unreachable_);
  return keeper_->starting();
}

ConnectionRecord::Arrival DaemonSupervisor::on_born() {
  if (keeper_) keeper_->arrived();
  start_when_ = StartWhen::overdue;
  return connection_.made();
}

// That a daemon was away is reported when it is back.
Supervisor::Loss DaemonSupervisor::on_lost(const Death& death, const Backend::Ending& ending) {
  if (ending.forgotten) {
    connection_.forgotten();
  } else {
    connection_.lost(death.how);
  }
  return {.fault = ending.forgotten ? Loss::Fault::none : Loss::Fault::outside,
          .crash = false,
          .words = fmt::format("it {}; mcpivot is reconnecting", death.how)};
}

// --- stops -------------------------------------------------------------------------------------------------

std::expected<Supervisor::Stop, std::string> DaemonSupervisor::on_stop_wanted() {
  if (!stopping() && !can_stop())
    return std::unexpected(
        "nothing was stopped: mcpivot did not start this daemon and has no --stop command for it");
  connection_.lost("was stopped on request");
  return Stop{
      .words = fmt::format("it was stopped on request. {}", can_start() ? next_call_starts_it : no_start),
      .at_once = true};
}

bool DaemonSupervisor::renew(const std::string& reason) {
  restarted_ = can_stop();
  if (restarted_) {
    begin_stop(Renewing{reason});
  } else {
    want_start();
  }
  return restarted_;
}

void DaemonSupervisor::forget_renewal() {
  if (stopping()) phase_ = Stopping{};
}

void DaemonSupervisor::stop() {
  if (keeper_ && !stopping()) begin_stop(Stopping{});
}

// If it is already being stopped, this may change why it is started again.
void DaemonSupervisor::begin_stop(Phase phase) {
  if (std::exchange(phase_, std::move(phase)).index() != Phase(Left{}).index()) return;
  keeper_->stop([this](bool ok, const std::string& how) {
    log_info("{}: {}", config_->name, how);
    end_stop(ok, how);
  });
}

void DaemonSupervisor::give_up_stop(const std::string& how) {
  if (!stopping()) return;
  log_info("{}: {}", config_->name, how);
  end_stop(false, how);
}

// What follows may have changed since the stop began.
void DaemonSupervisor::end_stop(bool ok, const std::string& how) {
  if (!stopping()) return;  // no caller waits for it any more
  const Phase phase = std::exchange(phase_, Left{});
  adopt_keeper();
  want_start();
  const auto* const renewing = std::get_if<Renewing>(&phase);
  on_stopped_({.ok = ok,
               .how = how,
               .renewal = renewing != nullptr ? renewing->reason : std::string(),
               .next = can_start() ? next_call_starts_it : no_start});
}

// It is gone because of us, so it is started at once when it is needed, if that is our job.
void DaemonSupervisor::want_start() {
  if (can_start()) {
    start_when_ = StartWhen::at_once;
  } else if (start_when_ == StartWhen::at_once) {
    start_when_ = StartWhen::overdue;
  }
}

void DaemonSupervisor::describe(Status& status) const {
  status.daemon = true;
  status.away = unreachable_;
  const auto of_session = std::exchange(status.more, {});  // goes after what is true of all sessions
  const Backend::Describe line = [&](std::string_view key, const std::string& value) {
    if (!value.empty()) status.more.emplace_back(key, value);
  };
  line("url", parse_url(config_->http.url)->shown());
  connection_.describe(line);
  if (status.life) line("session age", duration_text(status.life->uptime));
  for (const auto& [key, value] : of_session) line(key, value);
  if (keeper_ && keeper_->pid() != 0)
    line("daemon started by mcpivot", fmt::format("pid {}", keeper_->pid()));
}

}  // namespace mcpivot
