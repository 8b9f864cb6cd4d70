#include "cli/doctor.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "base/command.h"
#include "base/counted.h"
#include "base/duration_text.h"
#include "base/url.h"
#include "base/utf8.h"
#include "cli/colours.h"
#include "config/config_file.h"
#include "control/control_client.h"
#include "gateway/routes.h"
#include "gateway/tool_filter.h"
#include "install/careful_file.h"
#include "install/client_text.h"
#include "mcp/initialize.h"
#include "proc/port_holder.h"
#include "rpc/json_cursor.h"
#include "server/trial.h"
#include "world/real_world.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;

// A server that has not finished its handshake by then is reported as it is.
constexpr milliseconds patience{15'000};
// For the answer of an authorization server that is about to replace a token.
constexpr milliseconds for_tokens{5'000};
constexpr std::size_t most_of_version = 40;  // shown of an invalid one
// Below these, watching a project of ordinary size may fail.
constexpr long enough_watches = 65'536;
constexpr long enough_instances = 128;

constexpr std::string_view hello =
    R"({"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"mcpivot doctor","version":"1"}})";

// Prints what was found, and remembers whether something is wrong.
class Findings {
 public:
  void good(const std::string& words) { print("32", "ok  ", words); }
  void doubtful(const std::string& words) { print("33", "look", words); }
  void bad(const std::string& words) {
    any_bad_ = true;
    print("31", "BAD ", words);
  }
  bool any_bad() const { return any_bad_; }

 private:
  static void print(const char* colour, std::string_view mark, const std::string& words) {
    std::string indented = words;
    for (std::size_t at = 0; (at = indented.find('\n', at)) != std::string::npos; at += 7)
      indented.replace(at, 1, "\n      ");
    fmt::print("{}  {}\n", coloured(colour, mark), indented);
    std::fflush(stdout);
  }
  bool any_bad_ = false;
};

long number_in(const char* file) {
  std::ifstream in(file);
  long number = -1;
  in >> number;
  return number;
}

void look_at_limits(Findings& findings) {
  const long watches = number_in("/proc/sys/fs/inotify/max_user_watches");
  const long instances = number_in("/proc/sys/fs/inotify/max_user_instances");
  if (watches >= enough_watches && instances >= enough_instances)
    return findings.good(fmt::format("the system allows {} watched folders", watches));
  findings.doubtful(fmt::format(
      "the system allows a user {} watched folders and {} watchers; large projects need more.\n"
      "Raise it: sudo sysctl fs.inotify.max_user_watches=524288 fs.inotify.max_user_instances=512",
      watches, instances));
}

// What is wrong with a client's entry that starts mcpivot; empty: nothing. `folder`: where the client starts
// it, and its ${workspaceFolder}.
std::string wrong_with(const JsoncValue& entry, const fs::path& folder) {
  const JsoncValue* command = entry.find("command");
  const fs::path program = command->text;
  if (program.is_absolute() && ::access(program.c_str(), X_OK) != 0)
    return fmt::format("{} isn't a program that can be run; \"mcpivot install\" writes the right path",
                       program.string());
  if (!command->text.contains('/') && !find_program({.argv = {command->text}, .cwd = {}, .env = {}}))
    return fmt::format("{} isn't in PATH; add its folder to PATH", command->text);
  const JsoncValue* arguments = entry.find("args");
  if (arguments == nullptr) return {};
  for (std::size_t i = 0; i + 1 < arguments->elements.size(); ++i) {
    if (arguments->elements[i].text != "--config") continue;
    std::string named = arguments->elements[i + 1].text;
    if (constexpr std::string_view open = "${workspaceFolder}/"; named.starts_with(open))
      named.erase(0, open.size());
    const fs::path file = folder / named;
    std::error_code error;
    if (!fs::exists(file, error)) return fmt::format("its config file {} doesn't exist", file.string());
  }
  return {};
}

bool is_another_file(const fs::path& program) {
  std::error_code error;
  return program.is_absolute() && !fs::equivalent(program, "/proc/self/exe", error) && !error;
}

void look_at_client(const Client& client, Scope scope, const Places& places, Findings& findings) {
  const auto file = client_file(client, scope, places);
  std::error_code error;
  if (!file || !fs::exists(*file, error)) return;
  const auto seen = look_at_file(*file, 0600);
  if (!seen)
    return findings.bad(fmt::format("{} cannot read its list of servers: {}", client.title, seen.error()));
  const auto servers = servers_in(client, seen->text.value_or(""));
  if (!servers)
    return findings.bad(
        fmt::format("{} cannot read its list of servers: {}: {}", client.title, *file, servers.error()));
  for (const ClientServer& server : *servers) {
    const JsoncValue* command = server.value.find("command");
    if (command == nullptr || fs::path(command->text).filename() != "mcpivot") continue;
    const fs::path folder = scope == Scope::project ? fs::path(places.folder) : fs::path(*file).parent_path();
    const std::string wrong = wrong_with(server.value, folder);
    if (wrong.empty() && is_another_file(command->text)) {
      findings.doubtful(
          fmt::format("{} starts {} as \"{}\" ({}), which isn't this mcpivot; if it should be, "
                      "run \"mcpivot install\" again",
                      client.title, command->text, server.name, *file));
    } else if (wrong.empty()) {
      findings.good(fmt::format("{} starts mcpivot as \"{}\" ({})", client.title, server.name, *file));
    } else {
      findings.bad(fmt::format("{} has \"{}\" in {}, but {}", client.title, server.name, *file, wrong));
    }
  }
}

// The running mcpivots; one of another version was started before an update.
void look_at_instances(Findings& findings) {
  for (ControlClient& running : ControlClient::connect_all()) {
    try {
      running.wait_at_most(std::chrono::seconds(5));
      const boost::json::value status = running.ask("status", nullptr);
      const std::string version(status.at("version").as_string());
      if (version != MCPIVOT_VERSION)
        findings.doubtful(fmt::format(
            "the running mcpivot {} is version {}, this is {}; restart its client ({}) to use this one",
            status.at("pid").to_number<long>(), version, MCPIVOT_VERSION,
            std::string_view(status.at("client").as_string())));
    } catch (const std::exception&) {
      continue;  // it has just ended, doesn't answer, or is too old to report a version
    }
  }
}

// "pid 4242 (node server.js)"
std::string text_of(const PortHolder& holder) {
  return holder.pid == 0 ? "a process of another user"
                         : fmt::format("pid {} ({})", holder.pid, holder.command);
}

bool is_this_machine(const Url& url) {
  return url.host == "localhost" || url.host == "::1" || url.host.starts_with("127.");
}

std::string protocol_of(Era era, std::string_view initialize_result) {
  const std::string version =
      string_value(era == Era::modern ? modern_version : find_member(initialize_result, "protocolVersion"));
  return fmt::format("protocol {} ({} era)", version, text(era));
}

// What is wrong with the protocol version in a handshake; empty: nothing.
std::string wrong_with_version(std::string_view initialize_result) {
  const std::string version = string_value(find_member(initialize_result, "protocolVersion"));
  if (is_protocol_version(version)) return {};
  return fmt::format(
      "its handshake names an unknown protocol version: {}\n"
      "Clients reject such a server: its answer to \"initialize\" needs a \"protocolVersion\" that exists, "
      "such as \"2025-11-25\"",
      as_utf8(quote(version).substr(0, most_of_version)));
}

// How much of the context a server's tools take up.
Routes::Cost cost_of(const Catalog& catalog, const ServerEntry& entry, bool prefixed) {
  Routes::Cost cost;
  const ToolFilter filter(entry);
  for (const Item& tool : catalog.list(ListKind::tools)) {
    if (!filter.allows(tool.key)) continue;
    ++cost.tools;
    cost.bytes += tool.json.size();
    if (prefixed) cost.bytes += prefixed_name(entry.server.name, tool.key).size() - tool.key.size();
  }
  return cost;
}

// Starts all servers at once, as a client would, and reports each when all have answered or failed.
class Trials {
 public:
  Trials(Guard& guard, const GatewayConfig& config)
      : config_(config), context_{.loop = loop_}, world_(context_, guard) {
    world_.sign_ins().never_ask();
    for (const ServerEntry& entry : config_.servers) {
      ServerConfig server = entry.server;
      server.http.start.clear();  // doctor starts no daemons
      trials_.push_back(std::make_unique<Trial>(world_, std::move(server)));
    }
  }

  void run(Findings& findings) {
    std::size_t left = trials_.size();
    for (const auto& trial : trials_)
      trial->start(hello, patience, [this, &left] {
        if (--left == 0) loop_.stop();
      });
    if (left > 0) loop_.run();
    bool settled = false;
    world_.sign_ins().settle(for_tokens, [&] {
      settled = true;
      loop_.stop();
    });
    if (!settled) {
      loop_.restart();
      loop_.run();
    }
    for (std::size_t i = 0; i < trials_.size(); ++i) report(*trials_[i], config_.servers[i], findings);
  }

 private:
  void report(const Trial& trial, const ServerEntry& entry, Findings& findings) {
    if (!trial.outcome()) return report_failure(trial, entry, findings);
    const auto& [initialize_result, lists, unused] = *trial.outcome();
    const std::string& name = entry.server.name;
    if (const std::string wrong = wrong_with_version(initialize_result); !wrong.empty())
      return findings.bad(fmt::format("{}: {}", name, wrong));
    for (const auto& refusal : lists.refusals) findings.bad(fmt::format("{}: {}", name, refusal.why));
    const Routes::Cost cost =
        cost_of(lists.catalog, entry, trials_.size() > 1 && config_.names == Naming::prefixed);
    const std::string version = server_version(initialize_result);
    findings.good(fmt::format("{}: ready in {}, {} (about {} tokens), {}{}", name,
                              duration_text(trial.took()), counted(cost.tools, "tool"), cost.tokens(),
                              protocol_of(trial.era(), initialize_result),
                              version.empty() ? "" : fmt::format(", version {}", version)));
    const std::string sign_in = world_.sign_ins().describe(entry.server);
    if (!sign_in.empty()) findings.good(fmt::format("{}: {}", name, sign_in));
  }

  static void report_failure(const Trial& trial, const ServerEntry& entry, Findings& findings) {
    const std::string& why = trial.outcome().error();
    if (why.starts_with("the server wants a sign-in"))
      return findings.bad(fmt::format("{}: {}", entry.server.name, why));
    if (entry.server.is_daemon()) return report_absence(why, entry.server, findings);
    const std::string_view next = "Run its command in a terminal, or run \"mcpivot check\"";
    findings.bad(fmt::format("{}: {}\n{}{}", entry.server.name, why, trial.stderr_text(), next));
  }

  // Either the daemon isn't running, which may be intended, or another program uses its port.
  static void report_absence(const std::string& why, const ServerConfig& server, Findings& findings) {
    const auto url = parse_url(server.http.url);
    const std::string& start = server.http.start;
    if (!url || !is_this_machine(*url))
      return findings.bad(
          fmt::format("{}: {}\nCheck that it is running, and check its address", server.name, why));
    if (const auto holder = port_holder(url->port))
      return findings.bad(fmt::format(
          "{}: port {} is held by {}, and {}\n"
          "If that is the server, check its address and headers. Otherwise stop it{}, or give this "
          "server another port in \"url\"{}",
          server.name, url->port, text_of(*holder), why,
          holder->pid == 0 ? "" : fmt::format(" (kill {})", holder->pid),
          start.empty() ? "" : " and in \"start_command\""));
    if (start.empty())
      return findings.bad(
          fmt::format("{}: nothing listens on port {}\nStart it, or let mcpivot do so with \"start_command\"",
                      server.name, url->port));
    findings.doubtful(
        fmt::format("{}: nothing listens on port {} now; mcpivot will start it, with: {}\n"
                    "doctor doesn't start daemons, so this wasn't tried",
                    server.name, url->port, start));
  }

  const GatewayConfig& config_;
  boost::asio::io_context loop_{1};
  LinkContext context_;
  RealWorld world_;
  std::vector<std::unique_ptr<Trial>> trials_;
};

void look_at_servers(const GatewayConfig& config, Findings& findings) {
  if (config.servers.empty()) return;
  Guard guard;
  guard.start();
  ::signal(SIGPIPE, SIG_IGN);
  Trials(guard, config).run(findings);
}

}  // namespace

int doctor(const std::string& config_file) {
  Findings findings;
  findings.good("mcpivot " MCPIVOT_VERSION);
  const auto file = find_config(config_file);
  if (!file) {
    findings.doubtful(fmt::format("{}; \"mcpivot init\" writes a first one", file.error()));
  } else {
    const LoadedConfig loaded = load_config(*file);
    for (const Problem& problem : loaded.problems) {
      const std::string words = problem_text(*file, problem);
      problem.severity == Problem::Severity::error ? findings.bad(words) : findings.doubtful(words);
    }
    if (!loaded.has_errors())
      findings.good(fmt::format("{} names {}", *file, counted(loaded.gateway.servers.size(), "server")));
    look_at_servers(loaded.gateway, findings);
  }
  look_at_limits(findings);
  look_at_instances(findings);
  const Places places = places_here();
  for (const Client& client : clients()) {
    // In the home folder, some clients have one file for both.
    if (client_file(client, Scope::user, places) != client_file(client, Scope::project, places))
      look_at_client(client, Scope::user, places, findings);
    look_at_client(client, Scope::project, places, findings);
  }
  return findings.any_bad() ? 1 : 0;
}

}  // namespace mcpivot
