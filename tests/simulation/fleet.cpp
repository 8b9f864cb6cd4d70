#include "fleet.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include <sstream>
#include <stdexcept>

namespace simulation {

using mcpivot::GatewayConfig;
using mcpivot::ServerEntry;
using std::chrono::milliseconds;

namespace {

int number_of(const std::string& word) {
  return std::stoi(word.substr(word.find(':') + 1));
}

void set(ServerEntry& entry, const std::string& word) {
  mcpivot::ServerConfig& server = entry.server;
  if (word == "process") return;
  if (word == "daemon") {
    server.http.url = fmt::format("http://127.0.0.1:8000/{}", server.name);
    server.command.argv.clear();
  } else if (word == "cli") {
    server.cli = mcpivot::CliConfig();
  } else if (word == "active" || word == "inactive") {
    entry.active = word == "active";
  } else if (word == "through" || word == "no-through") {
    entry.pivot_call = word == "through";
  } else if (word == "lazy") {
    entry.start = mcpivot::StartMode::lazy;
  } else if (word.starts_with("idle:")) {
    entry.idle_stop = milliseconds(number_of(word));
  } else if (word == "stop-first") {
    server.swap = mcpivot::SwapMode::stop_first;
  } else if (word == "shared") {
    server.sharing = mcpivot::Sharing::shared;
  } else if (word == "era:legacy") {
    server.era = mcpivot::Era::legacy;
  } else if (word == "many") {
    server.for_many = true;
  } else if (word == "patient") {
    server.start_timeout = milliseconds(15'000);
  } else if (word == "build") {
    server.build = "make";
  } else if (word == "watch") {
    server.watch = {"src/**"};
  } else if (word == "blind") {
    server.watching = false;
  } else if (word == "replay") {
    server.replay = {{"again", "", ""}};
  } else if (word == "verify" || word == "gate") {
    server.verify.calls = "journal";
    server.verify.gate = word == "gate";
    server.verify.budget = milliseconds(400);
  } else if (word == "allow") {
    entry.tools.allow = {"work", "look", "put"};
  } else if (word == "deny") {
    entry.tools.deny = {"hidden"};
  } else if (word == "rename") {
    entry.tools.rename = {{"look", "regard"}};
  } else if (word == "start") {
    server.http.start = "daemon &";
  } else if (word == "stop") {
    server.http.stop = "pkill daemon";
  } else if (word == "own") {
    if (!server.command.argv.empty()) server.command.argv = {"/own/shared"};
  } else if (word == "era:modern") {
    server.era = mcpivot::Era::modern;
  } else if (word.starts_with("v:")) {
    server.command.env = {{"V", word.substr(2)}};
  } else {
    throw std::runtime_error(fmt::format("a fleet has no \"{}\"", word));
  }
}

ServerEntry entry_from(const std::string& name, const std::string& words) {
  ServerEntry entry;
  mcpivot::ServerConfig& server = entry.server;
  server.name = name;
  server.command = {.argv = {"/sim/" + name}, .cwd = "/sim", .env = {}};
  server.passes_stderr = false;
  server.max_message = 20'000;
  server.start_timeout = milliseconds(3'000);
  server.drain = milliseconds(1'000);
  server.call_timeout = milliseconds(2'500);
  server.queue_timeout = milliseconds(2'000);
  server.build_timeout = milliseconds(4'000);
  server.http.start_after = milliseconds(400);
  std::istringstream list(words);
  for (std::string word; std::getline(list, word, ',');) set(entry, word);
  if (!server.is_daemon()) server.http = {};
  return entry;
}

}  // namespace

std::string draw_fleet(Chance& chance, const std::vector<std::string>& servers, bool apart) {
  std::string text;
  for (const std::string& name : servers) {
    if (servers.size() > 1 && chance.one_in(5)) continue;
    text += fmt::format("{}{}={}", text.empty() ? "" : " ", name,
                        chance.of<const char*>({"process", "process", "process", "daemon", "cli"}));
    const auto maybe = [&](int odds, const char* word) {
      constexpr auto shared =
          std::to_array<std::string_view>({"build", "watch", "start", "stop", "own", "shared"});
      const bool shares = std::ranges::find(shared, word) != shared.end();
      if (chance.one_in(odds) && !(apart && shares)) text += fmt::format(",{}", word);
    };
    // Which eras a server supports is known to all once one client has asked; a lone client leaves it for
    // the next.
    if (apart) text += ",era:legacy,many";
    maybe(2, chance.one_in(4) ? "inactive" : "active");
    maybe(5, "lazy");
    maybe(4, chance.one_in(2) ? "idle:40" : "idle:700");
    maybe(4, "stop-first");
    maybe(3, "shared");
    maybe(3, "patient");
    maybe(2, "build");
    maybe(3, "watch");
    maybe(12, "blind");
    maybe(4, "replay");
    maybe(8, "allow");
    maybe(6, "deny");
    maybe(10, "rename");
    maybe(2, "start");
    maybe(3, "stop");
    maybe(6, "own");
    maybe(4, chance.one_in(2) ? "v:1" : "v:2");
    maybe(2, "many");
  }
  if (chance.one_in(8)) text += " bare";
  if (chance.one_in(16)) text += " left-out";
  if (chance.one_in(16)) text += chance.of<const char*>({" mcpflow", " mcp-sitter", " mcpflip"});
  return text;
}

GatewayConfig fleet_from(std::string_view text) {
  GatewayConfig config;
  config.file = "/sim/mcpivot.json";
  config.remember = true;
  config.profiles["few"].control = {"build", "restart", "logs"};
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    if (word == "bare") {
      config.names = mcpivot::Naming::bare;
    } else if (word == "front:modern") {
      config.front = mcpivot::Front::modern;
    } else if (word == "front:legacy") {
      config.front = mcpivot::Front::legacy;
    } else if (word == "through:active") {
      config.pivot_call = mcpivot::CallThrough::active;
    } else if (word == "through:off") {
      config.pivot_call = mcpivot::CallThrough::off;
    } else if (word.starts_with("few:")) {
      std::istringstream names(word.substr(4));
      auto& seen = config.profiles["few"].servers.emplace();
      for (std::string name; std::getline(names, name, '+');) seen.push_back(name);
    } else if (word.starts_with("may:")) {
      std::istringstream grants(word.substr(4));
      auto& control = config.profiles["few"].control;
      control.clear();
      for (std::string grant; std::getline(grants, grant, '+');) control.push_back(grant);
    } else if (word == "left-out") {
      config.left_out = 1;
      config.trouble = "line 7: no such key";
    } else if (word == "mcpflow") {
      config.compat = mcpivot::Compat::mcpflow;
    } else if (word == "mcp-sitter") {
      config.compat = mcpivot::Compat::mcp_sitter;
    } else if (word == "mcpflip") {
      config.compat = mcpivot::Compat::mcpflip;
    } else {
      const auto equals = word.find('=');
      if (equals == std::string::npos) throw std::runtime_error(fmt::format("a fleet has no \"{}\"", word));
      config.servers.push_back(entry_from(word.substr(0, equals), word.substr(equals + 1)));
    }
  }
  return config;
}

}  // namespace simulation
