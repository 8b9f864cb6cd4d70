#include "gateway/control_tools.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/contains.h"
#include "base/text.h"
#include "gateway/control_arguments.h"
#include "gateway/output_tail.h"
#include "gateway/sitter_answers.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// Progress is told not more often than this, and at least so often that a client's idle limit does not
// strike.
constexpr milliseconds progress_pace{100};
constexpr milliseconds sign_of_life{5'000};
constexpr int usual_log_lines = 50;
constexpr int sitters_log_lines = 200;
constexpr std::size_t most_names = 40;
constexpr int usual_hits = 5;
constexpr int most_hits = 20;

std::string list_of(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < std::min(names.size(), most_names); ++i)
    list += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > most_names) list += fmt::format(" and {} more", names.size() - most_names);
  return list;
}

bool can_build(const Member& member) {
  return !member.entry().server.build.empty();
}

// What a daemon prints is known only if we started it.
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
  std::string_view server;      // the argument that names a server, where there are several
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
     "The last lines of an MCP server's stderr, across restarts.", "server",
     R"("lines":{"type":"integer"},"generation":{"type":"integer"})", true, &ControlTools::logs},
    {Compat::none, Tool::When::activation, "pivot_activate",
     "Add a server's tools to the list. Part of its name is enough.", "server", "", false,
     &ControlTools::activate},
    {Compat::none, Tool::When::activation, "pivot_deactivate", "Remove a server's tools from the list.",
     "server", "", false, &ControlTools::deactivate},
    {Compat::none, Tool::When::choice, "pivot_search",
     "Find tools of all servers, active or not, by what you want to do.", "",
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

struct ControlTools::Running {
  Asker asker;
  const Clients& clients;
  std::string server;  // by its name: it may be gone before the call ends
  std::string id;
  std::string token;
  const Clock& clock;
  Alarm silence;  // somebody may wait for a sign of life
  Clock::Time started;
  bool withdrawn = false;
  Clock::Time last_progress{};
  int steps = 0;

  void tell_progress(std::string_view line) {
    const auto now = clock.now();
    if (token.empty() || withdrawn || now - last_progress < progress_pace) return;
    last_progress = now;
    const auto elapsed = std::chrono::duration_cast<milliseconds>(now - started);
    clients.tell(
        asker,
        request_line({}, "notifications/progress",
                     fmt::format(R"({{"progressToken":{},"progress":{},"message":{}}})", token, ++steps,
                                 quote(fmt::format("{} ({})", line, duration_text(elapsed))))));
  }

  void break_silence() {
    silence.set(sign_of_life, [this] {
      if (clock.now() - last_progress >= sign_of_life) tell_progress("still running");
      break_silence();
    });
  }
};

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
std::string ControlTools::properties_of(const Tool& tool, bool with_server) {
  std::string properties;
  if (with_server && !tool.server.empty())
    properties = fmt::format(R"("{}":{{"type":"string"}})", tool.server);
  if (!tool.properties.empty())
    properties += fmt::format("{}{}", properties.empty() ? "" : ",", tool.properties);
  return properties;
}

std::string_view ControlTools::description_of(const Tool& tool) const {
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
  // A terminal names its server also where there is only one.
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

std::string ControlTools::words_of_starts() const {
  const std::vector<std::string> names = fleet_.starting();
  if (names.empty()) return {};
  return fmt::format(". Still starting, so their tools aren't known yet: {}. Try again in a moment",
                     list_of(names));
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

bool ControlTools::cancel(Asker by, const Message& cancelled) {
  for (const auto& running : running_) {
    if (running->withdrawn || !by.speaks_for(running->asker) ||
        !same_id(running->id, cancelled.text(cancelled.request_id)))
      continue;
    running->withdrawn = true;
    clients_.withdrawn(running->asker, cancelled);
    fleet_.cancel_reload(running->server, running.get());
    return true;
  }
  return false;
}

Instance* ControlTools::find_server(const std::string& name) const {
  const auto found =
      std::ranges::find(fleet_.members(), name, [](const auto& member) { return member->name(); });
  return found == fleet_.members().end() ? nullptr : &(*found)->instance();
}

void ControlTools::forget(ClientId client) {
  for (const auto& running : running_)
    if (running->asker.client == client) running->withdrawn = true;
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
  // A model may call the only server what it likes: its client knows it by another name. But if there were
  // several once, the name may be that of another one.
  if (!offers_choice() && !fleet_.offered_choice() && fleet_.members().size() == 1 &&
      call.asker.client == fleet_.reader())
    return fleet_.members().front().get();
  const auto picked = pick(call.arguments, fits);
  if (picked) return *picked;
  refuse(call, picked.error());
  return nullptr;
}

// What a server that is shared prints may be about other clients' calls.
Member* ControlTools::pick_readable(const Call& call) const {
  Member* const member = pick_or_refuse(call);
  if (member == nullptr || !member->instance().is_shared() || call.asker.client != fleet_.reader())
    return member;
  refuse(call, fmt::format("[mcpivot] \"{}\" is shared with other clients, and its stderr may be about their "
                           "calls. \"mcpivot logs {}\" in a terminal shows it.",
                           member->name(), member->name()));
  return nullptr;
}

void ControlTools::rebuild(const Call& call) {
  Member* const member = pick_or_refuse(call, can_build);
  if (member == nullptr) return;
  if (can_build(*member)) return reload(call, *member, true);
  const std::string_view restart = member->entry().server.control.restart;
  refuse(call, fmt::format("[mcpivot] \"{}\" has no build command{}.", member->name(),
                           restart.empty() ? "" : fmt::format("; {} restarts it", restart)));
}

void ControlTools::restart(const Call& call) {
  Member* const member = pick_or_refuse(call);
  if (member == nullptr) return;
  if (find_member(call.arguments, "stop") != "true") return reload(call, *member, false);
  stop(call, *member, [](const std::string& server, const Instance::StopResult& stopped) {
    if (!stopped.ok) return fmt::format("[mcpivot] {}.", stopped.how);
    std::string words = fmt::format("[mcpivot] \"{}\" stopped: {}. {}", server, stopped.how, stopped.next);
    if (stopped.others.empty()) return words;
    words += fmt::format("\nAlso ended because they ran {}:", stopped.program);
    for (const pid_t pid : stopped.others) words += fmt::format(" pid {}", pid);
    return words;
  });
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
    lines +=
        fmt::format("{}: {}, {}, {} tools (about {} tokens)", member->name(),
                    member->active() ? "active" : "inactive", status.condition(), cost.tools, cost.tokens());
    if (status.life) lines += fmt::format(", generation {}", status.life->generation);
    if (status.life && status.life->in_flight > 0)
      lines += fmt::format(", {} in flight", status.life->in_flight);
    if (status.past.crashes > 0) lines += fmt::format(", {} crashes", status.past.crashes);
    if (!status.trouble.empty())
      lines += fmt::format("; {}", status.trouble.substr(0, status.trouble.find('\n')));
    lines += "\n";
  }
  for (const std::string& clash : fleet_.routes().clashes()) lines += fmt::format("name clash: {}\n", clash);
  return fmt::format("servers: {}, active: {}, in the context: about {} tokens\n{}", fleet_.members().size(),
                     active, tokens, lines);
}

void ControlTools::logs(const Call& call) {
  const Member* const member = pick_readable(call);
  if (member == nullptr) return;
  const std::string text =
      output_tail(member->instance(), {.lines = number_argument(call.arguments, "lines", usual_log_lines),
                                       .generation = number_argument(call.arguments, "generation", 0),
                                       .between = "--- generation {} ---"});
  answer(call, text);
}

void ControlTools::activate(const Call& call) {
  switch_to(call, true);
}

void ControlTools::deactivate(const Call& call) {
  switch_to(call, false);
}

void ControlTools::switch_to(const Call& call, bool active) {
  Member* const member =
      pick_or_refuse(call, [active](const Member& candidate) { return candidate.active() != active; });
  if (member == nullptr) return;
  if (fleet_.steers_all()) {
    const std::size_t clients = fleet_.set_active_for_all(member->name(), active);
    return answer(call, fmt::format("[mcpivot] \"{}\" is now {} for {}. Clients that connect later start "
                                    "with what the configuration says.",
                                    member->name(), active ? "active" : "inactive",
                                    clients == 1 ? "1 client" : fmt::format("{} clients", clients)));
  }
  const bool was = member->active();
  if (was != active) fleet_.set_active(*member, active);
  std::vector<std::string> names;
  for (const Routes::Named& tool : fleet_.names().all_tools())
    if (tool.member == member) names.push_back(tool.name);
  if (!active) return answer(call, farewell_text(*member, was, names.size()));
  std::string text =
      fmt::format("[mcpivot] \"{}\" {} active; tools: {}.", member->name(), was ? "was already" : "is now",
                  names.empty() ? "none known yet" : list_of(names));
  const Instance::State state = member->instance().state();
  if (state != Instance::State::ready)
    text += fmt::format(" It is not {}: {}.", state == Instance::State::starting ? "ready yet" : "running",
                        member->instance().trouble());
  answer(call, text);
}

// A model that deactivates a server may want its tools again.
std::string ControlTools::farewell_text(const Member& member, bool was_active, std::size_t count) const {
  const std::string those = count == 1 ? "1 tool" : fmt::format("{} tools", count);
  std::string text =
      was_active ? fmt::format("[mcpivot] \"{}\" is now inactive; {} left the list.", member.name(), those)
                 : fmt::format("[mcpivot] \"{}\" was already inactive.", member.name());
  if (has("pivot_call") && reaches(member)) text += " pivot_call still reaches its tools by name.";
  return text + fmt::format(" To list them again: {}.", how_to_activate(member.name()));
}

void ControlTools::index_tools() {
  const Routes& routes = fleet_.names();
  if (indexed_ == routes.edition()) return;
  indexed_ = routes.edition();
  index_ = ToolSearch();
  for (const Routes::Named& tool : routes.all_tools()) {
    ToolDocument document{.server = tool.member->name(),
                          .name = tool.name,
                          .title = text_argument(tool.json, "title"),
                          .description = text_argument(tool.json, "description"),
                          .parameters = {}};
    const std::string_view properties = find_member(find_member(tool.json, "inputSchema"), "properties");
    JsonCursor cursor(properties);
    if (properties.starts_with('{'))
      cursor.object([&](const JsonCursor::Key& key) {
        Span value;
        if (!cursor.value(value)) return false;
        document.parameters.push_back(
            {std::string(key.text), text_argument(value.of(properties), "description")});
        return true;
      });
    index_.add(document);
  }
}

void ControlTools::search(const Call& call) {
  const std::string query = text_argument(call.arguments, "query");
  if (query.empty())
    return refuse(call, R"([mcpivot] say what to look for: pivot_search {"query":"read a file"})");
  index_tools();
  const int limit = std::clamp(number_argument(call.arguments, "limit", usual_hits), 1, most_hits);
  std::string text;
  for (const ToolSearch::Hit& hit : index_.search(query, static_cast<std::size_t>(limit))) {
    const auto tool = std::ranges::find(fleet_.names().all_tools(), hit.name, &Routes::Named::name);
    if (tool == fleet_.names().all_tools().end()) continue;
    text += fmt::format("{} ({}): {}\ninputSchema: {}\n\n", tool->name,
                        tool->member->active()   ? "active"
                        : reaches(*tool->member) ? "inactive: use pivot_call"
                                                 : "inactive: " + how_to_activate(tool->member->name()),
                        text_argument(tool->json, "description"), find_member(tool->json, "inputSchema"));
  }
  if (text.empty())
    text = fmt::format("nothing fits \"{}\" among {} tools{}. pivot_status lists the servers.", query,
                       fleet_.names().all_tools().size(), words_of_starts());
  else if (const auto names = fleet_.starting(); !names.empty())
    text += fmt::format("still starting, so their tools aren't known yet: {}\n", list_of(names));
  answer(call, text);
}

// A call of another tool, wrapped: its answer, progress and errors are those of that call.
void ControlTools::call_through(const Call& call) {
  const std::string name = text_argument(call.arguments, "tool");
  const Message& message = call.message;
  if (name.empty())
    return refuse(call, R"([mcpivot] say which tool: pivot_call {"tool":"SERVER__TOOL","arguments":{}})" +
                            hint_to_search());
  const Routes::Target* target = fleet_.names().tool(name);
  if (target == nullptr)
    return refuse(call, fmt::format("[mcpivot] no tool is called \"{}\"{}{}", name, words_of_starts(),
                                    hint_to_search()));
  if (const Member& member = *target->member; !reaches(member))
    return refuse(call,
                  fmt::format("[mcpivot] {} was not called: the configuration doesn't let pivot_call reach "
                              "\"{}\". {}",
                              name, member.name(),
                              member.active() ? "Call the tool itself."
                                              : "To call the tool itself, it takes " +
                                                    how_to_activate(member.name()) + " first."));
  const std::string_view params = message.text(message.params);
  std::string inner = fmt::format(R"({{"name":{})", quote(target->own));
  const std::string arguments = object_argument(call.arguments, "arguments");
  if (!arguments.empty()) inner += fmt::format(R"(,"arguments":{})", arguments);
  for (const char* member : {"_meta", "task", "inputResponses", "requestState"})
    if (const std::string_view value = find_member(params, member); !value.empty())
      inner += fmt::format(R"(,"{}":{})", member, value);
  inner += "}";
  const std::string line = spliced(message.raw, Edits().replace(message.params, inner).list());
  const auto wrapped = read_message(line);
  if (!wrapped)  // nested deeper than any message may be
    return refuse(call, fmt::format("[mcpivot] pivot_call: the arguments: {}", wrapped.error().reason));
  Asker asker = call.asker;
  asker.through = true;
  fleet_.call_tool(asker, *wrapped, *target);
}

void ControlTools::sitter_kill(const Call& call) {
  Member* const member = pick_or_refuse(call);
  if (member == nullptr) return;
  stop(call, *member,
       [](const std::string&, const Instance::StopResult& stopped) { return sitter_killed(stopped); });
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

std::string ControlTools::instructions() const {
  std::vector<std::string> names;
  for (const auto& member : fleet_.members())
    if (!member->active()) names.push_back(member->name());
  if (fleet_.members().empty()) return fmt::format("mcpivot connects MCP servers, but {}", no_servers());
  std::string text = "mcpivot connects several MCP servers; only the tools of active ones are listed.";
  if (!names.empty() && era_ == Era::modern)
    text += fmt::format(" Inactive: {}.", list_of(names));
  else if (!names.empty())
    text += fmt::format(" Inactive: {}. {} adds a server's tools to the list.", list_of(names),
                        compat_ == Compat::none      ? "pivot_activate"
                        : compat_ == Compat::mcpflip ? "gateway_activate"
                                                     : "\"mcpivot activate SERVER\" in a terminal");
  if (compat_ == Compat::none) text += " pivot_search finds tools in all of them";
  if (has("pivot_call")) {
    std::vector<std::string> barred;
    for (const auto& member : fleet_.members())
      if (!member->entry().pivot_call.value_or(true)) barred.push_back(member->name());
    text += fmt::format("; pivot_call calls any tool{} by its full name{}",
                        fleet_.call_through() == CallThrough::active ? " of an active server" : "",
                        barred.empty() ? "" : ", except those of " + list_of(barred));
  }
  if (compat_ == Compat::none) text += ".";
  return text;
}

std::string ControlTools::how_to_activate(const std::string& server) const {
  if (era_ == Era::modern) return fmt::format("\"mcpivot activate {}\" in a terminal", server);
  if (compat_ == Compat::none) return fmt::format(R"(pivot_activate {{"server": {}}})", quote(server));
  if (compat_ == Compat::mcpflip) return fmt::format(R"(gateway_activate {{"name": {}}})", quote(server));
  return fmt::format("\"mcpivot activate {}\" in a terminal", server);
}

std::string ControlTools::hint_to_activate(const Member& member, const std::string& tool) const {
  const bool through = has("pivot_call") && reaches(member);
  if (era_ == Era::modern && through)
    return fmt::format(
        R"([mcpivot] {} is a tool of "{}", which is not active. Call it with pivot_call {{"tool":{},"arguments":…}}.)",
        tool, member.name(), quote(tool));
  const bool can_call = (compat_ == Compat::none || compat_ == Compat::mcpflip) && era_ == Era::legacy;
  std::string text =
      fmt::format("[mcpivot] {} is a tool of \"{}\", which is not active. {} {} first", tool, member.name(),
                  can_call ? "Call" : "It takes", how_to_activate(member.name()));
  if (through) text += fmt::format(R"(, or pivot_call {{"tool":{},"arguments":…}})", quote(tool));
  return text + ".";
}

std::string ControlTools::hint_to_search() const {
  return has("pivot_search") ? ". pivot_search finds tools by what they do." : "";
}

void ControlTools::reload(const Call& call, Member& member, bool build) {
  const auto running = begin(call, member.name());
  running->break_silence();
  fleet_.reload(member,
                {.build = build,
                 .renew = build,
                 .reason = call.asker.client == fleet_.reader() && !fleet_.steers_all() ? "on request"
                                                                                        : "from a terminal",
                 .progress =
                     [weak = std::weak_ptr(running)](std::string_view line) {
                       if (const auto still = weak.lock()) still->tell_progress(line);
                     },
                 .done = [this, weak = std::weak_ptr(running)](
                             const ReloadOutcome& outcome) { end(weak.lock(), outcome); },
                 .whose = running.get()});
}

// Of several that were stopped at once, what is worth telling.
Instance::StopResult ControlTools::gathered(const std::vector<Instance::StopResult>& all) {
  if (all.size() == 1) return all.front();
  if (all.empty())
    return {.how = "no client has a running instance", .pids = {}, .others = {}, .program = {}};
  Instance::StopResult one{
      .how = fmt::format("{} instances ended", all.size()), .pids = {}, .others = {}, .program = {}};
  for (const Instance::StopResult& stopped : all) {
    if (!stopped.ok) return stopped;
    std::ranges::copy(stopped.pids, std::back_inserter(one.pids));
    one.next = stopped.next;
    one.program = stopped.program;
  }
  // Those that each of them found are often the others of ours.
  std::set<pid_t> foreign;
  for (const Instance::StopResult& stopped : all)
    foreign.insert(stopped.others.begin(), stopped.others.end());
  for (const pid_t ours : one.pids) foreign.erase(ours);
  one.others.assign(foreign.begin(), foreign.end());
  return one;
}

void ControlTools::stop(const Call& call, Member& member, WordsOfStop words) {
  std::vector<Instance*> meant = fleet_.instances(member);
  if (fleet_.steers_all())
    std::erase_if(meant, [](const Instance* one) { return !one->runs() || one->ends(); });
  // Who else of ours runs the same program is stopped too: else it would be ended, started again, and hold
  // the file.
  const Command& command = meant.empty() ? member.entry().server.command : meant[0]->config_in_use().command;
  if (const auto program = powers_.others ? world_.files().stoppable_program_of(command) : std::nullopt)
    for (Instance* const other : fleet_.all_instances()) {
      const auto same = world_.files().stoppable_program_of(other->config_in_use().command);
      if (!contains(meant, other) && !other->ends() && same && same->path == program->path)
        other->stop([](const Instance::StopResult&) {});
    }
  const auto results = std::make_shared<std::vector<Instance::StopResult>>();
  const auto finish = [this, weak = std::weak_ptr(begin(call, member.name())), words, results,
                       server = member.name()] {
    const Instance::StopResult stopped = gathered(*results);
    end(weak.lock(), {stopped.ok, words(server, stopped)});
  };
  if (meant.empty()) return finish();
  for (Instance* const one : meant)
    one->stop(
        [results, finish, all = meant.size()](const Instance::StopResult& stopped) {
          results->push_back(stopped);
          if (results->size() == all) finish();
        },
        powers_.others);
}

// It is ours alone, and gone with us; the handlers that we give away may outlive us.
std::shared_ptr<ControlTools::Running> ControlTools::begin(const Call& call, const std::string& server) {
  const Message& message = call.message;
  const auto running =
      std::shared_ptr<Running>(new Running{.asker = call.asker,
                                           .clients = clients_,
                                           .server = server,
                                           .id = std::string(message.text(message.id)),
                                           .token = std::string(message.text(message.progress_token)),
                                           .clock = world_.timers(),
                                           .silence = Alarm(world_.timers()),
                                           .started = world_.timers().now()});
  running_.push_back(running);
  return running;
}

void ControlTools::end(const std::shared_ptr<Running>& running, const ReloadOutcome& outcome) {
  if (!running) return;
  running_.remove(running);
  // Of what was too late to stop, or was done from a terminal or by another client, the model must know.
  Instance* const server = outcome.ok && !fleet_.steers_all() ? find_server(running->server) : nullptr;
  if (server != nullptr)
    server->add_notice(outcome.text, {&running->asker.client, running->withdrawn ? 0UL : 1UL});
  if (!running->withdrawn)
    clients_.answer(running->asker, tool_answer(running->id, outcome.text, !outcome.ok));
}

}  // namespace mcpivot
