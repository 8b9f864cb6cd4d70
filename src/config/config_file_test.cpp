#include "config/config_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <fstream>
#include <map>

#include "base/utf8.h"
#include "config/keys.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::Optional;
using testing::Pair;

const char* variable(const char* name) {
  static const std::map<std::string, std::string> set{
      {"TOKEN", "sesame"}, {"HOME", "/home/me"}, {"EMPTY", ""}, {"PORT", "8080"}};
  const auto found = set.find(name);
  return found == set.end() ? nullptr : found->second.c_str();
}

LoadedConfig read(std::string_view text, const std::string& folder = "/files") {
  return read_config(text, folder, variable);
}

std::vector<std::string> problems(const LoadedConfig& config) {
  std::vector<std::string> lines;
  for (const Problem& problem : config.problems) lines.push_back(problem_text("f", problem));
  return lines;
}

// One server "s" with these members.
LoadedConfig with(const std::string& members) {
  return read("{\"mcpServers\": {\"s\": {" + members + "}}}");
}

TEST(ConfigFile, a_clients_file_works_unchanged) {
  const LoadedConfig config = read(R"({
    // what Claude writes
    "mcpServers": {
      "files": { "type": "stdio", "command": "npx", "args": ["-y", "files-server", "/tmp"], "env": {} },
      "dev": { "command": "target/debug/dev", "env": { "TOKEN": "${TOKEN}", "PORT": 8080, "LOUD": true } },
    },
  })");
  EXPECT_THAT(problems(config), IsEmpty());
  ASSERT_EQ(config.gateway.servers.size(), 2U);
  const ServerConfig& files = config.gateway.servers[0].server;
  EXPECT_EQ(files.name, "files");
  EXPECT_THAT(files.command.argv, ElementsAre("npx", "-y", "files-server", "/tmp"));
  EXPECT_EQ(files.command.cwd, "") << "as the client would have it";
  const ServerConfig& dev = config.gateway.servers[1].server;
  EXPECT_THAT(dev.command.argv, ElementsAre("/files/target/debug/dev"));
  EXPECT_THAT(dev.command.env,
              ElementsAre(Pair("TOKEN", "sesame"), Pair("PORT", "8080"), Pair("LOUD", "true")));
}

TEST(ConfigFile, a_vs_code_file_and_a_bare_map_work_unchanged) {
  const LoadedConfig code = read(R"({"inputs": [], "servers": {"a": {"type": "stdio", "command": "x",
                               "cwd": "${workspaceFolder}/sub"}}})",
                                 "/project/.vscode");
  EXPECT_THAT(problems(code), IsEmpty());
  ASSERT_EQ(code.gateway.servers.size(), 1U);
  EXPECT_EQ(code.gateway.servers[0].server.command.cwd, "/project/sub");

  const LoadedConfig bare =
      read(R"({"a": {"command": "x"}, "servers": {"command": "y"}, "names": {"command": "z"},
                               "remember": true})");
  EXPECT_THAT(problems(bare), IsEmpty());
  ASSERT_EQ(bare.gateway.servers.size(), 3U);
  EXPECT_EQ(bare.gateway.servers[1].server.name, "servers");
  EXPECT_EQ(bare.gateway.servers[2].server.name, "names");
  EXPECT_TRUE(bare.gateway.remember);
}

TEST(ConfigFile, says_whether_clients_share_a_server) {
  EXPECT_EQ(with(R"("command": "x")").gateway.servers[0].server.sharing, Sharing::per_client);
  EXPECT_EQ(with(R"("command": "x", "sharing": "per-client")").gateway.servers[0].server.sharing,
            Sharing::per_client);
  EXPECT_EQ(with(R"("command": "x", "sharing": "shared")").gateway.servers[0].server.sharing,
            Sharing::shared);
  EXPECT_THAT(problems(with(R"("command": "x", "sharing": "both")")),
              ElementsAre(HasSubstr(R"(must be "per-client" or "shared")")));
}

TEST(ConfigFile, can_say_everything_the_command_line_can) {
  const LoadedConfig config =
      with(R"("command": "./dev", "args": ["-v"], "cwd": "sub/..", "build": "make", "watch": ["src/**"],
    "swap": "stop-first", "replay": ["connect", "device:action=use"], "max_message": "8MB",
    "timeouts": {"start": "1s", "call": 2, "drain": "3s", "queue": "400ms", "build": "5m"})");
  EXPECT_THAT(problems(config), IsEmpty());
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  const ServerConfig& server = config.gateway.servers[0].server;
  EXPECT_THAT(server.command.argv, ElementsAre("/files/dev", "-v"));
  EXPECT_EQ(server.command.cwd, "/files");
  EXPECT_EQ(server.build, "make");
  EXPECT_THAT(server.watch, ElementsAre("src/**"));
  EXPECT_TRUE(server.watching);
  EXPECT_EQ(server.swap, SwapMode::stop_first);
  ASSERT_EQ(server.replay.size(), 2U);
  EXPECT_EQ(server.replay[0].tool, "connect");
  EXPECT_EQ(server.replay[1].key, "action");
  EXPECT_EQ(server.max_message, 8'000'000U);
  EXPECT_EQ(server.start_timeout, 1s);
  EXPECT_EQ(server.call_timeout, 2s);
  EXPECT_EQ(server.drain, 3s);
  EXPECT_EQ(server.queue_timeout, 400ms);
  EXPECT_EQ(server.build_timeout, 5min);
}

TEST(ConfigFile, can_describe_a_daemon) {
  const LoadedConfig config = with(R"("type": "http", "url": "https://${HOST:-localhost}:${PORT}/mcp",
    "headers": {"Authorization": "Bearer ${TOKEN}", "X": "${env:PORT}"}, "cacert": "ca.pem", "start_command": "serve &",
    "stop_command": "stop", "start_after": "2s", "replay": ["device"], "cwd": "/somewhere")");
  EXPECT_THAT(problems(config), IsEmpty());
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  const ServerConfig& server = config.gateway.servers[0].server;
  EXPECT_EQ(kind_of(server), ServerKind::http);
  EXPECT_EQ(server.http.url, "https://localhost:8080/mcp");
  EXPECT_THAT(server.http.headers, ElementsAre("Authorization: Bearer ${TOKEN}", "X: ${PORT}"))
      << "secrets are filled in where they are sent";
  EXPECT_EQ(server.http.cacert, "/files/ca.pem");
  EXPECT_FALSE(server.http.insecure);
  EXPECT_EQ(server.http.start, "serve &");
  EXPECT_EQ(server.http.stop, "stop");
  EXPECT_EQ(server.http.start_after, 2s);
  EXPECT_EQ(server.queue_timeout, 60s);
  EXPECT_EQ(server.command.cwd, "/somewhere");
  EXPECT_THAT(server.command.argv, IsEmpty());
  EXPECT_EQ(
      with(R"("url": "http://h/", "timeouts": {"queue": "5s"})").gateway.servers[0].server.queue_timeout, 5s);
  for (const char* alias : {"serverUrl", "httpUrl"})
    EXPECT_EQ(with("\"" + std::string(alias) + R"(": "http://h/")").gateway.servers.at(0).server.http.url,
              "http://h/");
}

TEST(ConfigFile, can_describe_a_cli) {
  const LoadedConfig config =
      with(R"("cli": ["./tools.py", "-q"], "schema_args": ["describe"], "result_args": [], "jobs": 3,
    "max_output": "64KiB")");
  EXPECT_THAT(problems(config), IsEmpty());
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  const ServerConfig& server = config.gateway.servers[0].server;
  EXPECT_EQ(kind_of(server), ServerKind::cli);
  EXPECT_THAT(server.command.argv, ElementsAre("/files/tools.py", "-q"));
  ASSERT_TRUE(server.cli);
  EXPECT_THAT(server.cli->schema_args, ElementsAre("describe"));
  EXPECT_THAT(server.cli->result_args, IsEmpty());
  EXPECT_EQ(server.cli->jobs, 3U);
  EXPECT_EQ(server.cli->max_output, 65536U);
  EXPECT_EQ(with(R"("cli": ["x"])").gateway.servers[0].server.cli, CliConfig());
}

TEST(ConfigFile, has_the_same_defaults_as_the_command_line) {
  const ServerConfig plain;
  const LoadedConfig config = with(R"("command": "x", "cwd": null)");
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  const ServerConfig& server = config.gateway.servers[0].server;
  EXPECT_EQ(server.swap, plain.swap);
  EXPECT_EQ(server.max_message, plain.max_message);
  EXPECT_EQ(server.start_timeout, plain.start_timeout);
  EXPECT_EQ(server.queue_timeout, plain.queue_timeout);
  EXPECT_TRUE(server.watching);
  EXPECT_THAT(server.watch, IsEmpty());
}

TEST(ConfigFile, has_the_options_of_a_gateway) {
  const LoadedConfig config = read(R"({"names": "bare", "remember": true, "mcpServers": {
    "a": {"command": "x", "active": true, "start": "lazy", "idle_stop": "10m",
          "tools": {"allow": ["read_*"], "deny": ["*_all"], "rename": {"read_file": "read"},
                    "describe": {"read_file": "Reads."}}},
    "b": {"command": "x", "active": false}}})");
  EXPECT_THAT(problems(config), IsEmpty());
  ASSERT_EQ(config.gateway.servers.size(), 2U);
  const ServerEntry& a = config.gateway.servers[0];
  EXPECT_EQ(a.active, true);
  EXPECT_EQ(a.start, StartMode::lazy);
  EXPECT_EQ(a.idle_stop, 10min);
  EXPECT_THAT(a.tools.allow, Optional(ElementsAre("read_*")));
  EXPECT_THAT(a.tools.deny, ElementsAre("*_all"));
  EXPECT_THAT(a.tools.rename, ElementsAre(Pair("read_file", "read")));
  EXPECT_THAT(a.tools.describe, ElementsAre(Pair("read_file", "Reads.")));
  const ServerEntry& b = config.gateway.servers[1];
  EXPECT_EQ(b.active, false);
  EXPECT_EQ(b.tools.allow, std::nullopt);
  EXPECT_EQ(config.gateway.names, Naming::bare);
  EXPECT_EQ(b.idle_stop, std::nullopt);
  EXPECT_TRUE(config.gateway.remember);
}

TEST(ConfigFile, an_invalid_pivot_call_setting_lets_it_reach_no_server) {
  const auto reads = [](const std::string& file, const std::string& server = "") {
    return read("{" + file + R"("mcpServers": {"a": {"command": "x")" + server + "}}}");
  };
  EXPECT_EQ(reads("").gateway.pivot_call, CallThrough::all);
  EXPECT_EQ(reads(R"("pivot_call": "all", )").gateway.pivot_call, CallThrough::all);
  EXPECT_EQ(reads(R"("pivot_call": "active", )").gateway.pivot_call, CallThrough::active);
  EXPECT_EQ(reads(R"("pivot_call": "off", )").gateway.pivot_call, CallThrough::off);
  EXPECT_EQ(reads("").gateway.servers.at(0).pivot_call, std::nullopt);
  EXPECT_EQ(reads("", R"(, "pivot_call": true)").gateway.servers.at(0).pivot_call, true);
  EXPECT_EQ(reads("", R"(, "pivot_call": false)").gateway.servers.at(0).pivot_call, false);

  for (const char* wrong :
       {R"("of")", R"("Active")", "false", "null", "[]", R"("off", "pivot_call": "all")"}) {
    SCOPED_TRACE(wrong);
    const LoadedConfig config = reads(std::string("\"pivot_call\": ") + wrong + ", ");
    EXPECT_EQ(config.gateway.pivot_call, CallThrough::off);
    EXPECT_TRUE(config.has_errors());
  }
  for (const char* wrong : {R"("false")", "null", "0", R"("off")"}) {
    SCOPED_TRACE(wrong);
    const LoadedConfig config = reads("", std::string(", \"pivot_call\": ") + wrong);
    EXPECT_THAT(config.gateway.servers, IsEmpty()) << "it is left out";
    EXPECT_TRUE(config.has_errors());
  }
}

TEST(ConfigFile, builds_and_watches_are_relative_to_the_file) {
  EXPECT_EQ(with(R"("command": "x", "build": "make")").gateway.servers[0].server.command.cwd, "/files");
  EXPECT_EQ(with(R"("command": "x", "watch": "src")").gateway.servers[0].server.command.cwd, "/files");
  EXPECT_EQ(with(R"("command": "x", "watch": false)").gateway.servers[0].server.command.cwd, "");
}

TEST(ConfigFile, watching_can_be_turned_off) {
  EXPECT_FALSE(with(R"("command": "x", "watch": false)").gateway.servers[0].server.watching);
  EXPECT_FALSE(with(R"("command": "x", "watch": [])").gateway.servers[0].server.watching);
  EXPECT_TRUE(with(R"("command": "x", "watch": true)").gateway.servers[0].server.watching);
  EXPECT_THAT(with(R"("command": "x", "watch": "src")").gateway.servers[0].server.watch, ElementsAre("src"));
}

TEST(ConfigFile, paths_are_relative_to_the_file) {
  auto command = [](const std::string& text) {
    return with("\"command\": \"" + text + "\"").gateway.servers.at(0).server.command.argv.at(0);
  };
  EXPECT_EQ(command("server"), "server") << "looked up in PATH";
  EXPECT_EQ(command("./server"), "/files/server");
  EXPECT_EQ(command("../bin/server"), "/bin/server");
  EXPECT_EQ(command("/bin/server"), "/bin/server");
  EXPECT_EQ(command("~/server"), "/home/me/server");
  EXPECT_EQ(command("${HOME}/server"), "/home/me/server");
}

TEST(ConfigFile, every_problem_names_its_position_and_what_to_do) {
  struct Case {
    std::string text;
    std::vector<std::string> problems;
  };
  const std::string front = "{\n\"mcpServers\": {\n";
  const std::vector<Case> cases = {
      {"", {"f:1:1: error: expected a value, found the end of the file"}},
      {"[]", {"f:1:1: error: expected an object with \"mcpServers\", found a list"}},
      {"{}", {"f:1:1: warning: there is no server in this file; put one into \"mcpServers\""}},
      {"{\"mcpServers\": []}",
       {"f:1:16: error: \"mcpServers\" must be an object with the servers by name, not a list"}},
      {"{\"mcpServers\": {\"a\": 1}}", {"f:1:22: error: server \"a\" must be an object like"}},
      {"{\"mcpServers\": {},\n \"servers\": {}}",
       {"f:2:2: error: both \"servers\" and \"mcpServers\" (line 1) list servers; keep them all in one"}},
      {"{\"mcpServers\": {},\n \"mcpServers\": {}}",
       {"f:2:2: error: \"mcpServers\" appears twice in the file, first on line 1; keep all servers in one"}},
      {"{\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"y\"}}",
       {"f:2:1: error: \"a\" appears twice in the file, first on line 1"}},
      {"{\"mcpServer\": {\"a\": {\"command\": \"x\"}}}",
       {"f:1:2: error: unknown key \"mcpServer\"; did you mean \"mcpServers\"?"}},
      {front + "\"\": {\"command\": \"x\"}}}", {"f:3:1: error: a server's name is empty; give it one"}},
      {front + "\"a\\n\": {\"command\": \"x\"}}}", {"f:3:1: error: a server's name has a control character"}},
      {front + "\"a\": {\"command\": \"x\"},\n\"a\": {\"command\": \"x\"}}}",
       {"f:4:1: error: \"a\" appears twice in \"mcpServers\", first on line 3; keep one of them"}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"deny\":\n [\"read\", \"{delete,read\"]}}}}",
       {"f:4:11: error: \"deny\" of \"tools\" of server \"a\": bad pattern '{delete,read': a '{' has no "
        "'}'"}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"allow\":\n [\"dele[te\", \"\"]}}}}",
       {"f:4:3: error: \"allow\" of \"tools\" of server \"a\": bad pattern 'dele[te': a '[' has no ']'",
        "f:4:14: error: \"allow\" of \"tools\" of server \"a\": bad pattern '': it is empty"}},
      {"{\"pivot_call\":\n \"of\", \"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
       {"f:2:2: error: \"pivot_call\" of the file must be \"active\", \"all\" or \"off\", not \"of\""}},
      {"{\"pivot_call\": null, \"mcpServers\": {\"a\": {\"command\": \"x\"}}}",
       {"f:1:16: error: \"pivot_call\" of the file must be \"active\", \"all\" or \"off\", not null"}},
      {front + "\"a\": {\"command\": \"x\",\n \"pivot_call\": \"off\"}}}",
       {"f:4:16: error: \"pivot_call\" of server \"a\" must be true or false, not \"off\""}},
      {front + "\"a\": {}}}", {"f:3:1: error: server \"a\" needs one of \"command\""}},
      {front + "\"a\": {\"command\": \"x\",\n \"url\": \"http://h/\"}}}",
       {"f:4:2: error: server \"a\" has \"url\" as well as \"command\"; keep one of them"}},
      {front + "\"a\": {\"command\": \"x\",\n \"command\": \"y\"}}}",
       {"f:4:2: error: \"command\" appears twice in server \"a\", first on line 3"}},
      {front + "\"a\": {\"comand\": \"x\"}}}",
       {"f:3:1: error: server \"a\" needs one of",
        "f:3:7: warning: unknown key \"comand\" in server \"a\" is ignored; did you mean \"command\"?"}},
      {front + "\"a\": {\"command\": \"x\", \"autoApprove\": []}}}",
       {"f:3:23: warning: unknown key \"autoApprove\" in server \"a\" is ignored"}},
      {front + "\"a\": {\"command\": \"x\", \"drain\": 1}}}",
       {"f:3:23: warning: unknown key \"drain\" in server \"a\" is ignored; it belongs in \"timeouts\""}},
      {front + "\"a\": {\"command\": \"x\", \"timeouts\": {\"cal\": 1}}}}",
       {"f:3:36: warning: unknown key \"cal\" in \"timeouts\" of server \"a\" is ignored; did you mean "
        "\"call\"?"}},
      {front + "\"a\": {\"command\": [\"x\"]}}}",
       {"f:3:18: error: \"command\" of server \"a\" must be a string with a program; its arguments go in "
        "\"args\", not a list"}},
      {front + "\"a\": {\"command\": \"\"}}}", {"f:3:18: error: \"command\" of server \"a\" is empty"}},
      {front + "\"a\": {\"command\": \"x\", \"args\": \"-v\"}}}",
       {"f:3:31: error: \"args\" of server \"a\" must be a list of strings, not a string"}},
      {front + "\"a\": {\"command\": \"x\", \"args\": [\"-p\", 80]}}}",
       {"f:3:38: error: an element of \"args\" of server \"a\" must be a string, not a number"}},
      {front + "\"a\": {\"command\": \"x\", \"args\": [\"a\\u0000b\"]}}}",
       {"f:3:32: error: \"args\" of server \"a\": \\u0000 isn't allowed there"}},
      {front + "\"a\": {\"command\": \"x\", \"swap\": \"never\"}}}",
       {"f:3:31: error: \"swap\" of server \"a\" must be \"overlap\" or \"stop-first\", not \"never\""}},
      {front + "\"a\": {\"command\": \"x\", \"active\": \"yes\"}}}",
       {"f:3:33: error: \"active\" of server \"a\" must be true or false, not \"yes\""}},
      {front + "\"a\": {\"command\": \"x\", \"timeouts\": {\"call\": \"soon\"}}}}",
       {"f:3:44: error: \"call\" of \"timeouts\" of server \"a\" must be a time like \"500ms\", \"30s\" or "
        "\"10m\", or a number of seconds, not \"soon\""}},
      {front + "\"a\": {\"command\": \"x\", \"timeouts\": 5}}}",
       {"f:3:35: error: \"timeouts\" of server \"a\" must be an object, not 5"}},
      {front + "\"a\": {\"command\": \"x\", \"idle_stop\": -1}}}",
       {"f:3:36: error: \"idle_stop\" of server \"a\" must be a time"}},
      {front + "\"a\": {\"command\": \"x\", \"max_message\": 10}}}",
       {"f:3:38: error: \"max_message\" of server \"a\" must be a size like \"8MB\", or a number of bytes, "
        "from 1024 to 1073741824, not 10"}},
      {front + "\"a\": {\"command\": \"x\", \"replay\": [\"a:b\"]}}}",
       {"f:3:34: error: an element of \"replay\" of server \"a\" is wrong; it must be a list of tools, each "
        "\"TOOL\" or"}},
      {front + "\"a\": {\"command\": \"x\", \"watch\": [\"src/[\"]}}}",
       {"f:3:33: error: \"watch\" of server \"a\": "}},
      {front + "\"a\": {\"command\": \"x\", \"env\": {\"A=B\": \"c\"}}}}",
       {"f:3:31: error: \"A=B\" in \"env\" of server \"a\": a variable's name"}},
      {front + "\"a\": {\"command\": \"x\", \"env\": {\"A\": []}}}}",
       {"f:3:36: error: \"A\" in \"env\" of server \"a\" must be a string, not a list"}},
      {front + "\"a\": {\"command\": \"x\", \"env\": {\"A\": null}}}}",
       {"f:3:36: warning: \"A\" in \"env\" of server \"a\": mcpivot can't unset a variable; it stays as it "
        "is"}},
      {front + "\"a\": {\"command\": \"x\", \"env\": {\"A\": \"1\", \"A\": \"2\"}}}}",
       {"f:3:41: error: \"A\" appears twice in \"env\" of server \"a\""}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"rename\": {\"t\": \"a b\"}}}}}",
       {"f:3:49: error: \"t\" in \"rename\" of \"tools\" of server \"a\" must become a name of 1 to 48"}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"rename\": {\"t\": \"n\", \"u\": \"n\"}}}}}",
       {"f:3:59: error: \"t\" and \"u\" in \"rename\""}},
      {front + "\"a\": {\"command\": \"x\", \"type\": \"http\"}}}",
       {"f:3:23: error: \"type\" of server \"a\" is \"http\", but it has \"command\""}},
      {front + "\"a\": {\"command\": \"x\", \"headers\": {}}}}",
       {"f:3:23: warning: \"headers\" of server \"a\" is ignored: it is for servers with \"url\""}},
      {front + "\"a\": {\"url\": \"ftp://${TOKEN}/\"}}}",
       {"f:3:7: error: \"url\" of server \"a\" isn't an HTTP URL: it must begin with http://"}},
      {front + "\"a\": {\"url\": \"http://me@h/\"}}}",
       {"f:3:7: error: \"url\" of server \"a\" is wrong: a URL must not contain a user name or password"}},
      {front + "\"a\": {\"url\": \"http://h/\", \"serverUrl\": \"http://i/\"}}}",
       {"f:3:27: error: \"serverUrl\" means the same as \"url\" on line 3 of server \"a\"; keep one of "
        "them"}},
      {front + "\"a\": {\"url\": \"http://h/\", \"headers\": {\"A B\": \"${TOKEN}\"}}}}",
       {"f:3:27: error: \"headers\" of server \"a\" cannot be sent: "}},
      {front + "\"a\": {\"url\": \"http://h/\", \"headers\": {\"A\": \"${NOT}\"}}}}",
       {"f:3:44: error: \"A\" in \"headers\" of server \"a\": the environment variable NOT is not set"}},
      {front + "\"a\": {\"url\": \"http://h/\", \"insecure\": true, \"start_after\": 1, \"watch\": \"x\"}}}",
       {"f:3:27: warning: \"insecure\" of server \"a\" has an effect only with an https:// address",
        "f:3:45: warning: \"start_after\" of server \"a\" has an effect only with \"start_command\"",
        "f:3:63: warning: \"watch\" of server \"a\" needs \"build\", \"start_command\" or \"stop_command\""}},
      {front + "\"a\": {\"url\": \"http://h/\", \"type\": \"stdio\"}}}",
       {"f:3:27: error: \"type\" of server \"a\" is \"stdio\", but it has \"url\""}},
      {front + "\"a\": {\"cli\": []}}}", {"f:3:14: error: \"cli\" of server \"a\" names no program"}},
      {front + "\"a\": {\"cli\": \"x y\"}}}",
       {"f:3:14: error: \"cli\" of server \"a\" must be a list of strings, the program first"}},
      {front + "\"a\": {\"cli\": [\"x\"], \"jobs\": 0}}}",
       {"f:3:29: error: \"jobs\" of server \"a\" must be a whole number from 1 to 10000, not 0"}},
      {front + "\"a\": {\"cli\": [\"x\"], \"replay\": [\"t\"]}}}",
       {"f:3:21: warning: \"replay\" of server \"a\" is ignored: it is for servers with \"command\" or "
        "\"url\""}},
      {front + "\"a\": {\"command\": \"${NOT}\"}}}",
       {"f:3:18: error: \"command\" of server \"a\": the environment variable NOT is not set; set it, or "
        "write ${NOT:-default}"}},
      {front + "\"a\": {\"command\": \"x\", \"env\": {\"KEY\": \"${TOKEN} ${NOT}\"}}}}",
       {"f:3:38: error: \"KEY\" in \"env\" of server \"a\": the environment variable NOT is not set"}},
      // What restricts something must not be ignored.
      {front + "\"a\": {\"command\": \"x\", \"tool\": {\"allow\": [\"read_*\"]}}}}",
       {"f:3:23: error: unknown key \"tool\" in server \"a\"; did you mean \"tools\"?"}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"alow\": [\"read_*\"]}}}}",
       {"f:3:33: error: unknown key \"alow\" in \"tools\" of server \"a\"; did you mean \"allow\"?"}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"denied\": [\"rm_*\"]}}}}",
       {"f:3:33: error: unknown key \"denied\" in \"tools\" of server \"a\""}},
      {front + "\"a\": {\"command\": \"x\", \"tools\": {\"deny\": null}}}}",
       {"f:3:41: error: \"deny\" of \"tools\" of server \"a\" must be"}},
      {front + "\"a\": {\"command\": \"x\", \"deny\": [\"rm_*\"]}}}",
       {"f:3:23: error: unknown key \"deny\" in server \"a\"; it belongs in \"tools\""}},
      {front + "\"a\": {\"command\": \"x\", \"pivotCall\": false}}}",
       {"f:3:23: error: unknown key \"pivotCall\" in server \"a\"; did you mean \"pivot_call\"?"}},
      {"{\"pivotcall\": \"off\", \"a\": {\"command\": \"x\"}}",
       {"f:1:2: error: unknown key \"pivotcall\"; did you mean \"pivot_call\"?"}},
      {"{\"redacts\": [\"x\"], \"a\": {\"command\": \"x\"}}",
       {"f:1:2: error: unknown key \"redacts\"; did you mean \"redact\"?"}},
      {"{\"remeber\": true, \"a\": {\"command\": \"x\"}}",
       {"f:1:2: warning: unknown key \"remeber\" is ignored; did you mean \"remember\"?"}},
      {"{\"mcpServers\": {\"a\": {\"command\": \"x\"}},\n\"numStartups\": 5,\n\"projects\": {}, \"tips\": "
       "[]}",
       {"f:2:1: warning: 3 keys next to the servers are unknown and ignored, the first of them "
        "\"numStartups\""}},
      {"{\"names\": \"short\", \"a\": {\"command\": \"x\"}}",
       {"f:1:11: error: \"names\" of the file must be \"prefixed\" or \"bare\", not \"short\""}},
  };
  for (const auto& [text, expected] : cases) {
    SCOPED_TRACE(text);
    const auto found = problems(read(text));
    ASSERT_EQ(found.size(), expected.size()) << testing::PrintToString(found);
    for (std::size_t i = 0; i < found.size(); ++i) {
      EXPECT_THAT(found[i], testing::StartsWith(expected[i]));
      EXPECT_THAT(found[i], Not(HasSubstr("sesame"))) << "values of variables are nobody's business";
    }
  }
}

TEST(ConfigFile, keys_that_are_comments_cause_no_warning) {
  EXPECT_THAT(problems(with(R"("command": "x", "_comment": "a", "//": "b", "//": "c", "#": 1)")), IsEmpty());
}

TEST(ConfigFile, only_servers_with_errors_are_left_out) {
  const LoadedConfig config = read(R"({"mcpServers": {"bad": {"command": 1}, "good": {"command": "x"},
                                 "off": {"command": "${NOT}", "disabled": true}}})");
  EXPECT_EQ(config.problems.size(), 1U) << "what is disabled has no problems";
  EXPECT_TRUE(config.has_errors());
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  EXPECT_EQ(config.gateway.servers[0].server.name, "good");
  ASSERT_EQ(config.left_out.size(), 2U);
  EXPECT_EQ(config.left_out[0].name, "bad");
  EXPECT_FALSE(config.left_out[0].disabled);
  EXPECT_TRUE(config.left_out[1].disabled);
}

TEST(ConfigFile, the_list_of_problems_is_truncated) {
  std::string text = "{\"mcpServers\": {";
  for (int i = 0; i < 5000; ++i) text += "\"" + std::to_string(i) + "\": {},";
  const LoadedConfig config = read(text + "}}");
  EXPECT_TRUE(config.has_errors());
  EXPECT_LT(config.problems.size(), 300U);
  EXPECT_THAT(config.problems.back().words, HasSubstr("more problems are not shown"));
  EXPECT_LE(config.left_out.size(), 1000U);
}

TEST(ConfigFile, text_quoted_in_a_problem_is_truncated_as_valid_utf8) {
  std::string key;
  for (int i = 0; i < 100'000; ++i) key += "é";
  for (const char* first : {"x", "xx"}) {  // one of them is cut inside a character
    const LoadedConfig config = with("\"command\": \"x\", \"" + (first + key) + "\": 1");
    ASSERT_EQ(config.problems.size(), 1U);
    const std::string& words = config.problems[0].words;
    EXPECT_LT(words.size(), 700U);
    EXPECT_THAT(words, testing::EndsWith("..."));
    EXPECT_EQ(words, as_utf8(words));
  }
}

// A key that is in the table but can't be parsed would exist only in the documentation.
TEST(ConfigFile, every_documented_key_takes_a_value) {
  auto sample = [](const Key& key) -> std::string {
    switch (key.type) {
      case KeyType::ignored:
      case KeyType::group:
      case KeyType::named:
        return "{}";
      case KeyType::flag:
        return "true";
      case KeyType::text:
      case KeyType::path:
      case KeyType::calls:
      case KeyType::program:
        return "\"http://h/x\"";
      case KeyType::texts:
      case KeyType::command:
      case KeyType::globs:
      case KeyType::replay:
      case KeyType::tool_globs:
      case KeyType::answer_paths:
      case KeyType::patterns:
        return "[\"a\"]";
      case KeyType::tool_texts:
      case KeyType::variables:
      case KeyType::headers:
      case KeyType::tool_names:
        return "{\"a\": \"b\"}";
      case KeyType::time:
        return "\"1s\"";
      case KeyType::bytes:
        return "\"1MB\"";
      case KeyType::count:
        return std::to_string(key.most);
      case KeyType::choices:
        return "[\"" + std::string(key.choices.back()) + "\"]";
      case KeyType::choice:
        return "\"" + std::string(key.choices.back()) + "\"";
    }
    return "";
  };
  std::size_t checked = 0;
  auto check = [&](const Key& key, const std::string& prefix, const std::string& suffix) {
    SCOPED_TRACE(key.name);
    EXPECT_FALSE(key.words.empty());
    for (const bool good : {true, false}) {
      const LoadedConfig config =
          with(prefix + "\"" + std::string(key.name) + "\": " + (good ? sample(key) : "[[[]]]") + suffix);
      const bool refused = std::ranges::any_of(problems(config), [](const std::string& line) {
        return line.find("must be") != std::string::npos;
      });
      EXPECT_EQ(refused, !good) << testing::PrintToString(problems(config));
    }
    ++checked;
  };
  for (const Key& key : server_keys()) {
    check(key, "", "");
    for (const Key& inner : key.keys) check(inner, "\"" + std::string(key.name) + "\": {", "}");
  }
  EXPECT_GT(checked, 30U);
}

TEST(ConfigFile, variables_can_come_from_an_env_file) {
  const host::TemporaryDirectory folder;
  folder.write(".env", "A=1\nB=${not looked at}\n");
  const LoadedConfig config = read(
      R"({"a": {"command": "x", "env": {"A": "2"}, "envFile": "${workspaceFolder}/.env"}})", folder.path());
  EXPECT_THAT(problems(config), IsEmpty());
  EXPECT_THAT(config.gateway.servers.at(0).server.command.env,
              ElementsAre(Pair("A", "1"), Pair("B", "${not looked at}"), Pair("A", "2")));
  EXPECT_THAT(problems(with(R"("command": "x", "env_file": "none")")),
              ElementsAre("f:1:39: error: \"env_file\" of server \"s\": /files/none cannot be read: No such "
                          "file or directory"));
}

TEST(ConfigFile, an_unreadable_file_is_a_problem) {
  const host::TemporaryDirectory folder;
  EXPECT_THAT(problems(load_config(folder / "none.json")),
              ElementsAre("f: error: the configuration cannot be read: No such file or directory"));
  EXPECT_THAT(problems(load_config(folder.path())), ElementsAre(HasSubstr("is a folder")));
  folder.write("large.json", std::string(17 * 1024 * 1024, ' '));
  EXPECT_THAT(problems(load_config(folder / "large.json")),
              ElementsAre(HasSubstr("at most 16777216 bytes are read")));
  folder.write("good.json", R"({"a": {"command": "./x"}})");
  const LoadedConfig config = load_config(folder / "good.json");
  ASSERT_EQ(config.gateway.servers.size(), 1U);
  EXPECT_EQ(config.gateway.servers[0].server.command.argv[0], folder / "x");
}

RC_GTEST_PROP(ConfigFileProperty, survives_any_damage_to_the_file, ()) {
  std::string text =
      R"({"names": "bare", "mcpServers": {"a": {"command": "x", "args": ["${TOKEN}"], "env": {"A": 1},
    "timeouts": {"call": "1s"}, "tools": {"rename": {"a": "b"}}, "watch": ["src/**"], "replay": ["a:b=c"],
    "max_message": 100000}, "b": {"url": "http://h/", "headers": {"A": "${PORT}"}}, "c": {"cli": ["./x"]}}})";
  const auto hits = *rc::gen::inRange(1, 8);
  for (int i = 0; i < hits; ++i) {
    const auto at = *rc::gen::inRange<std::size_t>(0, text.size());
    const auto length = *rc::gen::inRange<std::size_t>(0, 6);
    text.replace(at, length,
                 *rc::gen::element<std::string>("", "[]", "{}", "1", "null", "\"\"", "\"${\"", ",", ":",
                                                "\"url\":", "\"a\""));
  }
  const LoadedConfig config = read(text);
  for (const Problem& problem : config.problems) {
    RC_ASSERT(problem.line > 0);
    RC_ASSERT(!problem.words.empty());
    RC_ASSERT(problem.words.find("sesame") == std::string::npos);
  }
  for (const ServerEntry& entry : config.gateway.servers) RC_ASSERT(!entry.server.name.empty());
}

}  // namespace
}  // namespace mcpivot
