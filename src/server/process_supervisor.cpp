#include "server/process_supervisor.h"

#include <fmt/format.h>

#include <algorithm>

#include "log/log.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

}  // namespace

milliseconds ProcessSupervisor::back_off(int young_deaths, bool) const {
  constexpr milliseconds first{100};
  constexpr milliseconds longest{30'000};
  if (young_deaths < 2) return milliseconds(0);
  return std::min(longest, first * (1 << std::min(young_deaths - 2, 10)));
}

Supervisor::Failure ProcessSupervisor::on_birth_failed(const FailedBirth& birth) {
  log_warn("{}: generation {} failed: {}", config_->name, birth.number, birth.why);
  return {.why = birth.why, .refused = birth.refused};
}

Supervisor::Loss ProcessSupervisor::on_lost(const Death& death, const Backend::Ending& ending) {
  return {.fault = ending.from_outside ? Loss::Fault::outside : Loss::Fault::its_own,
          .crash = true,
          .words = fmt::format("it {} and is restarting", ending_text(death))};
}

std::expected<Supervisor::Stop, std::string> ProcessSupervisor::on_stop_wanted() {
  return Stop{.words = "it was stopped on request; the next call starts it", .at_once = false};
}

// A CLI supports both, and gains nothing from either.
std::optional<Era> ProcessSupervisor::fixed_era() const {
  return config_->cli && !config_->era ? Era::legacy : config_->era;
}

}  // namespace mcpivot
