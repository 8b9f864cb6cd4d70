// `mcpivot doctor` finds what is wrong, and says what to do about it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "daemons.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

Outcome doctor(const fs::path& home, const std::string& config) {
  if (!config.empty()) std::ofstream(home / "mcpivot.json") << config;
  Outcome said = run_mcpivot({"doctor"}, home, {{"FAKE", fake_server_binary()}});
  EXPECT_THAT(processes_in_group(said.pid), testing::IsEmpty()) << "something was left behind";
  return said;
}

TEST(Doctor, reports_how_each_server_started) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {
    "good": {"command": "${FAKE}", "args": ["--only", "echo,pid"]},
    "dying": {"command": "${FAKE}", "args": ["--die", "start", "--how", "7"]},
    "missing": {"command": "/no/such/program"}}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, HasSubstr("ok    good: ready in "));
  EXPECT_THAT(said.out, HasSubstr("2 tools (about "));
  EXPECT_THAT(said.out, AllOf(HasSubstr("BAD   dying: "), HasSubstr("exited with code 7")));
  EXPECT_THAT(said.out, AllOf(HasSubstr("BAD   missing: "), HasSubstr("/no/such/program")));
}

TEST(Doctor, reports_all_servers_even_if_some_name_unknown_protocol_versions) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {
    "none": {"command": "${FAKE}", "args": ["--protocol", "null"]},
    "number": {"command": "${FAKE}", "args": ["--protocol", "20250618"]},
    "unheard": {"command": "${FAKE}", "args": ["--protocol", "\"1999-01-01\""]},
    "good": {"command": "${FAKE}", "args": ["--protocol", "\"2025-06-18\""]}}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(
      said.out,
      HasSubstr("BAD   none: its answer to initialize isn't valid MCP: it names no protocolVersion\n"));
  EXPECT_THAT(
      said.out,
      HasSubstr("BAD   number: its answer to initialize isn't valid MCP: it names no protocolVersion\n"));
  EXPECT_THAT(said.out, HasSubstr("BAD   unheard: its handshake names an unknown protocol version: "
                                  "\"1999-01-01\"\n"));
  EXPECT_THAT(said.out,
              AllOf(HasSubstr("ok    good: ready in "), HasSubstr("protocol 2025-06-18 (legacy era)")));
}

TEST(Doctor, starts_a_failing_server_once_per_era_and_shows_its_output) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {
    "failing": {"command": "sh", "args": ["-c", "echo started >> starts; echo no database >&2; exit 1"]},
    "slow": {"command": "${FAKE}", "args": ["--delay", "initialize=500"]},
    "chatty": {"command": "${FAKE}", "args": ["--stderr-flood", "3"]}}})");
  EXPECT_EQ(content_of(home.path() / "starts"), "started\nstarted\n");
  EXPECT_THAT(said.out, HasSubstr("BAD   failing: it exited with code 1 before it was ready\n"
                                  "      stderr, last lines:\n"
                                  "        no database\n"
                                  "      Run its command"));
  EXPECT_THAT(said.out, AllOf(HasSubstr("ok    slow: ready in "), HasSubstr("ok    chatty: ready in ")));
  EXPECT_EQ(said.err, "");
}

TEST(Doctor, succeeds_if_there_are_no_problems) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.exit_code, 0) << said.out;
  EXPECT_THAT(said.out, AllOf(HasSubstr("names 1 server\n"), Not(HasSubstr("BAD"))));
}

TEST(Doctor, shows_problems_of_the_config_and_advice_if_there_is_none) {
  const TemporaryDirectory home;
  EXPECT_THAT(doctor(home.path(), "").out, HasSubstr("mcpivot init"));
  const Outcome said = doctor(home.path(), "{\n \"mcpServers\": {\"a\": {\"command\": 7}}}");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, HasSubstr("mcpivot.json:2:"));
}

TEST(Doctor, finds_clients_whose_entry_for_mcpivot_is_wrong) {
  const TemporaryDirectory home;
  fs::create_directories(home.path() / ".cursor");
  std::ofstream(home.path() / ".cursor/mcp.json")
      << R"({"mcpServers": {"gone": {"command": "/old/place/mcpivot", "args": ["--", "x"]}}})";
  std::ofstream(home.path() / ".claude.json") << R"({"mcpServers": {"here": {"command": ")" +
                                                     mcpivot_binary() +
                                                     R"(", "args": ["--config", "/no/such.json"]}}})";
  const Outcome said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, AllOf(HasSubstr("Cursor has \"gone\""),
                              HasSubstr("/old/place/mcpivot isn't a program that can be run")));
  EXPECT_THAT(said.out, HasSubstr("its config file /no/such.json doesn't exist"));
}

TEST(Doctor, finds_a_list_of_servers_that_a_client_cannot_read) {
  const TemporaryDirectory home;
  fs::create_directories(home.path() / ".claude.json");
  const Outcome said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, HasSubstr("BAD   Claude Code cannot read its list of servers: " +
                                  (home.path() / ".claude.json").string() + ": isn't a regular file\n"));
}

TEST(Doctor, names_a_client_once_whose_file_is_the_same_for_the_project) {
  const TemporaryDirectory home;
  fs::create_directory(home.path() / ".cursor");
  std::ofstream(home.path() / ".cursor/mcp.json")
      << R"({"mcpServers": {"mine": {"command": ")" + mcpivot_binary() + R"("}}})";
  const std::string said = doctor(home.path(), "").out;
  const auto first = said.find("Cursor starts mcpivot as \"mine\"");
  ASSERT_NE(first, std::string::npos) << said;
  EXPECT_EQ(said.find("Cursor starts mcpivot", first + 1), std::string::npos) << said;
}

TEST(Doctor, finds_a_client_that_starts_another_mcpivot) {
  const TemporaryDirectory home;
  const fs::path other = home.path() / "mcpivot";
  std::ofstream(other) << "#!/bin/sh\n";
  fs::permissions(other, fs::perms::owner_all);
  std::ofstream(home.path() / ".claude.json") << R"({"mcpServers": {"this": {"command": ")" +
                                                     mcpivot_binary() + R"("}, "that": {"command": ")" +
                                                     other.string() + R"("}}})";
  const Outcome said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_THAT(said.out, HasSubstr("ok    Claude Code starts mcpivot as \"this\""));
  EXPECT_THAT(said.out, HasSubstr("look  Claude Code starts " + other.string() + " as \"that\""));
  EXPECT_EQ(said.exit_code, 0);
}

std::string with_port(std::string text, int port) {
  for (auto at = text.find("PORT"); at != std::string::npos; at = text.find("PORT"))
    text.replace(at, 4, std::to_string(port));
  return text;
}

TEST(Doctor, names_the_process_that_holds_a_daemons_port) {
  const TemporaryDirectory home;
  const int port = free_port();
  Daemon stranger(port,
                  {"node", "-e",
                   with_port("require('http').createServer((q, a) => { a.statusCode = 501; a.end('no'); })"
                             ".listen(PORT, '127.0.0.1')",
                             port)});
  stranger.start();
  const Outcome said = doctor(home.path(), with_port(R"({"mcpServers": {
    "app": {"url": "http://127.0.0.1:PORT/mcp", "start_command": "touch started"}}})",
                                                     port));
  const std::string pid = std::to_string(stranger.child().pid());
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, HasSubstr(with_port("BAD   app: port PORT is held by pid ", port) + pid));
  EXPECT_THAT(said.out, AllOf(HasSubstr("createServer"), HasSubstr("501"), HasSubstr("(kill " + pid + ")"),
                              HasSubstr("\"start_command\"")));
  EXPECT_FALSE(fs::exists(home.path() / "started"));
}

TEST(Doctor, accepts_a_daemon_that_is_not_started_yet) {
  const TemporaryDirectory home;
  const int port = free_port();
  const Outcome away = doctor(home.path(), with_port(R"({"mcpServers": {
    "app": {"url": "http://localhost:PORT/mcp", "start_command": "touch started"}}})",
                                                     port));
  EXPECT_EQ(away.exit_code, 0) << away.out;
  EXPECT_THAT(away.out, AllOf(HasSubstr(with_port("look  app: nothing listens on port PORT now", port)),
                              HasSubstr("with: touch started")));
  EXPECT_FALSE(fs::exists(home.path() / "started"));
  const Outcome nobodys = doctor(home.path(), with_port(R"({"mcpServers": {
    "app": {"url": "http://localhost:PORT/mcp"}}})",
                                                        port));
  EXPECT_EQ(nobodys.exit_code, 1);
  EXPECT_THAT(nobodys.out, AllOf(HasSubstr("BAD   app: nothing listens on port "), HasSubstr("Start it")));
}

TEST(Doctor, reports_the_era_and_version_of_each_server) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {
    "good": {"command": "${FAKE}", "args": ["--version", "3.4.5"]},
    "neither": {"command": "${FAKE}", "args": ["--refuse", "initialize=Unsupported protocol version"]}}})");
  EXPECT_THAT(said.out, HasSubstr("protocol 2025-11-25 (legacy era), version 3.4.5"));
  EXPECT_THAT(said.out,
              HasSubstr("BAD   neither: the server rejected `initialize`: Unsupported protocol version"));
}

TEST(Doctor, tries_a_server_that_exits_in_one_era_in_the_other) {
  const TemporaryDirectory home;
  const Outcome said = doctor(home.path(), R"({"mcpServers": {
    "modern": {"command": "${FAKE}", "args": ["--era", "modern", "--die", "before-initialize"]},
    "pinned": {"command": "${FAKE}", "era": "legacy", "args": ["--era", "modern", "--die", "before-initialize"]},
    "late": {"command": "${FAKE}", "args": ["--die", "after-initialize", "--how", "7", "--tap", "tap"]}}})");
  EXPECT_THAT(said.out, HasSubstr("ok    modern: ready in "));
  EXPECT_THAT(said.out, HasSubstr("protocol 2026-07-28 (modern era)"));
  EXPECT_THAT(said.out, HasSubstr("BAD   pinned: it exited with code 1 before it was ready"));
  EXPECT_THAT(said.out, HasSubstr("BAD   late: it exited with code 7 before it was ready"));
  EXPECT_THAT(content_of(home.path() / "tap"), Not(HasSubstr("server/discover"))) << "it had taken its era";
}

TEST(Doctor, ignores_a_running_mcpivot_of_its_own_version) {
  Client client;
  client.initialize();
  client.call("echo");
  const Outcome said = doctor(client.directory(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.out, Not(HasSubstr("the running mcpivot")));
}

TEST(Doctor, warns_about_a_running_mcpivot_of_another_version) {
  const TemporaryDirectory home;
  fs::create_directories(home.path() / "run/mcpivot");
  const std::string script =  // speaks as one, of a version that never was
      "require('net').createServer((s) => s.on('data', () => s.write(JSON.stringify({jsonrpc: '2.0', id: 1, "
      "result:"
      "{pid: process.pid, version: '0.0.1', name: 'old', client: 'cursor', folder: '/', servers: []}}) + "
      "'\\n')))"
      ".listen(process.argv[1], () => console.log('listens'))";
  Child old({"node", "-e", script, home.path() / "run/mcpivot/1.sock"});
  ASSERT_EQ(old.read_line(soon()), "listens");
  const Outcome said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_THAT(said.out, AllOf(HasSubstr("look  the running mcpivot "), HasSubstr("is version 0.0.1, this is"),
                              HasSubstr("restart its client (cursor) to use this one")));
  EXPECT_EQ(said.exit_code, 0);
}

}  // namespace
}  // namespace harness
