#include "server/status.h"

#include <fmt/format.h>

#include <ctime>

#include "base/duration_text.h"

namespace mcpivot {

std::string time_text(std::chrono::system_clock::time_point time) {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  ::gmtime_r(&seconds, &parts);
  std::string text(20, '\0');
  std::strftime(text.data(), text.size() + 1, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string Status::condition() const {
  return away && state == "failed" ? "away" : state;
}

std::string Status::text() const {
  std::string lines;
  auto line = [&](std::string_view key, const std::string& value) {
    if (!value.empty() && value != "0") lines += fmt::format("{}: {}\n", key, value);
  };
  line("server", server);
  line("calls itself", own_name);
  line("state", condition());
  line("trouble", trouble);
  line("version", version);
  line("protocol", protocol);
  if (executable)
    line("executable",
         executable->text(at) + (newer_on_disk ? "; the file is newer than what is running" : ""));
  if (life) {
    line("generation", std::to_string(life->generation));
    if (life->pid != 0) line("pid", std::to_string(life->pid));
    if (!daemon) line("uptime", duration_text(life->uptime));  // a daemon's isn't known
    line("start took", duration_text(past.last_start_took));
    line("in flight", std::to_string(life->in_flight));
  }
  line("waiting", std::to_string(waiting));
  line("draining", std::to_string(draining));
  line("calls", std::to_string(usage.calls));
  line("errors", std::to_string(usage.errors));
  if (usage.p50) line("p50", short_time_text(*usage.p50));
  if (building) line("building", fmt::format("for {}", duration_text(*building)));
  if (daemon) {
    line("sessions", std::to_string(past.starts));
    line("sessions lost", std::to_string(past.outside_deaths));
    line("last loss", past.last_exit);
  } else {
    line("starts", std::to_string(past.starts));
    line("stops", std::to_string(past.kills));
    if (past.last_kill_at)
      line("last stop", fmt::format("{}, at {}", past.last_kill, time_text(*past.last_kill_at)));
    line("crashes", std::to_string(past.crashes));
    line("killed from outside", std::to_string(past.outside_deaths));
    line("last exit", past.last_exit);
  }
  line("builds", past.failed_builds == 0 ? std::to_string(past.builds)
                                         : fmt::format("{} ({} failed)", past.builds, past.failed_builds));
  line("last build", past.last_build);
  line("last check", past.last_check);
  line("held back", held);
  line("tools", std::to_string(tools));
  line("last restart changed", past.last_diff);
  for (const auto& [key, value] : more) line(key, value);
  line("not told yet", untold);
  return lines;
}

}  // namespace mcpivot
