#include "cli/which_mcpivot.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

#include "cli/did_you_mean.h"
#include "cli/status_table.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// A running mcpivot reports its status at once.
constexpr std::chrono::seconds status_patience{5};

bool has_server(const json::object& status, const std::string& name) {
  return std::ranges::any_of(status.at("servers").as_array(), [&](const json::value& server) {
    return std::string_view(server.at("name").as_string()).find(name) != std::string_view::npos;
  });
}

// The depth of the folder `above`, if it is `here` or a project's folder above it; otherwise 0.
std::size_t nearness(const fs::path& above, const fs::path& here, const fs::path& home) {
  if (above.empty()) return 0;
  const auto depth = static_cast<std::size_t>(std::distance(above.begin(), above.end()));
  if (above == here) return depth;
  if (above == above.root_path() || above == home) return 0;
  return std::ranges::mismatch(above, here).in1 == above.end() ? depth : 0;
}

std::vector<std::size_t> of_this_folder(const std::vector<json::object>& states) {
  std::error_code error;
  const char* const home = std::getenv("HOME");
  return of_folder(states, fs::current_path(error), home == nullptr ? "" : home);
}

void keep(Found& found, const std::vector<std::size_t>& wanted) {
  Found kept;
  for (const std::size_t i : wanted) {
    kept.clients.push_back(std::move(found.clients[i]));
    kept.states.push_back(std::move(found.states[i]));
  }
  kept.elsewhere = found.clients.size() - wanted.size();
  found = std::move(kept);
}

Found all_that_fit(const ControlWish& wish) {
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

bool any_is_running() {
  return !all_that_fit(ControlWish()).states.empty();
}

}  // namespace

std::vector<std::size_t> of_folder(const std::vector<json::object>& states, const fs::path& here,
                                   const fs::path& home) {
  std::vector<std::size_t> nearest;
  std::size_t best = 1;
  for (std::size_t i = 0; i < states.size(); ++i) {
    const std::size_t near =
        std::max(nearness(string_in(states[i], "folder"), here, home),
                 nearness(fs::path(string_in(states[i], "config")).parent_path(), here, home));
    if (near < best) continue;
    if (near > best) nearest.clear();
    best = near;
    nearest.push_back(i);
  }
  return nearest;
}

Found look_around(const ControlWish& wish) {
  Found found = all_that_fit(wish);
  if (wish.all || !wish.instance.empty() || found.clients.size() < 2) return found;
  if (const auto nearest = of_this_folder(found.states); !nearest.empty()) keep(found, nearest);
  return found;
}

// Of the mcpivots that the wish may mean.
std::vector<std::string> server_names(ControlWish wish) {
  wish.server.clear();
  std::vector<std::string> names;
  for (const json::object& status : look_around(wish).states)
    for (const json::value& server : status.at("servers").as_array())
      names.emplace_back(server.at("name").as_string());
  return names;
}

std::string nobody(const ControlWish& wish) {
  if (wish.many && wish.instance.empty())
    return "no \"mcpivot serve\" is running; only its clients have sessions.";
  if ((wish.instance.empty() && wish.server.empty()) || !any_is_running())
    return "no mcpivot is running. A client starts one when it connects.";
  if (wish.server.empty())
    return fmt::format(
        "no running mcpivot matches {}. \"mcpivot status --all\" lists those that are running.",
        wish.instance);
  return fmt::format("no running mcpivot has a server \"{}\".{} \"mcpivot status --all\" lists all servers.",
                     wish.server, did_you_mean(wish.server, server_names(wish)));
}

ControlClient the_one(const ControlWish& wish) {
  Found found = look_around(wish);
  if (found.clients.empty()) throw ControlError(nobody(wish));
  if (found.clients.size() == 1) return std::move(found.clients.front());
  const bool of_here = of_this_folder(found.states).size() == found.states.size();
  if (of_here && wish.instance.empty()) {
    fmt::print(
        stderr,
        "mcpivot: {} mcpivots are running in this folder; using {}. To choose another, add --instance PID.\n",
        found.clients.size(), instance_title(found.states.back()));
    return std::move(found.clients.back());
  }
  std::string words =
      wish.instance.empty()
          ? "several mcpivots are running, none of them in this folder; choose one with --instance PID:"
          : fmt::format("several running mcpivots are called {}; choose one with --instance PID:",
                        wish.instance);
  for (const json::object& status : found.states) words += fmt::format("\n  {}", instance_title(status));
  throw ControlError(words);
}

}  // namespace mcpivot
