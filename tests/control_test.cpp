// A running mcpivot can be queried and controlled from any terminal of the same user.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <cstring>
#include <fstream>
#include <thread>

#include "daemons.h"
#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Runs `mcpivot ARGUMENTS` where it finds this client's mcpivot.
Outcome run(Client& client, const Strings& arguments) {
  return run_mcpivot(arguments, client.directory());
}

std::vector<fs::path> sockets(const fs::path& directory) {
  std::vector<fs::path> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(directory / "run/mcpivot", none))
    all.push_back(entry.path());
  return all;
}

const char* const two = R"({"mcpServers": {
  "alpha": {"command": "${FAKE}", "active": true, "build": "echo building; echo done"},
  "beta": {"command": "${FAKE}", "args": ["--only", "echo"]}}})";

void wait_ready(Client& client) {
  ASSERT_TRUE(wait_until(
      [&] {
        const std::string table = run(client, {"status"}).out;
        const auto first = table.find("ready");
        return first != std::string::npos && table.find("ready", first + 1) != std::string::npos;
      },
      soon()));
}

TEST(Control, status_can_show_a_table_details_and_json) {
  Client client({.config = two});
  client.initialize();
  wait_ready(client);
  const Outcome table = run(client, {"status"});
  EXPECT_EQ(table.exit_code, 0);
  EXPECT_THAT(table.out, AllOf(HasSubstr(std::to_string(client.child().pid())), HasSubstr("alpha"),
                               HasSubstr("beta"), HasSubstr(client.directory().string())));
  EXPECT_THAT(table.out, Not(HasSubstr("\033"))) << "colour without a terminal";
  EXPECT_THAT(run(client, {"status", "bet"}).out, AllOf(HasSubstr("server: beta"), Not(HasSubstr("alpha"))));
  const json::value all = json::parse(run(client, {"status", "--json"}).out);
  ASSERT_THAT(all.as_array(), SizeIs(1));
  EXPECT_EQ(all.at(0).at("pid"), client.child().pid());
  EXPECT_EQ(all.at(0).at("servers").at(0).at("name"), "alpha");
  EXPECT_EQ(all.at(0).at("servers").at(0).at("state"), "ready");
}

TEST(Control, servers_can_be_controlled_from_a_terminal) {
  Client client({.config = two});
  client.initialize();
  wait_ready(client);
  EXPECT_THAT(run(client, {"tools", "beta"}).out, HasSubstr("beta__echo (inactive)"));
  EXPECT_EQ(run(client, {"call", "beta__echo", R"({"text":"by hand"})"}).out, "by hand\n");
  EXPECT_THAT(run(client, {"activate", "bet"}).out, HasSubstr("beta__echo"));
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("beta__echo"));
  EXPECT_EQ(run(client, {"deactivate", "beta"}).exit_code, 0);
  EXPECT_THAT(tools_of(client), Not(Contains("beta__echo")));

  const Outcome built = run(client, {"reload", "alpha", "--build"});
  EXPECT_EQ(built.exit_code, 0);
  EXPECT_THAT(built.out, HasSubstr("generation 2"));
  EXPECT_THAT(built.err, HasSubstr("building")) << "the build is not shown as it goes";
  EXPECT_THAT(run(client, {"restart", "alpha"}).out, HasSubstr("generation 3"));
  EXPECT_THAT(run(client, {"call", "alpha__fail", R"({"text":"no"})"}).exit_code, 1);
}

TEST(Control, the_model_is_told_what_a_terminal_did_and_keeps_its_notices) {
  Client client({.server = {"--name", "x"}});
  client.initialize();
  client.call("echo");
  ASSERT_EQ(run(client, {"restart"}).exit_code, 0);
  EXPECT_EQ(run(client, {"call", "echo", R"({"text":"by hand"})"}).out, "by hand\n");
  EXPECT_THAT(client.call_text("echo", {{"text", "by the model"}}),
              AllOf(HasSubstr("restarted: generation 2"), HasSubstr("(from a terminal)")));
  EXPECT_EQ(client.call_text("echo", {{"text", "once"}}), "once");
}

TEST(Control, logs_can_be_shown_and_followed) {
  Client client({.server = {"--name", "x"}});
  client.initialize();
  const Outcome nothing = run(client, {"logs"});
  EXPECT_EQ(nothing.out, "");
  EXPECT_EQ(nothing.err, "nothing on stderr yet\n");
  for (int i = 0; i < 3; ++i) client.call("stderr", {{"text", "line " + std::to_string(i)}, {"lines", 1}});
  EXPECT_TRUE(
      wait_until([&] { return run(client, {"logs"}).out.find("line 2") != std::string::npos; }, soon()));
  EXPECT_THAT(run(client, {"logs"}).out,
              testing::ContainsRegex("(^|\n)[0-2][0-9]:[0-5][0-9]:[0-6][0-9] fake_server/1 line 2\n"));
  EXPECT_THAT(run(client, {"logs", "-n", "1"}).out, AllOf(HasSubstr("line 2"), Not(HasSubstr("line 1"))));
  Child follower({mcpivot_binary(), "logs", "-f"}, private_folders(client.directory()), client.directory());
  for (const char* expected : {"line 0", "line 1", "line 2"})
    EXPECT_THAT(follower.read_line(soon()).value(), HasSubstr(expected));
  client.call("stderr", {{"text", "later"}, {"lines", 1}});
  EXPECT_THAT(follower.read_line(soon()).value(), HasSubstr("later"));
}

TEST(Control, several_running_mcpivots_are_told_apart) {
  Client first({.options = {"--name", "one"}});
  first.initialize();
  Client second({.options = {"--name", "two"},
                 .environment = {{"XDG_RUNTIME_DIR", (first.directory() / "run").string()}}});
  second.initialize();
  EXPECT_THAT(run(first, {"status", "--all"}).out, AllOf(HasSubstr("(one)"), HasSubstr("(two)")));
  const TemporaryDirectory elsewhere;
  const Environment shared{{"XDG_RUNTIME_DIR", (first.directory() / "run").string()}};
  EXPECT_THAT(run_mcpivot({"status"}, elsewhere.path(), shared).out,
              AllOf(HasSubstr("(one)"), HasSubstr("(two)")));
  const Outcome unclear = run_mcpivot({"call", "echo"}, elsewhere.path(), shared);
  EXPECT_EQ(unclear.exit_code, 1);
  EXPECT_THAT(unclear.err, AllOf(HasSubstr("--instance"), HasSubstr("(one)"), HasSubstr("(two)")));
  const std::string pid = std::to_string(second.child().pid());
  EXPECT_THAT(run(first, {"status", "--instance", pid}).out,
              AllOf(HasSubstr("(two)"), Not(HasSubstr("(one)"))));
  EXPECT_EQ(run(first, {"call", "echo", R"({"text":"x"})", "--instance", "two"}).out, "x\n");
  EXPECT_THAT(run(first, {"restart", "one"}).out, HasSubstr("generation 2")) << "only one has such a server";
}

TEST(Control, commands_apply_to_the_mcpivot_of_the_current_folder) {
  Client first({.options = {"--name", "one"}});
  first.initialize();
  Client second({.options = {"--name", "two"},
                 .environment = {{"XDG_RUNTIME_DIR", (first.directory() / "run").string()}}});
  second.initialize();
  const Environment shared{{"XDG_RUNTIME_DIR", (first.directory() / "run").string()}};
  const fs::path below = second.directory() / "src" / "deep";
  fs::create_directories(below);
  for (const fs::path& folder : {second.directory(), below}) {
    const Outcome table = run_to_end({mcpivot_binary(), "status"}, shared, folder);
    EXPECT_THAT(table.out, AllOf(HasSubstr("(two)"), Not(HasSubstr("(one)")),
                                 HasSubstr("1 more mcpivot runs in other folders")));
    const Outcome answer = run_to_end({mcpivot_binary(), "call", "cwd"}, shared, folder);
    EXPECT_EQ(answer.out, fs::canonical(second.directory()).string() + "\n");
    EXPECT_EQ(answer.err, "") << "it is clear which one is meant";
  }
  EXPECT_THAT(run(first, {"call", "cwd"}).out, HasSubstr(first.directory().string()));
}

TEST(Control, a_name_that_several_have_is_no_choice) {
  Client first({.options = {"--name", "twin"}});
  first.initialize();
  const Child second({mcpivot_binary(), "--name", "twin", "--", fake_server_binary()},
                     private_folders(first.directory()), first.directory());
  const auto said_of = [&](const std::string& name) { return run(first, {"tools", "--instance", name}).err; };
  ASSERT_TRUE(wait_until([&] { return said_of("twin").find("several") != std::string::npos; }, soon()));
  EXPECT_THAT(said_of("twin"),
              HasSubstr("several running mcpivots are called twin; choose one with --instance PID:\n"));
}

TEST(Control, with_several_in_one_folder_the_newest_is_used_and_named) {
  Client first({.options = {"--name", "one"}});
  first.initialize();
  const Environment here = private_folders(first.directory());
  Child second({mcpivot_binary(), "--name", "two", "--", fake_server_binary()}, here, first.directory());
  ASSERT_TRUE(
      wait_until([&] { return run(first, {"status"}).out.find("(two)") != std::string::npos; }, soon()));
  const Outcome said = run(first, {"tools"});
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.err,
              AllOf(HasSubstr("2 mcpivots are running in this folder"), HasSubstr("--instance PID")));
}

TEST(Control, arguments_get_the_types_of_the_tools_schema) {
  Client client;
  client.initialize();
  client.call("echo");
  EXPECT_EQ(run(client, {"call", "echo", "text=7"}).out, "7\n");
  EXPECT_EQ(run(client, {"call", "sleep", "ms=1"}).out, "slept 1 ms\n");
  EXPECT_EQ(run(client, {"call", "echo", "text:=[1]"}).out, "[1]\n");
  std::ofstream(client.directory() / "words.txt") << "from a file";
  EXPECT_EQ(run(client, {"call", "echo", "text=@words.txt"}).out, "from a file\n");
  const Outcome wrong = run(client, {"call", "sleep", "ms=soon"});
  EXPECT_EQ(wrong.exit_code, 2);
  EXPECT_THAT(wrong.err,
              AllOf(HasSubstr("ms: expected integer, got: soon"), HasSubstr("mcpivot tools sleep")));
  EXPECT_THAT(run(client, {"call", "echo", "txet=x"}).err, HasSubstr("Did you mean text?"));
  EXPECT_THAT(run(client, {"call", "pivot_logs", "lines=1"}).exit_code, 0);
}

TEST(Control, images_and_audio_are_saved_to_files) {
  Client client;
  client.initialize();
  client.call("echo");
  const Outcome said = run(client, {"call", "media"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_EQ(said.out, "saved ./media-1.png (image/png, 5 bytes)\nsaved ./media-1.wav (audio/wav, 5 bytes)\n");
  EXPECT_EQ(content_of(client.directory() / "media-1.png"), "hello");
  EXPECT_THAT(run(client, {"call", "media", "--save-to", "shots"}).out, HasSubstr("shots/media-1.wav"));
  EXPECT_EQ(content_of(client.directory() / "shots/media-1.wav"), "hello");
  EXPECT_THAT(run(client, {"call", "media", "--json"}).out, HasSubstr("\"data\":\"aGVsbG8=\""));
}

TEST(Control, a_tool_can_be_shown_with_its_arguments_and_found_by_its_purpose) {
  Client client({.config = two});
  client.initialize();
  wait_ready(client);
  const Outcome shown = run(client, {"tools", "alpha__sleep"});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("alpha__sleep, a tool of alpha"), HasSubstr("ms     integer"),
                               HasSubstr("To call it: mcpivot call alpha__sleep")));
  EXPECT_THAT(run(client, {"tools", "sleep"}).out, HasSubstr("alpha__sleep, a tool of alpha"));
  const Outcome both = run(client, {"tools", "echo"});
  EXPECT_THAT(both.out, AllOf(HasSubstr("alpha__echo  "), HasSubstr("beta__echo (inactive)  ")));
  const Outcome missing = run(client, {"tools", "alpha__slep"});
  EXPECT_EQ(missing.exit_code, 1);
  EXPECT_THAT(missing.err,
              HasSubstr("no server and no tool is called alpha__slep. Did you mean alpha__sleep?"));
  const Outcome found = run(client, {"search", "environment", "variable", "-n", "1"});
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_THAT(found.out, testing::StartsWith("alpha__env  "));
  const Outcome nothing = run(client, {"search", "zeppelin"});
  EXPECT_EQ(nothing.exit_code, 1);
  EXPECT_THAT(nothing.out, HasSubstr("no tool matches \"zeppelin\" (searched"));
}

TEST(Control, a_search_in_vain_says_how_many_tools_there_are) {
  Client client(
      {.config = R"({"mcpServers": {"only": {"command": "${FAKE}", "tools": {"allow": ["echo"]}}}})"});
  client.initialize();
  client.request("tools/list");
  EXPECT_EQ(run(client, {"search", "zeppelin"}).out,
            "no tool matches \"zeppelin\" (searched 1 tool); \"mcpivot tools\" lists them\n");
}

TEST(Control, an_unknown_tool_is_an_error_that_suggests_the_right_one) {
  Client client({.config = two});
  client.initialize();
  wait_ready(client);
  const Outcome said = run(client, {"call", "echo", "text=x"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("no tool is called echo. Did you mean alpha__echo or beta__echo?"));
  EXPECT_THAT(run(client, {"call", "alpha__ehco"}).err, HasSubstr("Did you mean alpha__echo?"));
}

TEST(Control, a_tool_of_a_server_that_can_not_be_started_is_not_denied) {
  Client client({.config = R"({"mcpServers": {
    "missing": {"command": "/no/such/program"}, "other": {"command": "${FAKE}"}}})"});
  client.initialize();
  client.request("tools/list");
  const Outcome said = run(client, {"call", "missing__echo"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err,
              HasSubstr("no tool is called missing__echo. Not available, so its tools aren't known: "
                        "missing (cannot start '/no/such/program'"));
}

TEST(Control, a_misspelt_server_is_an_error_that_suggests_the_right_one) {
  Client client({.server = {"--name", "x"}});
  client.initialize();
  for (const char* const command : {"status", "restart", "logs"}) {
    const Outcome said = run(client, {command, "fake_sevrer"});
    EXPECT_EQ(said.exit_code, 1);
    EXPECT_THAT(said.out + said.err,
                HasSubstr("no running mcpivot has a server \"fake_sevrer\". Did you mean fake_server?"));
  }
}

TEST(Control, status_shows_calls_errors_and_the_median_time) {
  Client client({.server = {"--name", "x"}});
  client.initialize();
  for (int i = 0; i < 3; ++i) client.call("echo");
  client.call("fail");
  const json::value server = json::parse(run(client, {"status", "--json"}).out).at(0).at("servers").at(0);
  EXPECT_EQ(server.at("calls"), 4);
  EXPECT_EQ(server.at("errors"), 1);
  EXPECT_GT(server.at("p50Us").to_number<int>(), 0);
  EXPECT_THAT(run(client, {"status"}).out, AllOf(HasSubstr("CALLS"), HasSubstr("ERRORS"), HasSubstr("P50")));
  EXPECT_THAT(run(client, {"status", "fake"}).out,
              AllOf(HasSubstr("calls: 4\n"), HasSubstr("errors: 1\n"), HasSubstr("p50: ")));
}

TEST(Control, status_counts_unanswered_calls_as_errors_and_only_calls_that_were_sent) {
  Client client({.options = {"--call-timeout", "300ms"}});
  client.initialize();
  client.call("crash");
  client.call("pivot_status");
  client.request("tools/list");
  const auto server = [&] {
    return json::parse(run(client, {"status", "--json"}).out).at(0).at("servers").at(0);
  };
  EXPECT_EQ(server().at("calls"), 1);
  EXPECT_EQ(server().at("errors"), 1);
  EXPECT_FALSE(server().as_object().contains("p50Us"));
  client.call("sleep", {{"ms", 60'000}});
  EXPECT_EQ(server().at("calls"), 2);
  EXPECT_EQ(server().at("errors"), 2);
}

TEST(Control, status_of_a_server_matches_pivot_status) {
  Client client;
  client.initialize();
  client.call("echo");
  const auto lines = [](const std::string& text) {
    Strings all = lines_in(text);
    std::erase_if(all, [](const std::string& line) { return line.starts_with("uptime: "); });
    return all;
  };
  const Strings model = lines(client.call_text("pivot_status"));
  EXPECT_THAT(model, testing::IsSupersetOf({"server: fake_server", "state: ready", "calls: 1"}));
  EXPECT_EQ(lines(run(client, {"status", "fake_server"}).out), model);
}

TEST(Control, an_unreachable_daemon_is_shown_as_away_without_zeros) {
  Client client({.options = {"--url", "http://127.0.0.1:1/mcp", "--name", "gone"}});
  client.send("initialize", {{"protocolVersion", "2025-06-18"},
                             {"capabilities", json::object()},
                             {"clientInfo", {{"name", "test"}, {"version", "1"}}}});
  EXPECT_TRUE(
      wait_until([&] { return run(client, {"status"}).out.find(" away ") != std::string::npos; }, soon()));
  EXPECT_THAT(run(client, {"status", "gone"}).out,
              AllOf(HasSubstr("state: away\n"), Not(HasSubstr(": 0\n"))));
}

TEST(Control, the_table_has_no_pid_of_a_daemon) {
  const FakeDaemon daemon;
  Client client({.options = {"--url", daemon.url(), "--name", "app"}});
  client.initialize();
  EXPECT_THAT(run(client, {"status"}).out, testing::ContainsRegex("app +ready +yes +1 +- "));
}

TEST(Control, the_socket_is_private_and_removed_with_mcpivot) {
  const TemporaryDirectory elsewhere;
  {
    Client client;
    client.initialize();
    client.call("echo");
    ASSERT_THAT(sockets(client.directory()), SizeIs(1));
    EXPECT_EQ(fs::status(sockets(client.directory())[0]).permissions(),
              fs::perms::owner_read | fs::perms::owner_write);
    EXPECT_EQ(fs::status(client.directory() / "run/mcpivot").permissions(), fs::perms::owner_all);
    client.child().close_stdin();
    ASSERT_TRUE(client.child().wait_exit(soon()));
    EXPECT_THAT(sockets(client.directory()), IsEmpty());
  }
}

TEST(Control, an_abandoned_socket_is_removed) {
  Client client;
  client.initialize();
  client.call("echo");
  client.child().signal(SIGKILL);
  ASSERT_TRUE(client.child().wait_exit(soon()));
  ASSERT_THAT(sockets(client.directory()), SizeIs(1));
  const Outcome said = run(client, {"status"});
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.out, HasSubstr("no mcpivot is running"));
  EXPECT_THAT(sockets(client.directory()), IsEmpty());
}

TEST(Control, a_suspended_mcpivot_is_skipped_and_delays_no_command) {
  Client client;
  client.initialize();
  client.call("echo");
  client.child().signal(SIGSTOP);
  const Outcome said = run(client, {"status"});
  client.child().signal(SIGCONT);
  EXPECT_EQ(said.exit_code, 1);
  EXPECT_THAT(said.err, HasSubstr("skipped a running mcpivot: it doesn't answer"));
  EXPECT_EQ(run(client, {"status"}).exit_code, 0);
}

TEST(Control, a_terminal_that_disconnects_mid_call_is_harmless) {
  Client client({.server = {"--name", "x"}});
  client.initialize();
  client.call("echo");
  for (int i = 0; i < 5; ++i) {
    Child caller({mcpivot_binary(), "call", "sleep", R"({"ms":600000,"steps":60000})"},
                 private_folders(client.directory()), client.directory());
    ASSERT_TRUE(wait_status(client, "in flight", "1"));
    caller.signal(SIGKILL);
    ASSERT_TRUE(caller.wait_exit(soon()));
    ASSERT_TRUE(wait_status(client, "in flight", "0")) << "nobody waits for it, and it is not cancelled";
  }
  EXPECT_EQ(own(client, "echo", {{"text", "well"}}), "well");
}

TEST(Control, nonsense_on_the_socket_is_rejected) {
  Client client;
  client.initialize();
  client.call("echo");
  ASSERT_THAT(sockets(client.directory()), SizeIs(1));
  const std::string path = sockets(client.directory())[0];
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::connect(socket, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  const std::string words = "nonsense\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"what\"}\n";
  ASSERT_EQ(::write(socket, words.data(), words.size()), static_cast<ssize_t>(words.size()));
  std::string answer;
  char piece[4096];
  while (std::ranges::count(answer, '\n') < 2) {
    const ssize_t count = ::read(socket, piece, sizeof(piece));
    ASSERT_GT(count, 0);
    answer.append(piece, static_cast<std::size_t>(count));
  }
  ::close(socket);
  EXPECT_THAT(answer, AllOf(HasSubstr("-32700"), HasSubstr("-32601")));
  EXPECT_EQ(own(client, "echo", {{"text", "on"}}), "on");
}

TEST(Control, wrong_commands_explain_what_is_wrong) {
  const TemporaryDirectory nobody;
  EXPECT_EQ(run_mcpivot({"status", "--nonsense"}, nobody.path()).exit_code, 2);
  EXPECT_EQ(run_mcpivot({"activate"}, nobody.path()).exit_code, 2);
  EXPECT_EQ(run_mcpivot({"status", "--help"}, nobody.path()).exit_code, 0);
  for (const std::vector<std::string>& command :
       {{"restart"}, std::vector<std::string>{"restart", "dev"}, {"logs", "--instance", "dev"}})
    EXPECT_THAT(run_mcpivot(command, nobody.path()).err, HasSubstr("no mcpivot is running"));
  Client client;
  client.initialize();
  client.call("echo");
  for (const char* arguments : {"[1]", "{", "7"}) {
    const Outcome wrong = run(client, {"call", "echo", arguments});
    EXPECT_THAT(wrong.err, HasSubstr("JSON object"));
    EXPECT_EQ(wrong.exit_code, 2);
  }
  EXPECT_THAT(run(client, {"call", "nothing"}).err, HasSubstr("no tool is called nothing"));
  for (const char* command : {"activate", "deactivate"}) {
    const Outcome said = run(client, {command, "fake_server"});
    EXPECT_EQ(said.exit_code, 1);
    EXPECT_THAT(said.err, HasSubstr("there is only one server, \"fake_server\", and it is always active"));
  }
  EXPECT_THAT(run(client, {"reload", "--build"}).err, HasSubstr("no server here has a build command"));
  EXPECT_THAT(run(client, {"restart", "nobody"}).err,
              HasSubstr("no running mcpivot has a server \"nobody\""));
}

// Such definitions are JSON, and pass; not every parser can make a tree of them.
TEST(Control, tools_with_odd_definitions_are_still_listed) {
  const std::string deep = std::string(60, '[') + std::string(60, ']');
  const std::string answers = R"(while read -r line; do
      id=$(printf %s "$line" | sed 's/.*"id":\([0-9]*\).*/\1/')
      case $line in
        *'"method":"initialize"'*) result='{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"x","version":"1"}}' ;;
        *'"method":"tools/list"'*) result='{"tools":[{"name":"odd","inputSchema":{"type":"object","x":)" +
                              deep +
                              R"(,"maximum":1e999}}]}' ;;
        *) continue ;;
      esac
      printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$result"
    done)";
  Client client({.command = {"/bin/sh", "-c", answers}});
  client.initialize();
  ASSERT_TRUE(
      wait_until([&] { return run(client, {"status"}).out.find("ready") != std::string::npos; }, soon()));
  const Outcome said = run(client, {"tools"});
  EXPECT_EQ(said.exit_code, 0) << said.err;
  EXPECT_THAT(said.out, HasSubstr("odd"));
}

// A socket that some other program listens on.
TEST(Control, a_malformed_answer_is_reported_as_such) {
  Client client;
  client.initialize();
  ASSERT_TRUE(
      wait_until([&] { return run(client, {"status"}).out.find("ready") != std::string::npos; }, soon()));
  const fs::path folder = client.directory() / "run/mcpivot";
  const std::string path = folder / (std::to_string(::getpid()) + ".sock");
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  ASSERT_LT(path.size(), sizeof(address.sun_path));
  std::memcpy(address.sun_path, path.c_str(), path.size());
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  ASSERT_EQ(::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  ASSERT_EQ(::listen(listener, 8), 0);
  std::thread speaker([&] {
    for (int visitor; (visitor = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC)) >= 0;
         ::close(visitor)) {
      constexpr std::string_view words = "hello\n";
      if (::send(visitor, words.data(), words.size(), MSG_NOSIGNAL) < 0) continue;
      char ignored[256];
      while (::read(visitor, ignored, sizeof(ignored)) > 0) continue;
    }
  });
  const Outcome said = run(client, {"status"});
  ::shutdown(listener, SHUT_RDWR);
  speaker.join();
  ::close(listener);
  EXPECT_EQ(said.exit_code, 0);
  EXPECT_THAT(said.out, HasSubstr("ready"));
  EXPECT_THAT(said.err, HasSubstr("its answer can't be read"));
}

}  // namespace
}  // namespace harness
