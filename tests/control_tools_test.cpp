// The tools that mcpivot adds: what they say, what they end, and what they are called for users of its
// predecessors.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// A program of the user's own: a copy of the fake server.
class OwnProgram {
 public:
  OwnProgram() : path_(folder_.path() / "my-server") { replace(); }
  // As a linker does it: the old file is removed and a new one created.
  void replace() const {
    fs::remove(path_);
    fs::copy_file(fake_server_binary(), path_);
  }
  std::string path() const { return path_; }

 private:
  TemporaryDirectory folder_;
  fs::path path_;
};

// ---- Stop.

TEST(Stop, ends_every_process_that_runs_the_same_program) {
  const OwnProgram program;
  Child polite({program.path()});
  Child stubborn({program.path(), "--ignore-term"});
  Child stranger({fake_server_binary()});
  for (Child* child : {&polite, &stubborn, &stranger}) {  // it runs, and its signal handlers are installed
    child->send_line(R"({"jsonrpc":"2.0","id":1,"method":"ping"})");
    ASSERT_TRUE(child->read_line(soon()));
  }
  Client client({.command = {program.path()}});
  client.initialize();
  const pid_t server = server_pid(client);

  const std::string words = client.call_text("pivot_restart", {{"stop", true}});
  EXPECT_THAT(
      words, AllOf(HasSubstr("stopped: it "), HasSubstr(program.path()),
                   HasSubstr("pid " + std::to_string(polite.pid())),
                   HasSubstr("pid " + std::to_string(stubborn.pid())), HasSubstr("The next call starts it")));
  EXPECT_FALSE(process_alive(server));
  EXPECT_TRUE(polite.wait_exit(soon()));
  EXPECT_TRUE(stubborn.wait_exit(soon()));
  EXPECT_TRUE(process_alive(stranger.pid())) << "the same program, but another file";
  EXPECT_NO_THROW(std::ofstream(program.path(), std::ios::app).exceptions(std::ios::failbit))
      << "the file is still held";
  EXPECT_EQ(own(client, "echo", {{"text", "again"}}), "again");
}

TEST(Stop, spares_other_processes_if_the_command_is_an_interpreter) {
  const OwnProgram program;
  const Child other({program.path()});
  Client client({.command = {"sh", "-c", "exec " + program.path()}});
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_restart", {{"stop", true}}), Not(HasSubstr("Also ended")));
  EXPECT_TRUE(process_alive(other.pid()));
}

TEST(Stop, of_a_server_that_is_not_running_still_frees_its_program) {
  const OwnProgram program;
  Client client({.command = {program.path()}});
  client.initialize();
  client.call("pivot_restart", {{"stop", true}});
  Child other({program.path()});
  const std::string words = client.call_text("pivot_restart", {{"stop", true}});
  EXPECT_THAT(words, AllOf(HasSubstr("it was not running"), HasSubstr(std::to_string(other.pid()))));
  EXPECT_TRUE(other.wait_exit(soon()));
}

TEST(Stop, answers_every_caller_that_waited_for_a_new_generation) {
  Client client({.options = {"--build", "true"},
                 .command = {"sh", "-c", "[ ! -e gate ] || cat gate; exec " + fake_server_binary()}});
  client.initialize();
  Gate gate(client.directory() / "gate");
  const auto restart = client.send_call("pivot_restart");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto rebuild = client.send_call("pivot_rebuild");  // too late for the current round
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", true}})));
  for (const auto waiting : {restart, rebuild})
    EXPECT_THAT(text_of(client.await(waiting)), HasSubstr("was stopped on request"));
}

// ---- Status.

TEST(Arguments, of_a_wrong_type_are_rejected_and_nothing_is_done) {
  Client client({.own_program = true});
  client.initialize();
  const pid_t pid = server_pid(client);
  const auto refused = [&](const char* tool, const json::value& arguments) {
    const json::object answer = client.request("tools/call", {{"name", tool}, {"arguments", arguments}});
    EXPECT_TRUE(is_error(answer)) << json::serialize(arguments);
    return text_of(answer);
  };
  EXPECT_EQ(refused("pivot_restart", {{"stop", "true"}}),
            "[mcpivot] pivot_restart: \"stop\" must be a boolean, true or false; it was the string \"true\". "
            "Nothing was done.");
  EXPECT_THAT(refused("pivot_restart", {{"stop", 1}}), HasSubstr("it was the number 1"));
  EXPECT_THAT(refused("pivot_restart", {{"server", json::array{"a"}}}),
              HasSubstr("\"server\" must be a string"));
  EXPECT_THAT(refused("pivot_restart", "stop"), HasSubstr("\"arguments\" must be an object"));
  EXPECT_THAT(refused("pivot_logs", {{"lines", "ten"}}), HasSubstr("\"lines\" must be an integer"));
  EXPECT_THAT(refused("pivot_logs", {{"generation", 1.5}}), HasSubstr("\"generation\" must be an integer"));
  EXPECT_EQ(server_pid(client), pid);
  EXPECT_FALSE(is_error(client.call("pivot_logs", {{"lines", 3.0}, {"generation", nullptr}})));
  EXPECT_FALSE(is_error(client.call("pivot_restart", {{"stop", false}})));
}

TEST(Names, a_call_of_an_unavailable_control_tool_lists_the_available_ones) {
  Client client;
  client.initialize();
  const auto words = [&](const char* tool) { return text_of(client.call(tool)); };
  EXPECT_THAT(words("pivot_activate"),
              AllOf(HasSubstr("Unknown tool: pivot_activate: there is only one server"),
                    HasSubstr("mcpivot's own tools here: pivot_restart, pivot_status, pivot_logs.")));
  EXPECT_THAT(words("pivot_rebuild"), HasSubstr("no server here has a build command"));
  EXPECT_THAT(words("pivot_nonsense"), HasSubstr("mcpivot has no such tool"));
}

TEST(Compat, texts_mention_only_tools_that_exist) {
  Client client(
      {.options = {"--compat", "mcpflow"},
       .config = R"({"mcpServers": {"alpha": {"command": "${FAKE}", "active": true, "build": "true"},
                                              "beta": {"command": "${FAKE}", "args": ["--only", "echo"]}}})"});
  const json::object hello = client.initialize();
  EXPECT_THAT(std::string(hello.at("result").at("instructions").as_string()),
              AllOf(HasSubstr("\"mcpivot activate SERVER\" in a terminal"), Not(HasSubstr("pivot_"))));
  ASSERT_TRUE(wait_until(
      [&] {
        return is_error(client.call("beta__echo")) &&
               text_of(client.call("beta__echo")).find("not active") != std::string::npos;
      },
      soon()));
  EXPECT_THAT(
      text_of(client.call("beta__echo")),
      AllOf(HasSubstr("Run \"mcpivot activate beta\" in a terminal first"), Not(HasSubstr("pivot_"))));
  EXPECT_THAT(text_of(client.call("recompile", {{"server", "beta"}})),
              HasSubstr("[mcpivot] \"beta\" has no build command."));
  EXPECT_THAT(text_of(client.call("pivot_status")), HasSubstr("mcpivot's own tools here: recompile."));
}

TEST(Status, shows_the_program_and_how_often_it_started_and_ended) {
  const OwnProgram program;
  Client client({.options = {"--no-watch"}, .command = {program.path(), "--version", "7.8.9"}});
  client.initialize();
  EXPECT_EQ(status_of(client, "version"), "7.8.9");
  EXPECT_THAT(status_of(client, "executable"),
              AllOf(HasSubstr(program.path()), HasSubstr(" MB, built "), Not(HasSubstr("newer than"))));
  EXPECT_EQ(status_of(client, "stops"), "0");
  program.replace();
  EXPECT_THAT(status_of(client, "executable"), HasSubstr("the file is newer than what is running"));

  kill(server_pid(client), SIGKILL);
  client.call("echo");
  EXPECT_THAT(status_of(client, "executable"), Not(HasSubstr("newer than")));
  EXPECT_EQ(status_of(client, "killed from outside"), "1");
  EXPECT_EQ(status_of(client, "crashes"), "0");
  client.call("crash");
  client.call("echo");
  EXPECT_EQ(status_of(client, "crashes"), "1");
  client.call("pivot_restart");
  EXPECT_TRUE(wait_status(client, "stops", "1"));
  EXPECT_THAT(status_of(client, "last stop"), HasSubstr("a new generation took its place, at 20"));
}

TEST(ControlTools, any_name_selects_the_only_server) {
  Client client;
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_status", {{"server", "my-server"}}), HasSubstr("state: ready"));
  EXPECT_THAT(client.call_text("pivot_restart", {{"server", "my-server"}}),
              AllOf(HasSubstr("restarted: generation 2"), HasSubstr("Anything it held in memory is gone.")));
}

TEST(Notice, reports_a_replaced_program_and_its_version) {
  const OwnProgram program;
  Client client({.options = {"--no-watch"},
                 .command = {program.path(), "--lives", "lives", "--life", "3+", "--version", "2.0.0"}});
  client.initialize();
  EXPECT_THAT(client.call_text("pivot_restart"), Not(HasSubstr("binary:"))) << "it is the same as before";
  program.replace();
  EXPECT_THAT(client.call_text("pivot_restart"),
              AllOf(HasSubstr("binary: " + program.path()), HasSubstr(", built "),
                    HasSubstr("; version 1.0.0 → 2.0.0")));
}

// ---- Names.

TEST(Names, a_servers_tool_named_like_a_control_tool_has_another_name) {
  Client client({.options = {"--name", "my dev"}, .server = {"--tool", "pivot_status", "--tool", "other"}});
  client.initialize();
  const Strings tools = tools_of(client);
  EXPECT_EQ(std::ranges::count(tools, "pivot_status"), 1);
  EXPECT_THAT(tools, Contains("my_dev__pivot_status"));
  EXPECT_THAT(client.call_text("pivot_status"), HasSubstr("state: ready"));
  const std::string theirs = json::serialize(client.call("my_dev__pivot_status", {{"a", 1}}));
  EXPECT_THAT(theirs, Not(HasSubstr("error"))) << theirs;
  EXPECT_THAT(theirs, Not(HasSubstr("state: ready")));
  EXPECT_TRUE(client.child().wait_stderr("pivot_status", soon())) << "the log does not tell";
}

// ---- Tasks.

TEST(Drain, an_old_generation_stays_until_the_result_of_its_task_is_fetched) {
  Client client({.options = {"--drain", "100ms"}, .server = {"--lives", "lives"}});
  client.initialize("2025-11-25");
  const json::object begun = client.request(
      "tools/call", {{"name", "echo"}, {"arguments", json::object{}}, {"task", {{"ttl", 60000}}}});
  const json::value task = begun.at("result").at("task").at("taskId");
  const pid_t old = server_pid(client);
  client.call("pivot_restart");
  EXPECT_EQ(own(client, "state").find("\"life\":2") == std::string::npos, false);
  // Longer than the drain: the answer to this comes after that time.
  client.call("sleep", {{"ms", 200}});
  EXPECT_TRUE(process_alive(old));
  const json::object result = client.request("tasks/result", {{"taskId", task}});
  EXPECT_THAT(own_text(result), HasSubstr("the result of task-1-"));
  EXPECT_TRUE(wait_gone({old}));
}

// ---- Predecessors.

TEST(Compat, mcpflow_has_only_recompile) {
  Client client({.options = {"--compat", "mcpflow", "--build", "echo built >> builds"},
                 .server = {"--lives", "lives", "--only", "echo,crash,state"}});
  client.initialize();
  EXPECT_THAT(tools_of(client), ElementsAre("echo", "crash", "state", "recompile"));
  EXPECT_FALSE(is_error(client.call("recompile")));
  EXPECT_THAT(lines_of(client.directory() / "builds"), ElementsAre("built"));
  EXPECT_THAT(own(client, "state"), HasSubstr("\"life\":2"));
  EXPECT_TRUE(is_error(client.call("pivot_status")));
  const std::string report = text_of(client.call("crash"));
  EXPECT_THAT(report, AllOf(HasSubstr("call recompile"), Not(HasSubstr("pivot_"))));
}

TEST(Compat, mcpflow_needs_a_build) {
  Client client({.options = {"--compat", "mcpflow"}});
  EXPECT_EQ(WEXITSTATUS(client.child().wait_exit(soon()).value()), 2);
  EXPECT_TRUE(client.child().wait_stderr("--build", soon()));
}

TEST(Compat, mcp_sitter_has_its_four_tools) {
  const OwnProgram program;
  Client client({.options = {"--compat", "mcp-sitter"},
                 .command = {program.path(), "--only", "echo,stderr", "--stderr-flood", "3"}});
  client.initialize();
  EXPECT_THAT(tools_of(client), ElementsAre("echo", "stderr", "sitter_status", "sitter_kill",
                                            "sitter_binary_info", "sitter_child_stderr"));
  auto ask = [&](const char* tool) { return json::parse(client.call_text(tool)).as_object(); };
  json::object status = ask("sitter_status");
  EXPECT_EQ(status["childState"], "ready");
  EXPECT_EQ(status["childToolCount"], 2);
  EXPECT_EQ(status["spawnCount"], 1);
  EXPECT_EQ(status["previousExitCode"], nullptr);
  const json::value pid = status["childPid"];

  json::object info = ask("sitter_binary_info");
  EXPECT_EQ(info["path"], json::string(program.path()));
  EXPECT_EQ(info["sizeBytes"], fs::file_size(program.path()));

  json::object killed = ask("sitter_kill");
  EXPECT_EQ(killed["count"], 1);
  EXPECT_EQ(killed["killed"].at(0).at("pid"), pid);
  EXPECT_EQ(killed["killed"].at(0).at("relation"), "child");
  EXPECT_FALSE(process_alive(static_cast<pid_t>(pid.to_number<int>())));

  client.call("echo");
  status = ask("sitter_status");
  EXPECT_EQ(status["spawnCount"], 2);
  EXPECT_EQ(status["killCount"], 1);
  EXPECT_EQ(status["previousExitCode"], 0);
  EXPECT_EQ(status["lastKillReason"], "it was stopped on request");

  ASSERT_TRUE(wait_until(
      [&] { return client.call_text("sitter_child_stderr").find("respawn (gen 2)") != std::string::npos; },
      soon()));
  EXPECT_THAT(client.call_text("sitter_child_stderr", {{"since_spawn", true}}),
              AllOf(HasSubstr("gen 2"), Not(HasSubstr("gen 1"))));
}

}  // namespace
}  // namespace harness
