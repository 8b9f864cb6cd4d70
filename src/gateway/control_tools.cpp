#include "gateway/control_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/contains.h"
#include "base/counted.h"
#include "base/text.h"
#include "gateway/control_arguments.h"
#include "gateway/output_tail.h"
#include "gateway/sitter_answers.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr int usual_log_lines = 50;
constexpr int usual_call_lines = 20;
constexpr int sitters_log_lines = 200;
constexpr std::size_t most_names = 40;

// We see a daemon's output only if we started it.
bool prints_to_us(const ServerConfig& server) {
  return !server.is_daemon() || !server.http.start.empty();
}

bool has_logs(const Member& member) {
  return prints_to_us(member.entry().server);
}

ControlNames names_under(Compat compat) {
  switch (compat) {
    case Compat::mcpflow:
      return {.rebuild = "recompile", .restart = {}, .status = {}, .logs = {}};
    case Compat::mcp_sitter:
      return {
          .rebuild = {}, .restart = "sitter_kill", .status = "sitter_status", .logs = "sitter_child_stderr"};
    case Compat::mcpflip:
      return {.rebuild = {}, .restart = {}, .status = "gateway_status", .logs = {}};
    case Compat::none:
      break;
  }
  return {};
}

}  // namespace

std::string ControlTools::list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
    list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_names) list += fmt::format(" and {} more", names.size() - most_names);
  return list;
}

bool ControlTools::can_build(const Member& member) {
  return !member.entry().server.build.empty();
}

ControlNames control_names(Compat compat, Powers powers, const ServerConfig& server) {
  ControlNames names = names_under(compat);
  if (!powers.build) names.rebuild = {};
  if (!powers.restart) names.restart = {};
  if (!powers.logs) names.logs = {};
  if (!prints_to_us(server) || server.sharing == Sharing::shared) names.logs = {};
  return names;
}

struct ControlTools::Tool {
  enum class When : std::uint8_t { always, buildable, logging, choice, activation };
  Compat of;
  When when;
  std::string_view name;
  std::string_view description;
  std::string_view server;      // the argument that names a server, if there are several
  std::string_view properties;  // the other arguments
  bool reads;
  void (ControlTools::*run)(const Call&);
};

const std::array<ControlTools::Tool, 16> ControlTools::tools{{
    {Compat::none, Tool::When::buildable, "pivot_rebuild",
     "Build an MCP server and swap it in if the build and the new server work; the old one serves until "
     "then.",
     "server", "", false, &ControlTools::rebuild},
    {Compat::none, Tool::When::always, "pivot_restart",
     "Restart an MCP server without a build. stop: only stop it, and any other process that runs its "
     "program, so that the binary can be replaced; the next call starts it.",
     "server", R"("stop":{"type":"boolean"})", false, &ControlTools::restart},
    {Compat::none, Tool::When::always, "pivot_status",
     "State of the MCP servers: generation, pid, crashes, last build, what the last restart changed.",
     "server", "", true, &ControlTools::status},
    {Compat::none, Tool::When::logging, "pivot_logs",
     "The last lines of an MCP server's stderr, across restarts. calls: your last tool calls instead.",
     "server", R"("lines":{"type":"integer"},"generation":{"type":"integer"},"calls":{"type":"boolean"})",
     true, &ControlTools::logs},
    {Compat::none, Tool::When::activation, "pivot_activate",
     "Add a server's tools to the list. Part of its name is enough.", "server", "", false,
     &ControlTools::activate},
    {Compat::none, Tool::When::activation, "pivot_deactivate", "Remove a server's tools from the list.",
     "server", "", false, &ControlTools::deactivate},
    {Compat::none, Tool::When::choice, "pivot_search",
     "Find tools across all servers, active or not, by what you want to do.", "",
     R"("query":{"type":"string"},"limit":{"type":"integer"})", true, &ControlTools::search},
    {Compat::none, Tool::When::choice, "pivot_call",
     "Call a tool of any server, active or not, by its full name.", "",
     R"("tool":{"type":"string"},"arguments":{"type":"object"})", false, &ControlTools::call_through},
    {Compat::mcpflow, Tool::When::buildable, "recompile", "Build this MCP server and restart it.", "server",
     "", false, &ControlTools::rebuild},
    {Compat::mcp_sitter, Tool::When::always, "sitter_status",
     "State of the child MCP server: pid, executable, counts of starts, kills and crashes, last exit.",
     "server", "", true, &ControlTools::sitter_state},
    {Compat::mcp_sitter, Tool::When::always, "sitter_kill",
     "Kill the child MCP server and any other process that runs its executable, so that it can be rebuilt; "
     "the next tool call starts it.",
     "server", "", false, &ControlTools::sitter_kill},
    {Compat::mcp_sitter, Tool::When::always, "sitter_binary_info",
     "Path, version, size and age of the child's executable, and whether it is newer than what runs.",
     "server", "", true, &ControlTools::sitter_info},
    {Compat::mcp_sitter, Tool::When::logging, "sitter_child_stderr",
     "The last lines of the child's stderr, across restarts. since_spawn: only of the child that runs now.",
     "server",
     R"("lines":{"type":"integer","default":200,"minimum":1,"maximum":1000},"since_spawn":{"type":"boolean","default":false})",
     true, &ControlTools::sitter_logs},
    {Compat::mcpflip, Tool::When::activation, "gateway_activate",
     "Add a server's tools to the list. Part of its name is enough.", "name", "", false,
     &ControlTools::activate},
    {Compat::mcpflip, Tool::When::activation, "gateway_deactivate", "Remove a server's tools from the list.",
     "name", "", false, &ControlTools::deactivate},
    {Compat::mcpflip, Tool::When::always, "gateway_status",
     "The servers: which are active, their state, how many tools they have.", "", "", true,
     &ControlTools::status},
}};

bool ControlTools::is_granted(const Tool& tool) const {
  if (tool.when == Tool::When::buildable) return powers_.build;
  if (tool.when == Tool::When::logging) return powers_.logs;
  const bool restarts = tool.run == &ControlTools::restart || tool.run == &ControlTools::sitter_kill;
  return !restarts || powers_.restart;
}

bool ControlTools::calls_through() const {
  if (fleet_.call_through() == CallThrough::off) return false;
  return fleet_.members().empty() || std::ranges::any_of(fleet_.members(), [](const auto& member) {
           return member->entry().pivot_call.value_or(true);
         });
}

bool ControlTools::reaches(const Member& member) const {
  switch (fleet_.call_through()) {
    case CallThrough::active:
      return member.entry().pivot_call.value_or(member.active());
    case CallThrough::all:
      return member.entry().pivot_call.value_or(true);
    case CallThrough::off:
      break;
  }
  return false;
}

bool ControlTools::is_listed(const Tool& tool) const {
  if (tool.of != compat_ || !is_granted(tool)) return false;
  if (tool.run == &ControlTools::call_through && !calls_through()) return false;
  if (tool.when == Tool::When::choice) return offers_choice();
  if (tool.when == Tool::When::activation) return offers_choice() && era_ == Era::legacy;
  if (tool.when == Tool::When::always) return true;
  const auto can = tool.when == Tool::When::buildable ? can_build : has_logs;
  return std::ranges::any_of(fleet_.members(), [&](const auto& member) { return can(*member); });
}

const ControlTools::Tool* ControlTools::find(std::string_view name) const {
  const auto found = std::ranges::find(tools, name, &Tool::name);
  return found != tools.end() && is_listed(*found) ? &*found : nullptr;
}

// The arguments as JSON Schema, separated by commas. With a single server, its name isn't an argument.
std::string ControlTools::properties_of(const Tool& tool, bool with_server) const {
  std::string properties;
  if (with_server && !tool.server.empty())
    properties = fmt::format(R"("{}":{{"type":"string"}})", tool.server);
  if (!tool.properties.empty())
    properties += fmt::format("{}{}", properties.empty() ? "" : ",", tool.properties);
  const bool starts_builds = tool.run == &ControlTools::rebuild || tool.run == &ControlTools::restart;
  if (starts_builds && can_accept())
    properties += fmt::format(R"({}"accept":{{"type":"boolean"}})", properties.empty() ? "" : ",");
  return properties;
}

std::string_view ControlTools::description_of(const Tool& tool) const {
  if (tool.run == &ControlTools::rebuild && tool.of == Compat::none && can_accept())
    return "Build an MCP server and swap it in if the build and the new server work; the old one serves "
           "until "
           "then. accept: swap in the build that was held back because its answers differ.";
  if (tool.run == &ControlTools::call_through && fleet_.call_through() == CallThrough::active)
    return "Call a tool of an active server by its full name.";
  if (tool.run != &ControlTools::restart || powers_.others) return tool.description;
  return "Restart an MCP server without a build. stop: only stop it; the next call starts it.";
}

std::string ControlTools::definitions() const {
  std::string list;
  for (const Tool& tool : tools) {
    if (!is_listed(tool)) continue;
    list += fmt::format(
        R"({}{{"name":"{}","description":{},"inputSchema":{{"type":"object","properties":{{{}}}}},"annotations":{{"readOnlyHint":{}}}}})",
        list.empty() ? "" : ",", tool.name, quote(description_of(tool)), properties_of(tool, offers_choice()),
        tool.reads);
  }
  return list;
}

void ControlTools::call(Asker asker, const Message& message) {
  const Tool& tool = *find(string_value(message.text(message.name)));
  const Call call{asker, message, find_member(message.text(message.params), "arguments")};
  // A terminal names its server even if there is only one.
  const std::string wrong = wrong_argument(properties_of(tool, true), call.arguments);
  if (!wrong.empty())
    return refuse(call, fmt::format("[mcpivot] {}: {}. Nothing was done.", tool.name, wrong));
  (this->*tool.run)(call);
}

std::vector<std::string> ControlTools::asked_for(const Message& message, std::string_view name) const {
  const Tool& tool = *find(name);
  const std::string_view arguments = find_member(message.text(message.params), "arguments");
  if (tool.run == &ControlTools::search) return {"*"};
  if (tool.run == &ControlTools::call_through) {
    const std::string called = text_argument(arguments, "tool");
    if (called.empty() || fleet_.names().tool(called) != nullptr) return {};
    return {called};
  }
  if (tool.run != &ControlTools::activate || fleet_.steers_all()) return {};
  const auto picked = pick(arguments, [](const Member& candidate) { return !candidate.active(); });
  return picked ? std::vector{(*picked)->name()} : std::vector<std::string>();
}

void ControlTools::answer(const Call& call, const std::string& text, bool failed) const {
  clients_.answer(call.asker, tool_answer(call.message.text(call.message.id), text, failed));
}

std::string ControlTools::why_not(std::string_view name) const {
  if (!name.starts_with("pivot_")) return {};
  if (fleet_.members().empty()) return no_servers();
  const auto tool = std::ranges::find(tools, name, &Tool::name);
  if (tool == tools.end()) return "mcpivot has no such tool";
  if (tool->of != compat_) return "--compat lists other tools in its place";
  if (!is_granted(*tool)) return "over HTTP, clients have it only if their profile grants it";
  if (tool->when == Tool::When::buildable) return "no server here has a build command (--build)";
  if (tool->when == Tool::When::logging)
    return "mcpivot did not start the server, so it doesn't see its output";
  if (tool->run == &ControlTools::call_through && offers_choice())
    return "the configuration turns it off (\"pivot_call\")";
  if (tool->when == Tool::When::activation && offers_choice())
    return fmt::format(
        "in protocol version 2026-07-28 the list of tools doesn't change because of a call; {}",
        calls_through() && fleet_.call_through() == CallThrough::all
            ? "pivot_search and pivot_call reach every server, active or not"
            : "\"mcpivot activate\" in a terminal does it");
  return fmt::format("there is only one server, \"{}\", and it is always active",
                     fleet_.members().front()->name());
}

std::string ControlTools::hint_to_listed() const {
  std::vector<std::string> names;
  for (const Tool& tool : tools)
    if (is_listed(tool)) names.emplace_back(tool.name);
  return names.empty() ? std::string() : fmt::format(" mcpivot's own tools here: {}.", list_of(names));
}

std::string ControlTools::no_servers() const {
  const std::string& trouble = fleet_.trouble();
  return fmt::format("there is no server: {}", trouble.empty() ? "the configuration names none" : trouble);
}

Instance* ControlTools::find_server(const std::string& name) const {
  const auto found =
      std::ranges::find(fleet_.members(), name, [](const auto& member) { return member->name(); });
  return found == fleet_.members().end() ? nullptr : &(*found)->instance();
}

std::expected<Member*, std::string> ControlTools::pick(std::string_view arguments, const Fits& fits) const {
  std::string wanted = text_argument(arguments, "server");
  if (wanted.empty()) wanted = text_argument(arguments, "name");
  std::vector<Member*> candidates;
  std::vector<std::string> names;
  std::vector<std::string> all;
  for (const auto& member : fleet_.members()) {
    all.push_back(member->name());
    if (!wanted.empty() && member->name() == wanted) return member.get();
    const bool meant = wanted.empty() ? !fits || fits(*member)
                                      : lower(member->name()).find(lower(wanted)) != std::string::npos;
    if (!meant) continue;
    candidates.push_back(member.get());
    names.push_back(member->name());
  }
  if (candidates.size() == 1) return candidates.front();
  if (wanted.empty() && all.size() == 1) return fleet_.members().front().get();
  std::string words;
  if (all.empty()) {
    words = no_servers();
  } else if (wanted.empty()) {
    words = fmt::format("\"server\" is missing; choose one of: {}", list_of(names.empty() ? all : names));
  } else if (candidates.empty()) {
    words = fmt::format("no server is called \"{}\". The servers are: {}", wanted, list_of(all));
    if (!fleet_.trouble().empty()) words += fmt::format(". The configuration: {}", fleet_.trouble());
  } else {
    words = fmt::format("\"{}\" matches several servers: {}", wanted, list_of(names));
  }
  return std::unexpected("[mcpivot] " + words);
}

Member* ControlTools::pick_or_refuse(const Call& call, const Fits& fits) const {
  // A model may call the only server what it likes, since its client knows it by another name. But if there
  // were several before, the name may be another server's.
  if (!offers_choice() && !fleet_.offered_choice() && fleet_.members().size() == 1 &&
      call.asker.client == fleet_.reader())
    return fleet_.members().front().get();
  const auto picked = pick(call.arguments, fits);
  if (picked) return *picked;
  refuse(call, picked.error());
  return nullptr;
}

// What a shared server prints may be about other clients' calls.
Member* ControlTools::pick_readable(const Call& call) const {
  Member* const member = pick_or_refuse(call);
  if (member == nullptr || !member->instance().is_shared() || call.asker.client != fleet_.reader())
    return member;
  refuse(call, fmt::format("[mcpivot] \"{}\" is shared with other clients, and its stderr may be about their "
                           "calls. \"mcpivot logs {}\" in a terminal shows it.",
                           member->name(), member->name()));
  return nullptr;
}

void ControlTools::status(const Call& call) {
  const bool all = offers_choice() && text_argument(call.arguments, "server").empty();
  std::string text;
  if (!fleet_.trouble().empty()) text = fmt::format("configuration: {}\n", fleet_.trouble());
  if (all) {
    text += overview();
  } else if (const Member* member = pick_or_refuse(call)) {
    Status status = member->instance().status();
    status.untold = fleet_.notices();
    text += status.text();
    if (offers_choice()) text += fmt::format("active: {}\n", member->active() ? "yes" : "no");
  } else {
    return;
  }
  answer(call, text);
}

// One line for each server, and what the lists cost the context.
std::string ControlTools::overview() const {
  std::string lines;
  std::size_t active = 0;
  std::size_t tokens = tokens_in(definitions().size());
  for (const auto& member : fleet_.members()) {
    const Routes::Cost cost = fleet_.names().cost(*member);
    const Status status = member->instance().status();
    if (member->active()) {
      ++active;
      tokens += cost.tokens();
    }
    lines += fmt::format("{}: {}, {}", member->name(), member->active() ? "active" : "inactive",
                         status.condition());
    if (cost.tools > 0)
      lines += fmt::format(", {} (about {} tokens)", counted(cost.tools, "tool"), cost.tokens());
    if (status.life) lines += fmt::format(", generation {}", status.life->generation);
    if (status.life && status.life->in_flight > 0)
      lines += fmt::format(", {} in flight", status.life->in_flight);
    if (status.past.crashes > 0)
      lines += fmt::format(", {} {}", status.past.crashes, status.past.crashes == 1 ? "crash" : "crashes");
    if (!status.trouble.empty())
      lines += fmt::format("; {}", status.trouble.substr(0, status.trouble.find('\n')));
    lines += "\n";
  }
  for (const std::string& clash : fleet_.routes().clashes()) lines += fmt::format("name clash: {}\n", clash);
  return fmt::format("servers: {}, active: {}, in the context: about {} tokens\n{}", fleet_.members().size(),
                     active, tokens, lines);
}

// Only its own calls: it must not see what other clients did.
void ControlTools::own_calls(const Call& call) const {
  const CallHistory* const history = clients_.history();
  if (history == nullptr)
    return refuse(call,
                  "[mcpivot] calls aren't recorded: the journal is off. \"mcpivot journal on\" in a terminal "
                  "turns it on, or \"journal\": true in the config file.");
  const int lines = number_argument(call.arguments, "lines", usual_call_lines);
  std::string text;
  for (const std::string& line :
       history->last_calls(fleet_.reader(), static_cast<std::size_t>(std::max(lines, 1))))
    text += line + "\n";
  answer(call, text.empty() ? "no calls yet" : text);
}

void ControlTools::logs(const Call& call) {
  if (find_member(call.arguments, "calls") == "true") return own_calls(call);
  const Member* const member = pick_readable(call);
  if (member == nullptr) return;
  const std::string text =
      output_tail(member->instance(), {.lines = number_argument(call.arguments, "lines", usual_log_lines),
                                       .generation = number_argument(call.arguments, "generation", 0),
                                       .between = "--- generation {} ---"});
  answer(call, text);
}

void ControlTools::sitter_state(const Call& call) {
  const Member* const member = pick_or_refuse(call);
  if (member == nullptr) return;
  const auto uptime = std::chrono::duration_cast<std::chrono::seconds>(world_.timers().now() - started_);
  answer(call, sitter_status(member->instance().status(), member->instance().config().command, uptime));
}

void ControlTools::sitter_info(const Call& call) {
  if (const Member* const member = pick_or_refuse(call))
    answer(call, sitter_binary_info(member->instance().status()));
}

void ControlTools::sitter_logs(const Call& call) {
  const Member* const member = pick_readable(call);
  if (member == nullptr) return;
  const bool since_spawn = find_member(call.arguments, "since_spawn") == "true";
  const std::string text = output_tail(
      member->instance(), {.lines = number_argument(call.arguments, "lines", sitters_log_lines),
                           .generation = since_spawn ? member->instance().status().past.starts : 0,
                           .between = "----- child respawn (gen {}) -----"});
  answer(call, text);
}

}  // namespace mcpivot
