#include "cli/tool_commands.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/counted.h"
#include "cli/answer_output.h"
#include "cli/colours.h"
#include "cli/schema_words.h"
#include "cli/status_table.h"
#include "cli/tool_arguments.h"
#include "cli/tool_help.h"
#include "cli/which_mcpivot.h"
#include "proc/terminal.h"
#include "search/nearest_tools.h"
#include "search/tool_search.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

using Tools = std::vector<json::object>;

// `all`: servers may be started to learn their tools.
Tools tools_of(ControlClient& client, bool all) {
  const json::value answer =
      client.ask("tools/list", all ? json::object() : json::object{{"onlyKnown", true}});
  Tools tools;
  for (const json::value& tool : answer.at("tools").as_array()) tools.push_back(tool.as_object());
  return tools;
}

const json::object* named(const Tools& tools, const std::string& name) {
  const auto found =
      std::ranges::find(tools, name, [](const json::object& tool) { return text_in(tool, "name"); });
  return found == tools.end() ? nullptr : &*found;
}

std::vector<std::string> names_of(const Tools& tools) {
  std::vector<std::string> names;
  for (const json::object& tool : tools) names.push_back(text_in(tool, "name"));
  return names;
}

const json::object* schema_of(const json::object* tool) {
  const json::value* schema = tool == nullptr ? nullptr : tool->if_contains("inputSchema");
  return schema == nullptr ? nullptr : schema->if_object();
}

void show_progress(const json::object& notification) {
  const json::value* params = notification.if_contains("params");
  const json::value* message = params == nullptr ? nullptr : params->as_object().if_contains("message");
  if (message != nullptr && message->is_string())
    fmt::print(stderr, "{}\n", coloured("2", std::string(message->as_string()), Stream::err));
}

int call(ControlClient& client, const ControlWish& wish, const std::string& tool,
         const json::object& arguments) {
  const json::value answer =
      client.ask("tools/call", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", 1}}}},
                 show_progress);
  const json::object& result = answer.as_object();
  const json::value* failed = result.if_contains("isError");
  const int exit_code = failed != nullptr && failed->as_bool() ? 1 : 0;
  if (wish.as_json) {
    fmt::print("{}\n", json::serialize(result));
    return exit_code;
  }
  const ShownAnswer shown = show_answer(result, tool, wish.folder);
  fmt::print("{}", shown.text);
  for (const std::string& problem : shown.problems) fmt::print(stderr, "mcpivot call: {}\n", problem);
  return shown.problems.empty() ? exit_code : 1;
}

ToolDocument document_of(const json::object& tool) {
  ToolDocument document{.server = string_in(tool, "server"),
                        .name = string_in(tool, "name"),
                        .title = string_in(tool, "title"),
                        .description = string_in(tool, "description"),
                        .parameters = {}};
  const json::object* schema = schema_of(&tool);
  const json::object* properties = schema == nullptr ? nullptr : properties_of(*schema);
  if (properties != nullptr)
    for (const auto& [key, property] : *properties)
      document.parameters.push_back({std::string(key), property.is_object()
                                                           ? string_in(property.get_object(), "description")
                                                           : std::string()});
  return document;
}

// Empty: there is no such server.
std::string why_without_tools(ControlClient& client, const std::string& server) {
  const json::value status = client.ask("status", json::object());
  for (const json::value& one : status.at("servers").as_array()) {
    const json::object& object = one.as_object();
    const std::string name = string_in(object, "name");
    if (name.find(server) == std::string::npos) continue;
    const std::string trouble = string_in(object, "trouble");
    return fmt::format("{} has no known tools: {}", name,
                       trouble.empty() ? "it is " + string_in(object, "state") : trouble);
  }
  return {};
}

// The mcpivot that has this server, or else the one that may have this tool.
ControlClient one_with(ControlWish wish) {
  wish.server = wish.tool;
  if (look_around(wish).clients.empty()) wish.server.clear();
  return the_one(wish);
}

}  // namespace

int tools_command(const ControlWish& wish) {
  ControlClient client = one_with(wish);
  const Tools all = tools_of(client, true);
  const std::string& name = wish.tool;
  Tools shown;
  const json::object* one = named(all, name);
  // A tool's own name is enough, without its server's.
  if (one == nullptr)
    for (const json::object& tool : all)
      if (text_in(tool, "server").find(name) != std::string::npos) shown.push_back(tool);
  if (one == nullptr && shown.empty() && !name.empty()) {
    for (const json::object& tool : all)
      if (text_in(tool, "name").ends_with("__" + name)) shown.push_back(tool);
    if (shown.empty()) {
      if (const std::string why = why_without_tools(client, name); !why.empty()) throw ControlError(why);
      throw ControlError(
          fmt::format("no server and no tool is called {}.{}", name, did_you_mean_tool(name, names_of(all))));
    }
    if (shown.size() == 1) one = &shown.front();
  }
  if (one != nullptr) shown = {json::object(*one)};
  if (wish.as_json)
    fmt::print("{}\n", json::serialize(json::array(shown.begin(), shown.end())));
  else if (one != nullptr)
    fmt::print("{}", tool_help(shown.front(), terminal_width()));
  else
    for (const json::object& tool : shown) fmt::print("{}", tool_line(tool));
  return 0;
}

int search_command(const ControlWish& wish) {
  ControlClient client = the_one(wish);
  const Tools all = tools_of(client, true);
  ToolSearch search;
  for (const json::object& tool : all) search.add(document_of(tool));
  std::string query;
  for (const std::string& word : wish.words) query += (query.empty() ? "" : " ") + word;
  Tools found;
  for (const ToolSearch::Hit& hit : search.search(query, static_cast<std::size_t>(std::max(wish.hits, 1))))
    if (const json::object* tool = named(all, hit.name)) found.push_back(*tool);
  if (wish.as_json)
    fmt::print("{}\n", json::serialize(json::array(found.begin(), found.end())));
  else if (found.empty())
    fmt::print("no tool matches \"{}\" (searched {}); \"mcpivot tools\" lists them\n", query,
               counted(all.size(), "tool"));
  else
    for (const json::object& tool : found) fmt::print("{}", tool_line(tool));
  return found.empty() ? 1 : 0;
}

// Unused servers are asked for their tools only if a schema is needed; the call itself starts the one that it
// needs.
int call_command(const ControlWish& wish) {
  ControlClient client = the_one(wish);
  Tools tools = tools_of(client, false);
  const bool typed =
      std::ranges::any_of(wish.words, [](const std::string& word) { return !word.starts_with('{'); });
  const bool own = wish.tool.starts_with("pivot_");
  if (typed && !own && named(tools, wish.tool) == nullptr) tools = tools_of(client, true);
  const bool known = named(tools, wish.tool) != nullptr;
  const auto arguments = tool_arguments(wish.words, schema_of(named(tools, wish.tool)));
  if (!arguments)
    throw UsageError(
        known ? fmt::format("{} (\"mcpivot tools {}\" shows its arguments)", arguments.error(), wish.tool)
              : arguments.error());
  try {
    return call(client, wish, wish.tool, *arguments);
  } catch (const ControlEnded&) {
    throw;
  } catch (const ControlError& error) {
    const std::string hint = known || own ? std::string() : did_you_mean_tool(wish.tool, names_of(tools));
    if (hint.empty()) throw;
    const std::string_view words = error.what();
    throw ControlError(fmt::format("{}{}{}", words, words.ends_with('.') ? "" : ".", hint));
  }
}

int control_tool(const ControlWish& wish, const std::string& tool, const json::object& arguments) {
  ControlClient client = the_one(wish);
  return call(client, wish, tool, arguments);
}

}  // namespace mcpivot
