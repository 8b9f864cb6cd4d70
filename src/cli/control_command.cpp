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
#include "control/control_client.h"
#include "proc/terminal.h"

namespace mcpivot {
namespace {

namespace json = boost::json;

// One that runs says at once how it is.
constexpr std::chrono::seconds status_patience{5};
constexpr timespec redraw_pace{.tv_sec = 1, .tv_nsec = 0};
constexpr timespec follow_pace{.tv_sec = 0, .tv_nsec = 200'000'000};

void print_details(const json::object& server) {
  for (const auto& [key, value] : server) {
    const std::string text = value.is_array() ? std::string() : text_in(server, key);
    if (!text.empty()) fmt::print("{}: {}\n", std::string_view(key), text);
  }
  if (const json::value* all = server.if_contains("instances"))
    fmt::print("{}", instance_lines(all->as_array()));
}

// The running mcpivots, as far as the wish leaves them; what they say of themselves.
struct Found {
  std::vector<ControlClient> clients;
  std::vector<json::object> states;
};

bool has_server(const json::object& status, const std::string& name) {
  return std::ranges::any_of(status.at("servers").as_array(), [&](const json::value& server) {
    return std::string_view(server.at("name").as_string()).find(name) != std::string_view::npos;
  });
}

Found look_around(const ControlWish& wish) {
  Found found;
  for (ControlClient& client : ControlClient::connect_all()) {
    json::object status;
    try {
      client.wait_at_most(status_patience);
      status = client.ask("status", {{"allClients", wish.as_json}}).as_object();
      client.wait_at_most(std::chrono::seconds(0));
    } catch (const ControlEnded&) {
      continue;  // just now
    } catch (const ControlError& error) {
      fmt::print(stderr, "mcpivot: skipped a running mcpivot: {}\n", error.what());
      continue;
    }
    if (wish.many && !status.contains("clients")) continue;
    const bool meant = wish.instance.empty() || text_in(status, "pid") == wish.instance ||
                       text_in(status, "name") == wish.instance;
    if (!meant || (!wish.server.empty() && !has_server(status, wish.server))) continue;
    found.clients.push_back(std::move(client));
    found.states.push_back(std::move(status));
  }
  return found;
}

std::string nobody(const ControlWish& wish) {
  if (wish.many && wish.instance.empty())
    return "no \"mcpivot serve\" is running; only its clients have sessions.";
  if (wish.instance.empty() && wish.server.empty())
    return "no mcpivot is running. A client starts one when it connects to it.";
  return fmt::format("no running mcpivot matches {}; \"mcpivot status\" shows them.",
                     wish.server.empty() ? wish.instance : wish.server);
}

// The one that a command is for. Throws what to do if that is not clear.
ControlClient the_one(const ControlWish& wish) {
  Found found = look_around(wish);
  if (found.clients.empty()) throw ControlError(nobody(wish));
  if (found.clients.size() == 1) return std::move(found.clients.front());
  std::string words = "several mcpivots are running; choose one with --instance PID:";
  for (const json::object& status : found.states) words += fmt::format("\n  {}", instance_title(status));
  throw ControlError(words);
}

// What was printed goes out; false if nobody is there to read it any more.
bool is_read() {
  return std::fflush(stdout) == 0;
}

void print_status(const ControlWish& wish, const Found& found) {
  if (wish.as_json) {
    json::array all;
    for (const json::object& state : found.states) all.push_back(state);
    return fmt::print("{}\n", json::serialize(all));
  }
  if (found.states.empty()) fmt::print("{}\n", nobody(wish));
  for (const json::object& state : found.states) {
    if (wish.server.empty()) {
      fmt::print("{}", status_table(state, terminal_width()));
      continue;
    }
    for (const json::value& server : state.at("servers").as_array())
      if (std::string_view(server.at("name").as_string()).find(wish.server) != std::string_view::npos)
        print_details(server.as_object());
  }
}

// Again and again in the same place, with the cursor out of the way, until somebody has seen enough.
int watch_status(const ControlWish& wish) {
  const EndOnSignal ending;
  const bool redraw = can_redraw();
  if (redraw) fmt::print("\033[?25l");
  while (!EndOnSignal::due()) {
    const Found found = look_around(wish);
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
  const Found found = look_around(wish);
  print_status(wish, found);
  return found.states.empty() ? 1 : 0;
}

// Calls a tool, shows its progress, prints its text.
int call_tool(const ControlWish& wish, const std::string& tool, const json::object& arguments) {
  ControlClient client = the_one(wish);
  const json::value answer = client.ask(
      "tools/call", {{"name", tool}, {"arguments", arguments}, {"_meta", {{"progressToken", 1}}}},
      [](const json::object& notification) {
        const json::value* params = notification.if_contains("params");
        const json::value* message = params == nullptr ? nullptr : params->as_object().if_contains("message");
        if (message != nullptr && message->is_string())
          fmt::print(stderr, "{}\n", coloured("2", std::string(message->as_string()), Stream::err));
      });
  for (const json::value& block : answer.at("content").as_array()) {
    const json::value* text = block.as_object().if_contains("text");
    const std::string words = text != nullptr ? std::string(text->as_string()) : json::serialize(block);
    fmt::print("{}{}", words, words.ends_with('\n') ? "" : "\n");
  }
  const json::value* failed = answer.as_object().if_contains("isError");
  return failed != nullptr && failed->as_bool() ? 1 : 0;
}

json::object naming(const ControlWish& wish) {
  return wish.server.empty() ? json::object() : json::object{{"server", wish.server}};
}

// "dev/2", and with many clients "dev/2 alice (1f3a9c02d4)"
std::string origin_of(const json::object& line) {
  const std::string generation = fmt::format("{}/{}", text_in(line, "server"), text_in(line, "generation"));
  return line.contains("client") ? fmt::format("{} {}", generation, text_in(line, "client")) : generation;
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
      fmt::print("{} {}\n", coloured("2", origin_of(lines[i])), text_in(lines[i], "text"));
    if (!is_read()) return 1;
    after = answer.at("last").to_number<std::uint64_t>();
    first = false;
    if (!wish.follow) return 0;
    ::nanosleep(&follow_pace, nullptr);
  }
}

int list_tools(const ControlWish& wish) {
  ControlClient client = the_one(wish);
  const json::value answer = client.ask("tools/list", nullptr);
  for (const json::value& entry : answer.at("tools").as_array()) {
    const json::object& tool = entry.as_object();
    if (text_in(tool, "server").find(wish.server) == std::string::npos) continue;
    const std::string description = text_in(tool, "description");
    fmt::print("{}{}  {}\n", coloured("1", text_in(tool, "name")),
               tool.at("active").as_bool() ? "" : " (inactive)",
               description.substr(0, description.find('\n')));
  }
  return 0;
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

// The command line itself is wrong.
class UsageError : public ControlError {
 public:
  using ControlError::ControlError;
};

json::object object_of(const std::string& text) {
  boost::system::error_code error;
  json::value value = json::parse(text, error);
  if (error || !value.is_object())
    throw UsageError(
        fmt::format("the arguments must be a JSON object, such as {{\"text\":\"x\"}}; got: {}", text));
  return value.as_object();
}

}  // namespace

int control_command(const std::string& name, const ControlWish& wish) {
  try {
    if (name == "status") return status(wish);
    if (name == "logs") return logs(wish);
    if (name == "tools") return list_tools(wish);
    if (name == "sessions") return sessions(wish);
    if (name == "call") return call_tool(wish, wish.tool, object_of(wish.arguments));
    json::object which = naming(wish);
    if (name == "stop") which["stop"] = true;
    const std::string tool = name == "activate" || name == "deactivate" ? "pivot_" + name
                             : name == "reload" && wish.build           ? "pivot_rebuild"
                                                                        : "pivot_restart";
    return call_tool(wish, tool, which);
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
               "mcpivot {}: the running mcpivot's answer isn't understood ({}); is its version different "
               "from this one's, {}?\n",
               name, error.what(), MCPIVOT_VERSION);
    return 1;
  }
}

std::vector<std::string> running_names(const std::string& kind) {
  std::set<std::string> names;
  for (ControlClient& client : ControlClient::connect_all()) try {
      client.wait_at_most(std::chrono::milliseconds(300));
      if (kind == "TOOL") {
        const json::value answer = client.ask("tools/list", {{"onlyKnown", true}});
        for (const json::value& tool : answer.at("tools").as_array())
          names.insert(text_in(tool.as_object(), "name"));
        continue;
      }
      if (kind == "ID") {
        const json::value answer = client.ask("sessions", nullptr);
        for (const json::value& session : answer.at("sessions").as_array())
          names.insert(text_in(session.as_object(), "id"));
        continue;
      }
      const json::object state = client.ask("status", nullptr).as_object();
      if (kind == "PID") names.insert(text_in(state, "pid"));
      if (kind == "SERVER")
        for (const json::value& server : state.at("servers").as_array())
          names.insert(text_in(server.as_object(), "name"));
    } catch (const std::exception&) {
      continue;  // it is just ending, or stuck
    }
  return {names.begin(), names.end()};
}

}  // namespace mcpivot
