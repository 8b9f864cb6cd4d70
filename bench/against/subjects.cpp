// The commands of the subjects, and what a client sends to them.
#include "subjects.h"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>

#include "host/free_port.h"

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
constexpr auto patience = std::chrono::seconds(20);

const fs::path sitter = "@ytsuda/mcp-sitter-linux-x64/bin/mcp-sitter";
const fs::path remote = "mcp-remote/dist/proxy.js";
const fs::path proxy = "mcp-proxy/dist/bin/mcp-proxy.mjs";
const fs::path supergateway = "supergateway/dist/index.js";
const fs::path hub = "mcp-hub/dist/cli.js";

fs::path program_of(const Subject& subject, const Place& place) {
  if (subject.name == "mcp-sitter") return place.peers / sitter;
  if (subject.name == "mcp-remote") return place.peers / remote;
  if (subject.name == "mcp-proxy") return place.rivals / proxy;
  if (subject.name == "supergateway") return place.rivals / supergateway;
  if (subject.name == "mcp-hub") return place.rivals / hub;
  if (subject.role == Role::floor) return place.programs / "byte_relay";
  return place.programs / "mcpivot";
}

std::vector<std::string> with(std::vector<std::string> command, const std::vector<std::string>& rest) {
  command.insert(command.end(), rest.begin(), rest.end());
  return command;
}

// For those who read a file. (mcp-hub's `dev`, which is to start a server again when files change, keeps the
// server from starting at all in 4.2.1: "i is not a function".)
fs::path config_file(const Place& place, const Behind& behind, std::uint16_t port,
                     const std::string& more = {}) {
  const fs::path file = place.scratch / fmt::format("config-{}.json", port);
  std::string args;
  for (size_t i = 1; i < behind.server.size(); ++i)
    args += fmt::format("{}\"{}\"", args.empty() ? "" : ",", behind.server[i]);
  std::ofstream(file) << fmt::format(R"({{"mcpServers":{{"e":{{"command":"{}","args":[{}]{}}}}}{}}})",
                                     behind.server[0], args, behind.shared ? R"(,"sharing":"shared")" : "",
                                     more);
  return file;
}

std::vector<std::string> command_of(const Subject& subject, const Place& place, const Behind& behind,
                                    std::uint16_t port) {
  const std::string program = program_of(subject, place);
  const std::string url = fmt::format("http://127.0.0.1:{}/mcp", behind.daemon_port);
  const std::string at = std::to_string(port);
  if (subject.role == Role::direct) return behind.server;
  if (subject.role == Role::floor) return with({program}, behind.server);
  if (subject.role == Role::ours) {
    if (subject.way == Way::from_http) {
      const std::vector<std::string> start = {program,           "serve", "--listen",
                                              "127.0.0.1:" + at, "--log", "/dev/null"};
      // Over HTTP a client can restart a server if its profile allows that.
      const char* const profile = R"(,"profiles":{"default":{"control":["restart"]}})";
      return with(start, {"--config", config_file(place, behind, port, profile)});
    }
    const std::vector<std::string> start = {program, "--log", "/dev/null"};
    if (subject.way == Way::to_http) return with(start, {"--url", url});
    return with(with(start, {"--"}), behind.server);
  }
  if (subject.name == "mcp-sitter") return with({program}, behind.server);
  if (subject.name == "mcp-remote")
    return {"node", program, url, "--allow-http", "--transport", "http-only", "--silent"};
  if (subject.name == "mcp-proxy")
    return with({"node", program, "--host", "127.0.0.1", "--port", at, "--server", "stream", "--"},
                behind.server);
  if (subject.name == "mcp-hub")
    return {"node", program, "--port", at, "--config", config_file(place, behind, port)};
  if (subject.way == Way::to_http)
    return {"node", program, "--streamableHttp", url, "--outputTransport", "stdio", "--logLevel", "none"};
  std::string line;
  for (const std::string& word : behind.server) line += (line.empty() ? "" : " ") + word;
  return {"node",   program, "--stdio",    line,  "--outputTransport", "streamableHttp", "--stateful",
          "--port", at,      "--logLevel", "none"};
}

}  // namespace

std::string_view name_of(Way way) {
  switch (way) {
    case Way::stdio:
      return "stdio";
    case Way::to_http:
      return "to_http";
    case Way::from_http:
      return "from_http";
  }
  return "";
}

std::vector<Subject> all_subjects() {
  return {
      {.name = "no proxy", .way = Way::stdio, .role = Role::direct},
      {.name = "bare relay", .way = Way::stdio, .role = Role::floor},
      {.name = "mcpivot",
       .way = Way::stdio,
       .role = Role::ours,
       .reload = Reload::tool,
       .reload_tool = "pivot_restart"},
      {.name = "mcp-sitter", .way = Way::stdio, .reload = Reload::tool, .reload_tool = "sitter_kill"},
      {.name = "no proxy", .way = Way::to_http, .role = Role::direct},
      {.name = "mcpivot", .way = Way::to_http, .role = Role::ours},
      {.name = "mcp-remote", .way = Way::to_http},
      {.name = "supergateway", .way = Way::to_http},
      {.name = "mcpivot",
       .way = Way::from_http,
       .role = Role::ours,
       .reload = Reload::tool,
       .reload_tool = "pivot_restart"},
      {.name = "mcp-proxy", .way = Way::from_http},
      {.name = "supergateway", .way = Way::from_http},
      {.name = "mcp-hub", .way = Way::from_http, .tool = "e__echo", .reload = Reload::hub},
  };
}

std::string missing(const Subject& subject, const Place& place) {
  if (subject.role == Role::direct) return {};
  const fs::path program = program_of(subject, place);
  return fs::exists(program) ? "" : "there is no " + program.string();
}

Running::Running(const Subject& subject, const Place& place, const Behind& behind)
    : subject_(subject), started_(Clock::now()) {
  setenv("XDG_CACHE_HOME", behind.keep_cache ? (place.scratch / "cache").c_str() : "/dev/null", 1);
  const bool over_http =
      subject.way == Way::from_http || (subject.way == Way::to_http && subject.role == Role::direct);
  if (!over_http) {
    process_ = std::make_unique<ProcessTree>(command_of(subject, place, behind, 0), ProcessTree::Ends::pipes);
    front_ = stdio_front(*process_);
    return;
  }
  port_ = subject.role == Role::direct ? behind.daemon_port : host::free_port();
  if (subject.role != Role::direct)
    process_ =
        std::make_unique<ProcessTree>(command_of(subject, place, behind, port_), ProcessTree::Ends::none);
  front_ = http_front(address(), started_ + patience);
}

HttpAddress Running::address() const {
  return {.port = port_, .path = "/mcp", .old_sse = subject_.name == "mcp-hub"};
}

double Running::shake_hands() {
  ask("initialize",
      R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}})",
      milliseconds(20'000));
  const auto answered = Clock::now();
  front_->send(-1, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  return std::chrono::duration<double>(answered - started_).count();
}

double Running::list_tools() {
  const std::string name = fmt::format("\"name\":\"{}\"", subject_.tool);
  while (ask("tools/list", "{}", milliseconds(20'000)).find(name) == std::string::npos) {
    if (Clock::now() > started_ + patience) throw Failure("it never lists the echo tool");
    usleep(1000);
  }
  return std::chrono::duration<double>(Clock::now() - started_).count();
}

void Running::connect_again() {
  front_ = http_front(address(), Clock::now() + std::chrono::seconds(2));
  shake_hands();
}

std::string Running::ask(std::string_view method, std::string_view params, milliseconds wait) {
  const std::int64_t id = send_request(method, params);
  const auto deadline = Clock::now() + wait;
  while (const auto incoming = front_->receive(deadline)) {
    if (incoming->id != id) continue;
    if (!incoming->problem.empty()) throw Failure(incoming->problem);
    return std::string(incoming->message);
  }
  throw Failure(fmt::format("no answer to {} within {} s", method, wait.count() / 1000));
}

std::int64_t Running::send_call_of(std::string_view tool, std::string_view arguments) {
  return send_request("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
}

std::int64_t Running::send_request(std::string_view method, std::string_view params) {
  const std::int64_t id = next_id_++;
  front_->send(id,
               fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method, params));
  return id;
}
