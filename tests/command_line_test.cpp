// What the options do, and what mcpivot says about unknown ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::MatchesRegex;
using testing::Not;

mode_t mode_of(const fs::path& path) {
  struct stat info{};
  return stat(path.c_str(), &info) == 0 ? info.st_mode & 07777 : 0;
}

bool says(const fs::path& file, std::string_view text) {
  return wait_until([&] { return content_of(file).find(text) != std::string::npos; }, soon());
}

Outcome run(const Strings& arguments) {
  const TemporaryDirectory directory;
  return run_mcpivot(arguments, directory.path());
}

Client started(std::vector<std::string> options, std::vector<std::string> server = {}) {
  return Client({.options = std::move(options), .server = std::move(server)});
}

TEST(CommandLine, help_names_every_option) {
  for (const char* flag : {"--help", "-h"}) {
    const Outcome help = run({flag});
    EXPECT_EQ(help.exit_code, 0);
    EXPECT_THAT(help.err, IsEmpty());
    for (const char* word :
         {"-- COMMAND",    "version",      "--help",        "--name",        "--cwd",          "--env",
          "--max-message", "--tools-from", "--schema-args", "--result-args", "--jobs",         "--max-output",
          "check",         "--config",     "--log ",        "--log-level",   "XDG_STATE_HOME", "--url",
          "--header",      "--cacert",     "--insecure",    "--start ",      "--start-after",  "--stop"})
      EXPECT_THAT(help.out, HasSubstr(word));
  }
}

TEST(CommandLine, the_help_of_serve_mentions_the_drain) {
  EXPECT_THAT(run({"serve", "--help"}).out, HasSubstr("--drain TIME"));
}

TEST(CommandLine, every_help_fits_into_80_columns) {
  for (const char* command :
       {"", "check", "install", "uninstall", "init", "doctor", "completion", "man", "status", "reload",
        "restart", "stop", "logs", "activate", "deactivate", "tools", "call", "search"}) {
    std::vector<std::string> words = {"--help"};
    if (*command != '\0') words.insert(words.begin(), command);
    const Outcome help = run(words);
    EXPECT_EQ(help.exit_code, 0);
    std::istringstream lines(help.out);
    for (std::string line; std::getline(lines, line);)
      EXPECT_LE(std::ranges::count_if(line, [](char c) { return (c & 0xC0) != 0x80; }), 80) << line;
  }
}

TEST(CommandLine, version_is_one_line) {
  for (const char* word : {"version", "--version"}) {
    const Outcome version = run({word});
    EXPECT_EQ(version.exit_code, 0);
    EXPECT_THAT(version.out, MatchesRegex("mcpivot [0-9]+\\.[0-9]+\\.[0-9]+\n"));
    EXPECT_THAT(version.err, IsEmpty());
  }
}

TEST(CommandLine, an_unknown_word_is_an_error_with_a_hint) {
  struct Case {
    std::vector<std::string> arguments;
    std::vector<std::string> hints;
  };
  const std::vector<Case> cases = {
      {{}, {"no server", "--help"}},
      {{"--"}, {"no server", "--help"}},
      {{"--name", "x"}, {"no server", "--help"}},
      {{"--no-such-option", "--", "true"}, {"--no-such-option", "--help"}},
      {{"server.js"}, {"server.js", "--help"}},
      {{"sh", "server.sh"}, {"put \"--\" before its command: mcpivot -- sh server.sh", "--help"}},
      {{"--biuld", "make", "--", "true"}, {"mcpivot has no option --biuld. Did you mean --build?", "--help"}},
      {{"---"}, {"mcpivot has no option ---.", "--help"}},
      {{"--=x"}, {"mcpivot has no option --.", "--help"}},
      {{"sh", "-c", "echo it's"}, {"mcpivot -- sh -c 'echo it'\\''s'", "--help"}},
      {{"staus"}, {"mcpivot has no command staus. Did you mean status?", "--help"}},
      {{"logs", "--folow"},
       {"mcpivot logs has no option --folow. Did you mean --follow?", "Run mcpivot logs --help"}},
      {{"-n", "5", "logs"}, {"mcpivot has no option -n.", "--help"}},
      {{"status", "a", "b", "c"}, {"mcpivot status: unexpected arguments: b c", "--help"}},
      {{"serve", "--listen", "127.0.0.1:0", "node", "x.js"},
       {"mcpivot serve: unexpected argument: node. To run a server, put \"--\" before its command: "
        "mcpivot serve --listen 127.0.0.1:0 -- node x.js",
        "Run mcpivot serve --help"}},
      {{"--name", "a", "--name", "b", "--", "true"}, {"mcpivot: --name can be given only once", "--help"}},
      {{"call"}, {"mcpivot call: TOOL is required", "Run mcpivot call --help"}},
      {{"--watch", "--", "true"}, {"mcpivot: --watch needs a value", "--help"}},
      {{"--swap", "fast", "--", "true"}, {"mcpivot: --swap: expected overlap or stop-first, got 'fast'"}},
      {{"logs", "-n", "many"}, {"mcpivot logs: --lines: expected a number, got 'many'"}},
      {{"--jobs", "0", "--tools-from", "x"}, {"mcpivot: --jobs: expected a number from 1 to 10000, got 0"}},
      {{"--max-output", "lots", "--tools-from", "x"}, {"mcpivot: --max-output: expected a size like 500kB"}},
      {{"--max-output", "1kB", "--tools-from", "x"},
       {"mcpivot: --max-output: expected a number from 1024", "got 1000"}},
      {{"serve", "--lisen", "127.0.0.1:1"}, {"Did you mean --listen?", "--help"}},
      {{"--env", "--", "true"}, {"--env", "--help"}},
      {{"--env", "WITHOUT", "--", "true"}, {"--env", "KEY=VALUE", "WITHOUT", "--help"}},
      {{"--env", "=value", "--", "true"}, {"--env", "KEY=VALUE", "=value", "--help"}},
      {{"--log-level", "loud", "--", "true"}, {"--log-level", "loud", "info", "--help"}},
      {{"--max-message", "much", "--", "true"}, {"--max-message", "much", "--help"}},
      {{"--max-message", "10", "--", "true"}, {"--max-message", "10", "--help"}},
      {{"--max-message", "-1", "--", "true"}, {"--max-message", "--help"}},
      {{"--max-message", "100TB", "--", "true"}, {"--max-message", "--help"}},
      {{"--tools-from", "cli", "--", "true"}, {"--tools-from", "\"--\"", "--help"}},
      {{"--tools-from", "cli 'x"}, {"--tools-from", "' is not closed", "--help"}},
      {{"--tools-from", " "}, {"--tools-from", "expected a command", "--help"}},
      {{"--jobs", "3", "--", "true"}, {"--jobs", "--tools-from", "--help"}},
      {{"--tools-from", "cli", "--jobs", "0"}, {"--jobs", "--help"}},
      {{"--tools-from", "cli", "--max-output", "1"}, {"--max-output", "--help"}},
      {{"--tools-from", "cli", "--replay", "x"}, {"--replay", "keeps no state", "--help"}},
      {{"--tools-from", "cli", "--drain", "1s"}, {"--drain", "always finish", "--help"}},
      {{"--tools-from", "cli", "--swap", "stop-first"}, {"--swap", "--help"}},
      {{"--url", "localhost:8080"}, {"--url", "http://", "--help"}},
      {{"--url", "http://me:secret@h/"}, {"--url", "--header"}},
      {{"--url", "http://h/", "--", "true"}, {"--url", "not both"}},
      {{"--url", "http://h/", "--header", "nonsense"}, {"--header", "Name: value"}},
      {{"--url", "http://h/", "--cacert", "/dev/null"}, {"--cacert", "https"}},
      {{"--url", "https://h/", "--cacert", "/no/such/file"}, {"--cacert", "/no/such/file"}},
      {{"--url", "http://h/", "--insecure"}, {"--insecure", "https"}},
      {{"--url", "http://h/", "--start-after", "5s"}, {"--start-after", "--start"}},
      {{"--url", "http://h/", "--watch", "*.c"}, {"--watch", "--build"}},
      {{"--url", "http://h/", "--swap", "stop-first"}, {"--swap", "daemon"}},
      {{"--header", "A: b", "--", "true"}, {"--header", "--url"}},
      {{"--start", "x", "--", "true"}, {"--start", "--url"}},
  };
  for (const auto& [arguments, hints] : cases) {
    SCOPED_TRACE(testing::PrintToString(arguments));
    const Outcome wrong = run(arguments);
    EXPECT_EQ(wrong.exit_code, 2);
    EXPECT_THAT(wrong.out, IsEmpty()) << "stdout belongs to the protocol";
    for (const std::string& hint : hints) EXPECT_THAT(wrong.err, HasSubstr(hint));
  }
}

TEST(CommandLine, env_overrides_the_environment_of_the_server) {
  Client client({.options = {"--env", "ADDED=a=b c", "--env", "CHANGED=new", "--env", "EMPTY="},
                 .environment = {{"CHANGED", "old"}, {"KEPT", "kept"}}});
  client.initialize();
  EXPECT_EQ(client.call_text("env", {{"name", "ADDED"}}), "a=b c");
  EXPECT_EQ(client.call_text("env", {{"name", "CHANGED"}}), "new");
  EXPECT_EQ(client.call_text("env", {{"name", "EMPTY"}}), "");
  EXPECT_EQ(client.call_text("env", {{"name", "KEPT"}}), "kept");
}

TEST(CommandLine, values_of_env_are_not_logged) {
  Client client = started({"--env", "TOKEN=sesame-open", "--log", "log", "--log-level", "debug"});
  client.initialize();
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  EXPECT_THAT(content_of(client.directory() / "log"), AllOf(Not(IsEmpty()), Not(HasSubstr("sesame-open"))));
}

TEST(CommandLine, cwd_is_where_the_server_runs) {
  const TemporaryDirectory directory;
  Client absolute = started({"--cwd", directory.path()});
  EXPECT_EQ(fs::canonical(absolute.call_text("cwd")), fs::canonical(directory.path()));
  Client relative = started({"--cwd", ".."});
  EXPECT_EQ(fs::canonical(relative.call_text("cwd")), fs::canonical(relative.directory().parent_path()));
  Client none = started({});
  EXPECT_EQ(fs::canonical(none.call_text("cwd")), fs::canonical(none.directory()));
}

TEST(CommandLine, a_relative_command_is_found_from_cwd) {
  const fs::path server = fake_server_binary();
  Client client({.options = {"--cwd", server.parent_path()}, .command = {"./" + server.filename().native()}});
  EXPECT_EQ(client.call_text("echo", {{"text", "found"}}), "found");
}

TEST(CommandLine, name_is_used_in_errors_and_the_log) {
  Client named = started({"--name", "my \"dev\" server"});
  EXPECT_THAT(text_of(named.call("crash")), HasSubstr("my \"dev\" server"));
  EXPECT_TRUE(says(named.directory() / "state/mcpivot/my \"dev\" server.log", "SIGABRT"));
  Client unnamed = started({});
  EXPECT_THAT(text_of(unnamed.call("crash")), HasSubstr("\"fake_server\""));
}

TEST(CommandLine, a_name_cannot_move_the_log_out_of_its_folder) {
  for (const std::string name : {"../../escaped", "/escaped", "..", "."}) {
    SCOPED_TRACE(name);
    Client client = started({"--name", name});
    client.initialize();
    std::size_t logs = 0;
    for (const auto& entry : fs::recursive_directory_iterator(client.directory()))
      if (entry.is_regular_file() && entry.path().extension() != ".json") {
        EXPECT_EQ(entry.path().parent_path(), client.directory() / "state/mcpivot");
        ++logs;
      }
    EXPECT_EQ(logs, 1U);
  }
}

TEST(CommandLine, what_follows_the_dashes_belongs_to_the_server) {
  Client client = started({"--name", "outer"}, {"--name", "inner", "--instructions", "--cwd"});
  EXPECT_EQ(client.call_text("args"), R"(["--name","inner","--instructions","--cwd"])");
}

TEST(CommandLine, the_log_records_the_servers_life) {
  Client client = started({"--log", "folder/own.log"});
  client.call("crash");
  const fs::path log = client.directory() / "folder/own.log";
  EXPECT_TRUE(says(log, "SIGABRT"));
  EXPECT_THAT(content_of(log), AllOf(HasSubstr("fake_server"), HasSubstr("started"), HasSubstr("pid ")));
  EXPECT_EQ(mode_of(log), 0600U);
  EXPECT_FALSE(fs::exists(client.directory() / "state")) << "one log is enough";
}

TEST(CommandLine, the_log_is_private_in_the_users_state_folder) {
  Client client = started({});
  client.initialize();
  const fs::path log = client.directory() / "state/mcpivot/fake_server.log";
  EXPECT_TRUE(says(log, "started"));
  EXPECT_EQ(mode_of(log), 0600U);
  EXPECT_EQ(mode_of(log.parent_path()), 0700U);

  for (const char* state : {"", "relative/is/not/allowed"}) {
    Client at_home({.environment = {{"XDG_STATE_HOME", state}}});
    at_home.initialize();
    EXPECT_TRUE(says(at_home.directory() / ".local/state/mcpivot/fake_server.log", "started"));
  }
}

TEST(CommandLine, without_a_home_folder_the_log_is_in_a_private_folder_among_the_temporary_files) {
  const TemporaryDirectory directory;
  Client client({.environment = {{"HOME", ""}, {"XDG_STATE_HOME", ""}, {"TMPDIR", directory.path()}}});
  client.initialize();
  const fs::path log = directory.path() / ("mcpivot-" + std::to_string(geteuid())) / "fake_server.log";
  EXPECT_TRUE(says(log, "started"));
  EXPECT_EQ(mode_of(log.parent_path()), 0700U);
}

// Otherwise that user could choose a file of ours that mcpivot writes to.
TEST(CommandLine, nothing_is_logged_to_a_folder_that_another_user_may_have_made) {
  const TemporaryDirectory directory;
  const fs::path ours = directory.path() / "ours";
  std::ofstream(ours) << "precious";
  const fs::path folder = directory.path() / ("mcpivot-" + std::to_string(geteuid()));
  fs::create_directory(folder);
  fs::create_symlink(ours, folder / "fake_server.log");
  fs::permissions(folder, fs::perms::all);
  Client client({.environment = {{"HOME", ""}, {"XDG_STATE_HOME", ""}, {"TMPDIR", directory.path()}}});
  client.initialize();
  EXPECT_TRUE(client.child().wait_stderr("no log file: ", soon()));
  EXPECT_EQ(content_of(ours), "precious");
}

TEST(CommandLine, the_log_rotates_and_stays_private) {
  Client client = started({"--log-level", "trace"});
  client.initialize();
  const fs::path log = client.directory() / "state/mcpivot/fake_server.log";
  const std::string text(300'000, 'x');
  for (int i = 0; i < 20; ++i) client.call("echo", {{"text", text}});
  std::uintmax_t total = 0;
  std::size_t files = 0;
  for (const auto& entry : fs::directory_iterator(log.parent_path())) {
    EXPECT_EQ(mode_of(entry.path()), 0600U) << entry.path();
    total += entry.file_size();
    ++files;
  }
  EXPECT_GT(files, 1U);
  EXPECT_LT(total, 6'000'000U) << "of about 24 MB that were logged";
}

// Through a link in a folder of the test's own: were the device taken for a file and rotated away or closed
// to others, it would not be the machine's.
TEST(CommandLine, a_device_used_as_the_log_stays_a_device) {
  const TemporaryDirectory directory;
  const fs::path device = directory.path() / "null";
  fs::create_symlink("/dev/null", device);
  const mode_t before = mode_of(device);
  Client client = started({"--log", device, "--log-level", "trace"});
  client.initialize();
  for (int i = 0; i < 10; ++i) client.call("echo", {{"text", std::string(300'000, 'x')}});
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  EXPECT_TRUE(fs::is_symlink(device));
  EXPECT_TRUE(fs::is_character_file(device));
  EXPECT_EQ(mode_of(device), before);
  EXPECT_EQ(std::distance(fs::directory_iterator(directory.path()), fs::directory_iterator()), 1);
}

TEST(CommandLine, a_log_that_cannot_be_written_is_only_a_warning) {
  Client client = started({"--log", "/dev/null/impossible.log"});
  EXPECT_TRUE(client.child().wait_stderr("impossible.log", soon()));
  EXPECT_EQ(client.call_text("echo", {{"text", "goes on"}}), "goes on");

  Client homeless({.environment = {{"XDG_STATE_HOME", "/dev/null"}}});
  EXPECT_TRUE(homeless.child().wait_stderr("log", soon()));
  EXPECT_EQ(homeless.call_text("echo", {{"text", "goes on"}}), "goes on");
}

TEST(CommandLine, trace_logs_every_message_and_other_levels_none) {
  for (const std::string level : {"trace", "debug", "info", "warn", "error", "off"}) {
    SCOPED_TRACE(level);
    Client client = started({"--log", "log", "--log-level", level});
    client.initialize();
    client.call("echo", {{"text", "a needle"}});
    client.child().close_stdin();
    ASSERT_TRUE(client.child().wait_exit(soon()));
    const std::string log = content_of(client.directory() / "log");
    if (level == "trace") {
      // Both ways on both sides.
      std::size_t seen = 0;
      for (std::size_t at = 0; (at = log.find("a needle", at)) != std::string::npos; ++at) ++seen;
      EXPECT_EQ(seen, 4U) << log;
    } else {
      EXPECT_THAT(log, Not(HasSubstr("a needle")));
    }
    EXPECT_EQ(log.empty(), level == "off" || level == "error" || level == "warn");
  }
}

TEST(CommandLine, max_message_accepts_units) {
  struct Case {
    const char* text;
    const char* bytes;
  };
  for (const auto& [text, bytes] : {Case{"3000", "3000"}, Case{"3kB", "3000"}, Case{"3KB", "3000"},
                                    Case{"2KiB", "2048"}, Case{"8MB", "8000000"}}) {
    SCOPED_TRACE(text);
    Client client = started({"--max-message", text});
    client.initialize();
    EXPECT_THAT(text_of(client.call("big", {{"bytes", std::stol(bytes)}})),
                HasSubstr("limit of " + std::string(bytes) + ";"));
    EXPECT_EQ(own(client, "big", {{"bytes", std::stol(bytes) - 200}}).size(), std::stoul(bytes) - 200);
  }
}

}  // namespace
}  // namespace harness
