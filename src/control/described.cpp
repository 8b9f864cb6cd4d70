#include "control/described.h"

#include <algorithm>

namespace mcpivot {
namespace {

namespace json = boost::json;

constexpr std::size_t newest_clients = 20;

// It has never been started.
bool is_unused(const Status& status) {
  return !status.life && status.waiting == 0 && status.past.starts == 0 && status.state == "stopped";
}

void describe_usage(json::object& server, const Usage& usage) {
  server["calls"] = usage.calls;
  server["errors"] = usage.errors;
  if (usage.p50) server["p50Us"] = usage.p50->count();
}

json::object described_instance(const Status& status, std::string client) {
  json::object instance{{"client", std::move(client)},      {"state", status.condition()},
                        {"trouble", status.trouble},        {"waiting", status.waiting},
                        {"starts", status.past.starts},     {"crashes", status.past.crashes},
                        {"lastExit", status.past.last_exit}};
  if (status.life) {
    instance["generation"] = status.life->generation;
    instance["pid"] = status.life->pid;
    instance["uptimeMs"] = status.life->uptime.count();
    instance["inFlight"] = status.life->in_flight;
  }
  return instance;
}

json::object described(const ClientFacts& client) {
  return {{"name", client.name},         {"profile", client.profile},
          {"session", client.session},   {"era", client.era == Era::modern ? "modern" : "legacy"},
          {"version", client.version},   {"program", client.program},
          {"ageMs", client.age.count()}, {"idleMs", client.idle.count()},
          {"calls", client.made},        {"underWay", client.under_way},
          {"streams", client.streams}};
}

}  // namespace

json::object described(const Member& member, const Routes::Cost& cost) {
  const Status status = member.instance().status();
  json::object server{{"name", member.name()},
                      {"active", member.active()},
                      {"state", status.condition()},
                      {"trouble", status.trouble},
                      {"command", status.command},
                      {"callsItself", status.own_name},
                      {"version", status.version},
                      {"protocol", status.protocol},
                      {"tools", cost.tools},
                      {"tokens", cost.tokens()},
                      {"waiting", status.waiting},
                      {"starts", status.past.starts},
                      {"kills", status.past.kills},
                      {"crashes", status.past.crashes},
                      {"outsideKills", status.past.outside_deaths},
                      {"lastExit", status.past.last_exit},
                      {"lastBuild", status.past.last_build},
                      {"lastCheck", status.past.last_check},
                      {"held", status.held},
                      {"lastRestartChanged", status.past.last_diff}};
  if (status.life) {
    server["generation"] = status.life->generation;
    server["pid"] = status.life->pid;
    server["uptimeMs"] = status.life->uptime.count();
    server["startMs"] = status.past.last_start_took.count();
    server["inFlight"] = status.life->in_flight;
  }
  describe_usage(server, status.usage);
  if (status.executable) {
    server["executable"] = status.executable->path;
    server["newerOnDisk"] = status.newer_on_disk;
  }
  if (status.daemon)  // we don't kill it; only sessions with it end
    for (const char* of_processes : {"kills", "crashes", "outsideKills"}) server.erase(of_processes);
  for (const auto& [key, value] : status.more) server[key] = value;
  return server;
}

// The state is the best of any instance.
json::object described_for_all(const Member& member, const Routes::Cost& cost,
                               const std::vector<Instance*>& instances, const Label& label) {
  constexpr std::array states{"ready", "starting", "failed", "away", "stopped"};
  json::array all;
  std::size_t best = states.size() - 1;
  std::size_t tools = cost.tools;
  std::size_t in_flight = 0;
  std::size_t waiting = 0;
  int starts = 0;
  int crashes = 0;
  std::string trouble;
  std::string held;
  for (const Instance* const instance : instances) {
    const Status status = instance->status();
    held = status.held;
    if (is_unused(status)) continue;
    const auto state =
        static_cast<std::size_t>(std::ranges::find(states, status.condition()) - std::begin(states));
    best = std::min(best, state);
    if (status.state == "failed" && trouble.empty()) trouble = status.trouble;
    tools = std::max(tools, cost.tools == 0 ? status.tools : 0);
    in_flight += status.life ? status.life->in_flight : 0;
    waiting += status.waiting;
    starts += status.past.starts;
    crashes += status.past.crashes;
    all.push_back(described_instance(status, label(instance->client())));
  }
  json::object server{{"name", member.name()},
                      {"active", member.active()},
                      {"state", states[best]},
                      {"trouble", trouble},
                      {"tools", tools},
                      {"inFlight", in_flight},
                      {"waiting", waiting},
                      {"starts", starts},
                      {"crashes", crashes},
                      {"held", held},
                      {"instances", std::move(all)}};
  describe_usage(server, Usage::of(member.instance().counts_of_all()));
  return server;
}

void describe_clients(json::object& status, const std::vector<ClientFacts>& clients, bool all) {
  std::size_t calls = 0;
  std::size_t under_way = 0;
  std::size_t streams = 0;
  json::array shown;
  for (const ClientFacts& client : clients) {
    calls += client.made;
    under_way += client.under_way;
    streams += client.streams;
    if (all || shown.size() < newest_clients) shown.push_back(described(client));
  }
  status["clients"] = std::move(shown);
  status["totals"] = json::object{
      {"clients", clients.size()}, {"calls", calls}, {"underWay", under_way}, {"streams", streams}};
}

json::object described(const SessionFacts& session) {
  return {{"id", session.id},
          {"name", session.name},
          {"profile", session.profile},
          {"program", session.program},
          {"live", session.live},
          {"ageMs", std::chrono::milliseconds(session.age).count()},
          {"idleMs", std::chrono::milliseconds(session.idle).count()}};
}

}  // namespace mcpivot
