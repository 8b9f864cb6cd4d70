#include "gateway/sitter_answers.h"

#include <boost/json.hpp>

#include "base/duration_text.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

std::int64_t seconds(std::chrono::milliseconds time) {
  return std::chrono::duration_cast<std::chrono::seconds>(time).count();
}

// Text, or null.
json::value or_null(const std::string& text) {
  return text.empty() ? json::value(nullptr) : json::value(text);
}

}  // namespace

std::string sitter_status(const Status& status, const Command& command, std::chrono::seconds our_uptime) {
  json::object answer;
  json::array arguments;
  for (std::size_t i = 1; i < command.argv.size(); ++i) arguments.emplace_back(command.argv[i]);
  answer["childCommand"] = command.argv.empty() ? json::value(nullptr) : json::value(command.argv[0]);
  answer["childArgs"] = std::move(arguments);
  answer["workingDirectory"] = or_null(command.cwd);
  answer["binaryPath"] = status.executable ? json::value(status.executable->path) : nullptr;
  answer["binaryVersion"] = or_null(status.version);
  answer["binaryNewerOnDisk"] = status.newer_on_disk;
  answer["childState"] = status.state;
  answer["childAlive"] = status.life.has_value();
  answer["childReady"] = status.state == "ready";
  answer["childPid"] = status.life ? json::value(status.life->pid) : nullptr;
  answer["childToolCount"] = status.tools;
  answer["spawnCount"] = status.past.starts;
  answer["killCount"] = status.past.kills;
  answer["crashCount"] = status.past.crashes;
  answer["externalKillCount"] = status.past.outside_deaths;
  answer["lastKillUtc"] =
      status.past.last_kill_at ? json::value(time_text(*status.past.last_kill_at)) : nullptr;
  answer["lastKillReason"] = or_null(status.past.last_kill);
  answer["lastStartupMs"] = status.past.last_start_took.count();
  answer["childUptimeSeconds"] = status.life ? json::value(seconds(status.life->uptime)) : nullptr;
  answer["previousExitCode"] =
      status.past.last_exit_code ? json::value(*status.past.last_exit_code) : nullptr;
  answer["previousExit"] = or_null(status.past.last_exit);
  answer["previousLifetimeSeconds"] =
      status.past.last_exit_code ? json::value(seconds(status.past.last_lifetime)) : nullptr;
  answer["lastToolsDiff"] = or_null(status.past.last_diff);
  answer["trouble"] = or_null(status.trouble);
  answer["sitterUptimeSeconds"] = our_uptime.count();
  return json::serialize(answer);
}

std::string sitter_binary_info(const Status& status) {
  json::object answer;
  answer["exists"] = status.executable.has_value();
  if (status.executable) {
    const auto age = status.at - status.executable->modified();
    answer["path"] = status.executable->path;
    answer["version"] = or_null(status.version);
    answer["sizeBytes"] = status.executable->stamp.size;
    answer["mtime"] = time_text(status.executable->modified());
    answer["mtimeHuman"] = duration_text(std::chrono::duration_cast<std::chrono::milliseconds>(age)) + " ago";
    answer["newerThanRunning"] = status.newer_on_disk;
  }
  return json::serialize(answer);
}

std::string sitter_killed(const StopResult& stopped) {
  json::array killed;
  for (const pid_t pid : stopped.pids) killed.push_back({{"pid", pid}, {"relation", "child"}});
  for (const pid_t pid : stopped.others) killed.push_back({{"pid", pid}, {"relation", "other"}});
  const std::size_t count = killed.size();
  return json::serialize(
      json::object{{"killed", std::move(killed)}, {"path", or_null(stopped.program)}, {"count", count}});
}

}  // namespace mcpivot
