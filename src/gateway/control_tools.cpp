#include "gateway/control_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

struct Tool {
  std::string_view name;
  std::string_view description;
  std::string_view properties;
  bool reads;
};

constexpr std::array tools{
    Tool{"pivot_rebuild",
         "Build this MCP server and swap it in if the build and the new server work; the old one serves "
         "until then.",
         "", false},
    Tool{"pivot_restart",
         "Restart this MCP server without a build. stop: only stop it, so that its binary can be replaced; "
         "the next call starts it.",
         R"("stop":{"type":"boolean"})", false},
    Tool{"pivot_status",
         "State of this MCP server: generation, pid, crashes, last build, what the last restart changed.", "",
         true},
    Tool{"pivot_logs", "The last lines of this MCP server's stderr, across restarts.",
         R"("lines":{"type":"integer"},"generation":{"type":"integer"})", true},
};

// Not more often than this, and at least so often that a client's idle limit does not strike.
constexpr milliseconds progress_pace{100};
constexpr int usual_log_lines = 50;

int number(std::string_view arguments, std::string_view key, int fallback) {
  const std::string_view text = find_member(arguments, key);
  int value = fallback;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

}  // namespace

struct ControlTools::Running {
  Asker* asker;
  std::string id;
  std::string token;
  bool withdrawn = false;
  steady_clock::time_point started = steady_clock::now();
  steady_clock::time_point last_progress{};
  int steps = 0;
};

std::string ControlTools::definitions() const {
  std::string list;
  for (const Tool& tool : tools) {
    if (!has(tool.name)) continue;
    list += fmt::format(
        R"({}{{"name":"{}","description":{},"inputSchema":{{"type":"object","properties":{{{}}}}},"annotations":{{"readOnlyHint":{}}}}})",
        list.empty() ? "" : ",", tool.name, quote(tool.description), tool.properties, tool.reads);
  }
  return list;
}

bool ControlTools::has(std::string_view tool) const {
  if (tool == "pivot_rebuild") return !server_.config().build.empty();
  return std::ranges::find(tools, tool, &Tool::name) != tools.end();
}

void ControlTools::call(Asker& asker, const Message& message) {
  const std::string name = string_value(message.text(message.name));
  const std::string_view arguments = find_member(message.text(message.params), "arguments");
  const std::string_view id = message.text(message.id);
  if (name == "pivot_rebuild") return reload(asker, message, true);
  if (name == "pivot_restart") {
    if (find_member(arguments, "stop") == "true") return stop(asker, message);
    return reload(asker, message, false);
  }
  asker.answer(tool_answer(id, name == "pivot_status" ? server_.status() : logs(arguments), false));
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

void ControlTools::reload(Asker& asker, const Message& message, bool build) {
  auto running = begin(asker, message);
  auto progress = [running](std::string_view line) {
    const auto now = steady_clock::now();
    if (running->token.empty() || running->withdrawn || now - running->last_progress < progress_pace) return;
    running->last_progress = now;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - running->started);
    running->asker->client().answer(request_line(
        {}, "notifications/progress",
        fmt::format(R"({{"progressToken":{},"progress":{},"message":{}}})", running->token, ++running->steps,
                    quote(fmt::format("{} ({})", line, duration_text(elapsed))))));
  };
  server_.reload({.build = build,
                  .reason = "on request",
                  .progress = progress,
                  .done = [this, running](const Server::Outcome& outcome) { end(running, outcome); }});
}

void ControlTools::stop(Asker& asker, const Message& message) {
  auto running = begin(asker, message);
  server_.stop([this, running](const Server::Outcome& outcome) {
    end(running, {outcome.ok, fmt::format("[mcpivot] \"{}\" is stopped: {}. The next call starts it.",
                                          server_.name(), outcome.text)});
  });
}

std::string ControlTools::logs(std::string_view arguments) const {
  const int wanted =
      std::clamp(number(arguments, "lines", usual_log_lines), 1, static_cast<int>(StderrRing::most_lines));
  const int generation = number(arguments, "generation", 0);
  std::vector<std::string> lines;
  int last = 0;
  for (const StderrRing::Line& line : server_.ring().lines()) {
    if (generation != 0 && line.generation != generation) continue;
    if (line.generation != last)
      lines.push_back(fmt::format("--- generation {} ---", last = line.generation));
    lines.push_back(line.text);
  }
  const std::size_t from = lines.size() - std::min(lines.size(), static_cast<std::size_t>(wanted));
  std::string text;
  for (std::size_t i = from; i < lines.size(); ++i) text += fmt::format("{}\n", lines[i]);
  if (text.empty())
    return generation == 0 ? "nothing on stderr yet"
                           : fmt::format("nothing is kept of generation {}", generation);
  if (from > 0) text = fmt::format("(the last {} of {} lines that are kept)\n", wanted, lines.size()) + text;
  return text;
}

std::shared_ptr<ControlTools::Running> ControlTools::begin(Asker& asker, const Message& message) {
  auto running =
      std::make_shared<Running>(Running{.asker = &asker,
                                        .id = std::string(message.text(message.id)),
                                        .token = std::string(message.text(message.progress_token))});
  running_.push_back(running);
  return running;
}

void ControlTools::end(const std::shared_ptr<Running>& running, const Server::Outcome& outcome) {
  running_.remove(running);
  if (!running->withdrawn) return running->asker->answer(tool_answer(running->id, outcome.text, !outcome.ok));
  if (outcome.ok) server_.add_notice(outcome.text);  // too late to stop it: the model must know
}

}  // namespace mcpivot
