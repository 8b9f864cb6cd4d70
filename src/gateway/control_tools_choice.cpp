// The control tools for a choice of servers: activate, deactivate, search and call; and what the model is
// told about that choice.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "base/contains.h"
#include "base/counted.h"
#include "gateway/control_arguments.h"
#include "gateway/control_tools.h"
#include "gateway/unknown_tools.h"
#include "rpc/json_cursor.h"
#include "search/nearest_tools.h"

namespace mcpivot {
namespace {

constexpr int usual_hits = 5;
constexpr int most_hits = 20;

// Its tools may be: it has told them, in this run or, as far as is stored, an earlier one.
bool is_known(const Instance& server) {
  return !server.initialize_result().empty();
}

// Whether a tool of this name would be this server's.
bool has_prefix_of(const Member& member, std::string_view tool) {
  const std::string prefix = prefixed_name(member.name(), "");
  return member.naming() == Naming::prefixed && tool.starts_with(prefix) && tool.size() > prefix.size();
}

}  // namespace

std::optional<Routes::Target> behind_refusal(const Members& members, std::string_view tool) {
  for (const auto& member : members) {
    const Instance& server = member->instance();
    if (!has_prefix_of(*member, tool) || is_known(server) || !server.life().is_refused()) continue;
    const std::string own(tool.substr(prefixed_name(member->name(), "").size()));
    if (member->tools().allows(own)) return Routes::Target{member.get(), own, quote(own)};
  }
  return std::nullopt;
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
  const Instance::State state = member->instance().state();
  const bool ready = state == Instance::State::ready;
  std::string text =
      fmt::format("[mcpivot] \"{}\" {} active; ", member->name(), was ? "was already" : "is now");
  if (names.empty())
    text += ready ? "it has no tools."
                  : fmt::format("its tools aren't known yet: {}.", brief_trouble(member->instance()));
  else
    text += fmt::format("tools: {}.", list_of(names));
  if (!ready && !names.empty())
    text += fmt::format(" It is not {}: {}.", state == Instance::State::starting ? "ready yet" : "running",
                        brief_trouble(member->instance()));
  answer(call, text);
}

// A model that deactivates a server may want its tools again.
std::string ControlTools::farewell_text(const Member& member, bool was_active, std::size_t count) const {
  std::string text = was_active ? fmt::format("[mcpivot] \"{}\" is now inactive; {} left the list.",
                                              member.name(), counted(count, "tool"))
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
    text = fmt::format("no tool matches \"{}\" (searched {}){}. pivot_status lists the servers.", query,
                       counted(fleet_.names().all_tools().size(), "tool"), words_of_starts());
  else if (const std::string unknown = words_of_starts(); !unknown.empty())
    text += fmt::format("{}.\n", unknown.substr(2));
  answer(call, text);
}

// Unwraps a call of another tool: the answer, progress and errors are those of that call.
void ControlTools::call_through(const Call& call) {
  const std::string name = text_argument(call.arguments, "tool");
  const Message& message = call.message;
  if (name.empty())
    return refuse(call, R"([mcpivot] say which tool: pivot_call {"tool":"SERVER__TOOL","arguments":{}})" +
                            hint_to_search());
  const Routes::Target* target = fleet_.names().tool(name);
  const auto refusing = target == nullptr ? behind_refusal(fleet_.members(), name) : std::nullopt;
  if (refusing) target = &*refusing;
  if (target == nullptr)
    return refuse(call, fmt::format("[mcpivot] no tool is called \"{}\"{}", name, words_of_unknown(name)));
  if (const Member& member = *target->member; !reaches(member))
    return refuse(
        call, fmt::format("[mcpivot] {} was not called: the configuration doesn't let pivot_call reach "
                          "\"{}\". {}",
                          name, member.name(),
                          member.active() ? "Call the tool itself."
                                          : activate_first(member.name()) + ", then call the tool itself."));
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

std::string ControlTools::activate_first(const std::string& server) const {
  const bool has_tool = (compat_ == Compat::none || compat_ == Compat::mcpflip) && era_ == Era::legacy;
  return fmt::format("{} {} first", has_tool ? "Call" : "Run", how_to_activate(server));
}

std::string ControlTools::hint_to_activate(const Member& member, const std::string& tool) const {
  const bool through = has("pivot_call") && reaches(member);
  if (era_ == Era::modern && through)
    return fmt::format(
        R"([mcpivot] {} is a tool of "{}", which is not active. Call it with pivot_call {{"tool":{},"arguments":…}}.)",
        tool, member.name(), quote(tool));
  std::string text = fmt::format("[mcpivot] {} is a tool of \"{}\", which is not active. {}", tool,
                                 member.name(), activate_first(member.name()));
  if (through) text += fmt::format(R"(, or pivot_call {{"tool":{},"arguments":…}})", quote(tool));
  return text + ".";
}

std::string ControlTools::hint_to_search() const {
  return has("pivot_search") ? ". pivot_search finds tools by what they do." : "";
}

std::string ControlTools::words_of_unknown(const std::string& tool) const {
  std::string text = words_of_starts(tool);
  const std::string hint = hint_to_search();
  if (!text.empty()) return text + hint;
  std::vector<std::string> known;
  for (const Routes::Named& one : fleet_.names().all_tools()) known.push_back(one.name);
  const std::string meant = did_you_mean_tool(tool, known);
  return meant.empty() ? hint : fmt::format(".{}{}", meant, hint.empty() ? hint : hint.substr(1));
}

std::string ControlTools::words_of_starts(std::string_view tool) const {
  const Members& members = fleet_.members();
  const auto named = [&](const auto& member) { return has_prefix_of(*member, tool); };
  const bool has_owner = std::ranges::any_of(members, named);
  const std::vector<std::string> all_starting = fleet_.starting();
  std::vector<std::string> starting;
  std::vector<std::string> unusable;
  for (const auto& member : members) {
    if (has_owner && !named(member)) continue;
    const Instance& server = member->instance();
    const bool fails =
        server.state() == Instance::State::failed || server.failed_lately();  // it may be trying again
    if (contains(all_starting, member->name()))
      starting.push_back(member->name());
    else if (!is_known(server) && fails)
      unusable.push_back(fmt::format("{} ({})", member->name(), brief_trouble(server)));
  }
  const auto whose = [](const auto& servers) { return servers.size() == 1 ? "its" : "their"; };
  std::string text;
  if (!starting.empty())
    text = fmt::format(". Still starting, so {} tools aren't known yet: {}. Try again in a moment",
                       whose(starting), list_of(starting));
  if (!unusable.empty())
    text += fmt::format(". Not available, so {} tools aren't known: {}", whose(unusable),
                        fmt::join(unusable, ", "));
  return text;
}

}  // namespace mcpivot
