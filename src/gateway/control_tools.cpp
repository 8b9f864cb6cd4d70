#include "gateway/control_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <boost/asio/steady_timer.hpp>
#include <charconv>

#include "gateway/sitter_answers.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

// Progress is told not more often than this, and at least so often that a client's idle limit does not
// strike.
constexpr milliseconds progress_pace{100};
constexpr milliseconds sign_of_life{5'000};
constexpr int usual_log_lines = 50;
constexpr int sitters_log_lines = 200;

int number(std::string_view arguments, std::string_view key, int fallback) {
  const std::string_view text = find_member(arguments, key);
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

ControlNames control_names(Compat compat) {
  switch (compat) {
    case Compat::mcpflow:
      return {.rebuild = "recompile", .restart = {}, .status = {}, .logs = {}};
    case Compat::mcp_sitter:
      return {
          .rebuild = {}, .restart = "sitter_kill", .status = "sitter_status", .logs = "sitter_child_stderr"};
    case Compat::none:
      break;
  }
  return {};
}

struct ControlTools::Tool {
  Compat of;
  std::string_view name;
  std::string_view description;
  std::string_view properties;
  bool reads;
  void (ControlTools::*run)(Asker&, const Message&, std::string_view arguments);
};

const std::array<ControlTools::Tool, 9> ControlTools::tools{{
    {Compat::none, "pivot_rebuild",
     "Build this MCP server and swap it in if the build and the new server work; the old one serves "
     "until then.",
     "", false, &ControlTools::rebuild},
    {Compat::none, "pivot_restart",
     "Restart this MCP server without a build. stop: only stop it, and whoever else runs its program, so "
     "that "
     "the binary can be replaced; the next call starts it.",
     R"("stop":{"type":"boolean"})", false, &ControlTools::restart},
    {Compat::none, "pivot_status",
     "State of this MCP server: generation, pid, crashes, last build, what the last restart changed.", "",
     true, &ControlTools::status},
    {Compat::none, "pivot_logs", "The last lines of this MCP server's stderr, across restarts.",
     R"("lines":{"type":"integer"},"generation":{"type":"integer"})", true, &ControlTools::logs},
    {Compat::mcpflow, "recompile", "Build this MCP server and restart it.", "", false,
     &ControlTools::rebuild},
    {Compat::mcp_sitter, "sitter_status",
     "State of the child MCP server: pid, executable, counts of starts, kills and crashes, last exit.", "",
     true, &ControlTools::sitter_state},
    {Compat::mcp_sitter, "sitter_kill",
     "Kill the child MCP server and whoever else runs its executable, so that it can be rebuilt; the next "
     "tool call starts it.",
     "", false, &ControlTools::sitter_kill},
    {Compat::mcp_sitter, "sitter_binary_info",
     "Path, version, size and age of the child's executable, and whether it is newer than what runs.", "",
     true, &ControlTools::sitter_info},
    {Compat::mcp_sitter, "sitter_child_stderr",
     "The last lines of the child's stderr, across restarts. since_spawn: only of the child that runs now.",
     R"("lines":{"type":"integer","default":200,"minimum":1,"maximum":1000},"since_spawn":{"type":"boolean","default":false})",
     true, &ControlTools::sitter_logs},
}};

struct ControlTools::Running {
  Asker* asker;
  std::string id;
  std::string token;
  boost::asio::steady_timer silence;  // somebody may wait for a sign of life
  bool withdrawn = false;
  steady_clock::time_point started = steady_clock::now();
  steady_clock::time_point last_progress{};
  int steps = 0;

  void tell_progress(std::string_view line) {
    const auto now = steady_clock::now();
    if (token.empty() || withdrawn || now - last_progress < progress_pace) return;
    last_progress = now;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - started);
    asker->client().answer(
        request_line({}, "notifications/progress",
                     fmt::format(R"({{"progressToken":{},"progress":{},"message":{}}})", token, ++steps,
                                 quote(fmt::format("{} ({})", line, duration_text(elapsed))))));
  }

  static void break_silence(const std::shared_ptr<Running>& running) {
    running->silence.expires_after(sign_of_life);
    running->silence.async_wait([weak = std::weak_ptr(running)](const boost::system::error_code& error) {
      auto still = weak.lock();
      if (error || !still) return;
      if (steady_clock::now() - still->last_progress >= sign_of_life) still->tell_progress("still at it");
      break_silence(still);
    });
  }
};

bool ControlTools::is_listed(const Tool& tool) const {
  const ServerConfig& config = server_.config();
  const bool logs = tool.run == &ControlTools::logs || tool.run == &ControlTools::sitter_logs;
  const bool can = tool.run == &ControlTools::rebuild ? !config.build.empty()
                   : logs                             ? !config.is_daemon() || !config.http.start.empty()
                                                      : true;
  return tool.of == compat_ && can;
}

const ControlTools::Tool* ControlTools::find(std::string_view name) const {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found != tools.end() && is_listed(*found) ? &*found : nullptr;
}

std::string ControlTools::definitions() const {
  std::string list;
  for (const Tool& tool : tools) {
    if (!is_listed(tool)) continue;
    list += fmt::format(
        R"({}{{"name":"{}","description":{},"inputSchema":{{"type":"object","properties":{{{}}}}},"annotations":{{"readOnlyHint":{}}}}})",
        list.empty() ? "" : ",", tool.name, quote(tool.description), tool.properties, tool.reads);
  }
  return list;
}

void ControlTools::call(Asker& asker, const Message& message) {
  const Tool& tool = *find(string_value(message.text(message.name)));
  (this->*tool.run)(asker, message, find_member(message.text(message.params), "arguments"));
}

bool ControlTools::cancel(Asker& client, const Message& cancelled) {
  for (const auto& running : running_) {
    if (running->withdrawn || &running->asker->client() != &client ||
        !same_id(running->id, cancelled.text(cancelled.request_id)))
      continue;
    running->withdrawn = true;
    running->asker->withdrawn(running->id);
    server_.cancel_reload();
    return true;
  }
  return false;
}

void ControlTools::rebuild(Asker& asker, const Message& message, std::string_view) {
  reload(asker, message, true);
}

void ControlTools::restart(Asker& asker, const Message& message, std::string_view arguments) {
  if (find_member(arguments, "stop") != "true") return reload(asker, message, false);
  stop(asker, message, [](const Server::Stopped& stopped) {
    if (!stopped.ok) return fmt::format("[mcpivot] {}.", stopped.how);
    std::string words = fmt::format("[mcpivot] stopped: {}. {}", stopped.how, stopped.next);
    if (stopped.others.empty()) return words;
    words += fmt::format("\nAlso ended, because they ran {}:", stopped.program);
    for (const pid_t pid : stopped.others) words += fmt::format(" pid {}", pid);
    return words;
  });
}

void ControlTools::status(Asker& asker, const Message& message, std::string_view) {
  asker.answer(tool_answer(message.text(message.id), server_.status().text(), false));
}

void ControlTools::logs(Asker& asker, const Message& message, std::string_view arguments) {
  const std::string text = tail({.lines = number(arguments, "lines", usual_log_lines),
                                 .generation = number(arguments, "generation", 0),
                                 .between = "--- generation {} ---"});
  asker.answer(tool_answer(message.text(message.id), text, false));
}

void ControlTools::sitter_kill(Asker& asker, const Message& message, std::string_view) {
  stop(asker, message, sitter_killed);
}

void ControlTools::sitter_state(Asker& asker, const Message& message, std::string_view) {
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(steady_clock::now() - started_);
  asker.answer(tool_answer(message.text(message.id), sitter_status(server_.status(), uptime), false));
}

void ControlTools::sitter_info(Asker& asker, const Message& message, std::string_view) {
  asker.answer(tool_answer(message.text(message.id), sitter_binary_info(server_.status()), false));
}

void ControlTools::sitter_logs(Asker& asker, const Message& message, std::string_view arguments) {
  const bool since_spawn = find_member(arguments, "since_spawn") == "true";
  const std::string text = tail({.lines = number(arguments, "lines", sitters_log_lines),
                                 .generation = since_spawn ? server_.status().starts : 0,
                                 .between = "----- child respawn (gen {}) -----"});
  asker.answer(tool_answer(message.text(message.id), text, false));
}

void ControlTools::reload(Asker& asker, const Message& message, bool build) {
  auto running = begin(asker, message);
  Running::break_silence(running);
  server_.reload({.build = build,
                  .renew = build,
                  .reason = "on request",
                  .progress = [running](std::string_view line) { running->tell_progress(line); },
                  .done = [this, running](const Server::Outcome& outcome) { end(running, outcome); }});
}

void ControlTools::stop(Asker& asker, const Message& message, std::string (*words)(const Server::Stopped&)) {
  server_.stop([this, running = begin(asker, message), words](const Server::Stopped& stopped) {
    end(running, {stopped.ok, words(stopped)});
  });
}

std::string ControlTools::tail(const Tail& wanted) const {
  const int most = std::clamp(wanted.lines, 1, static_cast<int>(StderrRing::most_lines));
  if (server_.config().is_daemon()) {
    const std::string printed = server_.daemon_output(static_cast<std::size_t>(most));
    return printed.empty() ? "mcpivot has not started this daemon, or it has printed nothing" : printed;
  }
  std::vector<std::string> lines;
  int last = 0;
  for (const StderrRing::Line& line : server_.ring().lines()) {
    if (wanted.generation != 0 && line.generation != wanted.generation) continue;
    if (line.generation != last)
      lines.push_back(fmt::format(fmt::runtime(wanted.between), last = line.generation));
    lines.push_back(line.text);
  }
  const std::size_t from = lines.size() - std::min(lines.size(), static_cast<std::size_t>(most));
  std::string text;
  for (std::size_t i = from; i < lines.size(); ++i) text += fmt::format("{}\n", lines[i]);
  if (text.empty())
    return wanted.generation == 0 ? "nothing on stderr yet"
                                  : fmt::format("nothing is kept of generation {}", wanted.generation);
  if (from > 0) text = fmt::format("(the last {} of {} lines that are kept)\n", most, lines.size()) + text;
  return text;
}

std::shared_ptr<ControlTools::Running> ControlTools::begin(Asker& asker, const Message& message) {
  auto running = std::make_shared<Running>(Running{.asker = &asker,
                                                   .id = std::string(message.text(message.id)),
                                                   .token = std::string(message.text(message.progress_token)),
                                                   .silence = boost::asio::steady_timer(loop_)});
  running_.push_back(running);
  return running;
}

void ControlTools::end(const std::shared_ptr<Running>& running, const Server::Outcome& outcome) {
  running_.remove(running);
  if (!running->withdrawn) return running->asker->answer(tool_answer(running->id, outcome.text, !outcome.ok));
  if (outcome.ok) server_.add_notice(outcome.text);  // too late to stop it: the model must know
}

}  // namespace mcpivot
