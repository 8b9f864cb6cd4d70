#include "cli/control_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <chrono>
#include <ctime>
#include <memory>
#include <set>
#include <system_error>

#include "cli/client_table.h"
#include "cli/colours.h"
#include "cli/say.h"
#include "cli/status_table.h"
#include "cli/tool_commands.h"
#include "cli/which_mcpivot.h"
#include "control/control_client.h"
#include "proc/terminal.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr timespec redraw_pace{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec follow_pace{.tv_sec = 0, .tv_nsec = 200'000'000};

// What `pivot_status` says about a server; with many clients, the same lines about all instances.
std::string details_of(ControlClient& client, const json::object& server) {
  std::string text;
  auto line = [&](const char* words, const std::string& value) {
    if (!value.empty() && value != "0" && value != "-") text += fmt::format("{}: {}\n", words, value);
  };
  const json::value* const instances = server.if_contains("instances");
  if (instances == nullptr) {
    const json::value answer = client.ask(
        "tools/call", {{"name", "pivot_status"}, {"arguments", {{"server", text_in(server, "name")}}}});
    text = answer.at("content").at(0).at("text").as_string();
  } else {
    for (const auto& [words, key] : {std::pair{"server", "name"},
                                     {"state", "state"},
                                     {"trouble", "trouble"},
                                     {"in flight", "inFlight"},
                                     {"waiting", "waiting"},
                                     {"starts", "starts"},
                                     {"crashes", "crashes"},
                                     {"tools", "tools"}})
      line(words, text_in(server, key));
    line("calls", text_in(server, "calls"));
    line("errors", text_in(server, "errors"));
    line("p50", p50_text(server));
    line("active", server.at("active").as_bool() ? "yes" : "no");
  }
  return instances == nullptr ? text : text + instance_lines(instances->as_array());
}

// Flushes the output; false if nobody reads it anymore.
bool is_read() {
  return std::fflush(stdout) == 0;
}

void print_status(const ControlWish& wish, Found& found) {
  if (wish.as_json) {
    json::array all;
    for (const json::object& state : found.states) all.push_back(state);
    return fmt::print("{}\n", json::serialize(all));
  }
  if (found.states.empty()) fmt::print("{}\n", nobody(wish));
  for (std::size_t i = 0; i < found.states.size(); ++i) {
    if (wish.server.empty()) {
      fmt::print("{}", status_table(found.states[i], terminal_width()));
      continue;
    }
    for (const json::value& server : found.states[i].at("servers").as_array())
      if (std::string_view(server.at("name").as_string()).find(wish.server) != std::string_view::npos) try {
          const std::string text = details_of(found.clients[i], server.as_object());
          if (found.states.size() > 1)
            fmt::print("{}\n", coloured("1", fmt::format("mcpivot {} ({})", text_in(found.states[i], "pid"),
                                                         text_in(found.states[i], "name"))));
          fmt::print("{}", text);
        } catch (const ControlEnded&) {
          continue;  // just now
        }
  }
  if (found.elsewhere > 0)
    fmt::print("{} in other folders; \"mcpivot status --all\" shows all of them\n",
               found.elsewhere == 1 ? "1 more mcpivot runs" : fmt::format("{} more run", found.elsewhere));
}

// Redraws in the same place, with the cursor hidden, until it is interrupted.
int watch_status(const ControlWish& wish) {
  const EndOnSignal ending;
  const bool redraw = can_redraw();
  if (redraw) fmt::print("\033[?25l");
  while (!EndOnSignal::due()) {
    Found found = look_around(wish);
    if (redraw) fmt::print("\033[H\033[2J");
    print_status(wish, found);
    if (!is_read()) return 1;
    if (!EndOnSignal::due()) ::nanosleep(&redraw_pace, nullptr);
  }
  if (redraw) fmt::print("\033[?25h");
  std::fflush(stdout);
  return 0;
}

int status(const ControlWish& wish) {
  if (wish.watch) return watch_status(wish);
  Found found = look_around(wish);
  print_status(wish, found);
  return found.states.empty() ? 1 : 0;
}

json::object naming(const ControlWish& wish) {
  return wish.server.empty() ? json::object() : json::object{{"server", wish.server}};
}

// "dev/2", and with many clients "dev/2 alice (1f3a9c02d4)"
std::string origin_of(const json::object& line) {
  const std::string generation = fmt::format("{}/{}", text_in(line, "server"), text_in(line, "generation"));
  return line.contains("client") ? fmt::format("{} {}", generation, text_in(line, "client")) : generation;
}

// "10:16:06", with the date if it isn't today; empty if it isn't known.
std::string time_of(const json::object& line) {
  const json::value* at = line.if_contains("atMs");
  if (at == nullptr) return {};
  const auto seconds = static_cast<std::time_t>(at->to_number<std::int64_t>() / 1000);
  const std::time_t now = std::time(nullptr);
  std::tm then{};
  std::tm today{};
  ::localtime_r(&seconds, &then);
  ::localtime_r(&now, &today);
  const bool same_day = then.tm_yday == today.tm_yday && then.tm_year == today.tm_year;
  char text[32];
  return {text, std::strftime(text, sizeof text, same_day ? "%H:%M:%S " : "%Y-%m-%d %H:%M:%S ", &then)};
}

int logs(const ControlWish& wish) {
  ControlClient client = the_one(wish);
  std::uint64_t after = 0;
  bool first = true;
  while (true) {
    const json::object params{{"after", after}};
    const json::value answer = client.ask("logs", params);
    std::vector<json::object> lines;
    for (const json::value& line : answer.at("lines").as_array())
      if (text_in(line.as_object(), "server").find(wish.server) != std::string::npos)
        lines.push_back(line.as_object());
    const auto wanted = static_cast<std::size_t>(std::max(wish.lines, 0));
    const std::size_t skipped = first && lines.size() > wanted ? lines.size() - wanted : 0;
    for (std::size_t i = skipped; i < lines.size(); ++i)
      fmt::print("{} {}\n", coloured("2", time_of(lines[i]) + origin_of(lines[i])),
                 text_in(lines[i], "text"));
    if (first && lines.empty()) fmt::print(stderr, "nothing on stderr yet\n");
    if (!is_read()) return 1;
    after = answer.at("last").to_number<std::uint64_t>();
    first = false;
    if (!wish.follow) return 0;
    ::nanosleep(&follow_pace, nullptr);
  }
}

int sessions(ControlWish wish) {
  wish.many = true;
  ControlClient client = the_one(wish);
  if (!wish.end.empty()) {
    const json::object ended = client.ask("sessions/end", {{"id", wish.end}}).as_object();
    fmt::print("ended session {} of {}; its client's next request gets 404\n", text_in(ended, "id"),
               text_in(ended, "name"));
    return 0;
  }
  const json::object answer = client.ask("sessions", nullptr).as_object();
  if (wish.as_json)
    fmt::print("{}\n", json::serialize(answer.at("sessions")));
  else
    fmt::print("{}", session_table(answer, terminal_width()));
  return 0;
}

}  // namespace

int control_command(const std::string& name, const ControlWish& wish) {
  try {
    if (name == "status") return status(wish);
    if (name == "logs") return logs(wish);
    if (name == "tools") return tools_command(wish);
    if (name == "search") return search_command(wish);
    if (name == "call") return call_command(wish);
    if (name == "sessions") return sessions(wish);
    json::object which = naming(wish);
    if (name == "stop") which["stop"] = true;
    if (name == "accept") which["accept"] = true;
    const std::string tool = name == "activate" || name == "deactivate" ? "pivot_" + name
                             : name == "reload" && wish.build           ? "pivot_rebuild"
                                                                        : "pivot_restart";
    return control_tool(wish, tool, which);
  } catch (const UsageError& error) {
    fmt::print(stderr, "mcpivot {}: {}\n", name, error.what());
    return usage_error;
  } catch (const ControlError& error) {
    fmt::print(stderr, "mcpivot {}: {}\n", name, error.what());
    return 1;
  } catch (const std::system_error&) {
    return 1;                              // nobody reads any more, and SIGPIPE is ignored here
  } catch (const std::exception& error) {  // something is missing in the answer
    fmt::print(stderr,
               "mcpivot {}: can't read the answer of the running mcpivot ({}); its version may differ from "
               "this one, {}\n",
               name, error.what(), MCPIVOT_VERSION);
    return 1;
  }
}

std::vector<std::string> running_names(const std::string& kind) {
  constexpr std::string_view argument = "ARGUMENT ";
  std::set<std::string> names;
  for (ControlClient& client : ControlClient::connect_all()) try {
      client.wait_at_most(std::chrono::milliseconds(300));
      if (kind.ends_with("TOOL") || kind.starts_with(argument)) {
        const json::value answer = client.ask("tools/list", {{"onlyKnown", true}});
        for (const json::value& tool : answer.at("tools").as_array()) {
          const std::string name = text_in(tool.as_object(), "name");
          if (!kind.starts_with(argument)) names.insert(name);
          if (kind != std::string(argument) + name) continue;
          for (const auto& [key, property] : tool.at("inputSchema").at("properties").as_object())
            names.emplace(key);
        }
      }
      if (kind == "ID") {
        const json::value answer = client.ask("sessions", nullptr);
        for (const json::value& session : answer.at("sessions").as_array())
          names.insert(text_in(session.as_object(), "id"));
      }
      if (kind != "PID" && !kind.starts_with("SERVER")) continue;
      const json::object state = client.ask("status", nullptr).as_object();
      if (kind == "PID") names.insert(text_in(state, "pid"));
      if (kind != "PID")
        for (const json::value& server : state.at("servers").as_array())
          names.insert(text_in(server.as_object(), "name"));
    } catch (const std::exception&) {
      continue;  // it is just ending, or stuck
    }
  return {names.begin(), names.end()};
}

}  // namespace mcpivot
