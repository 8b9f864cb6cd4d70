// The journal: what clients and servers said, written while mcpivot runs and read from any terminal.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <csignal>
#include <fstream>

#include "lives.h"
#include "terminal.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

Outcome journal(Client& client, Strings arguments) {
  arguments.insert(arguments.begin(), "journal");
  return run_mcpivot(arguments, client.directory());
}

// As deep as mcpivot allows.
json::value parsed(const std::string& text) {
  json::parse_options options;
  options.max_depth = 1024;
  return json::parse(text, {}, options);
}

json::array calls(Client& client, Strings arguments = {}) {
  arguments.emplace_back("--json");
  const Outcome outcome = journal(client, arguments);
  return outcome.exit_code == 0 ? parsed(outcome.out).as_array() : json::array();
}

// Until it has this many finished calls.
bool wait_for_calls(Client& client, std::size_t count) {
  return wait_until(
      [&] {
        std::size_t ended = 0;
        for (const json::value& call : calls(client)) ended += call.at("outcome") != "no answer" ? 1 : 0;
        return ended >= count;
      },
      soon());
}

std::string text(const json::value& value, std::string_view key) {
  return std::string(value.at(key).as_string());
}

std::vector<fs::path> files(Client& client) {
  std::vector<fs::path> all;
  std::error_code none;
  for (const auto& entry : fs::directory_iterator(client.directory() / "state/mcpivot/journal", none))
    all.push_back(entry.path());
  return all;
}

TEST(Journal, is_off_by_default) {
  Client client;
  client.initialize();
  client.call_text("echo", {{"text", "unseen"}});
  EXPECT_THAT(files(client), SizeIs(0));
  const Outcome none = journal(client, {});
  EXPECT_EQ(none.exit_code, 1);
  EXPECT_THAT(none.err, HasSubstr("there is no journal yet; turn it on with --journal"));
}

TEST(Journal, lists_calls_newest_last_and_shows_one_in_full) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "first words"}});
  client.call("fail", {{"text", "no such luck"}});
  ASSERT_TRUE(wait_for_calls(client, 2));
  const Outcome list = journal(client, {});
  EXPECT_EQ(list.exit_code, 0);
  const Strings lines = lines_in(list.out);
  ASSERT_THAT(lines, SizeIs(3)) << list.out;
  EXPECT_THAT(lines[0], AllOf(HasSubstr("ID"), HasSubstr("TOOL"), HasSubstr("TOOK"), HasSubstr("RESULT")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("echo"), HasSubstr("first words")));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("fail"), HasSubstr("failed: no such luck")));
  EXPECT_THAT(list.out, Not(HasSubstr("\033"))) << "colour without a terminal";

  const std::string id = text(calls(client).at(0), "id");
  const Outcome shown = journal(client, {"show", id});
  EXPECT_EQ(shown.exit_code, 0);
  EXPECT_THAT(shown.out, AllOf(HasSubstr("client → mcpivot"), HasSubstr("mcpivot → fake_server"),
                               HasSubstr("fake_server → mcpivot"), HasSubstr("unchanged, except for ids"),
                               HasSubstr(R"("arguments": {"text": "first words"})")));
}

TEST(Journal, shows_programs_an_answer_however_deep_it_is) {
  Client client({.options = {"--journal"}});
  client.initialize();
  std::string deep = "1";
  for (int i = 0; i < 100; ++i) deep = R"({"a":)" + deep + "}";
  client.call("echo", {{"text", "found"}, {"deep", parsed(deep)}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  EXPECT_EQ(text(calls(client).at(0).at("arguments"), "text"), "found");
}

TEST(Journal, fits_into_80_columns) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", std::string(300, 'x') + "\nsecond line\ttab"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  Terminal terminal({mcpivot_binary(), "journal"},
                    {.environment = private_folders(client.directory()), .directory = client.directory()});
  EXPECT_EQ(terminal.wait_exit(), 0);
  EXPECT_THAT(plain(terminal.shown()), HasSubstr("echo"));
  EXPECT_LE(widest(plain(terminal.shown())), 80U);
}

TEST(Journal, filters_select_calls_and_bad_ones_are_explained) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "needle in it"}});
  client.call("fail", {{"text", "bad"}});
  client.call("pivot_status");
  ASSERT_TRUE(wait_for_calls(client, 3));
  EXPECT_THAT(calls(client, {"--tool", "ech"}), SizeIs(1));
  EXPECT_THAT(calls(client, {"--server", "fake"}), SizeIs(2));
  EXPECT_THAT(calls(client, {"--errors"}), SizeIs(1));
  EXPECT_THAT(calls(client, {"needle"}), SizeIs(1));
  EXPECT_THAT(calls(client, {"--slow", "10m"}), SizeIs(0));
  EXPECT_THAT(calls(client, {"--since", "1h"}), SizeIs(3));
  EXPECT_THAT(calls(client, {"-n", "1"}), SizeIs(1));
  EXPECT_GT(calls(client, {"--all"}).size(), 3U);
  EXPECT_THAT(journal(client, {"nothing has this"}).out, HasSubstr("no call in the journal matches"));
  for (const auto& [arguments, words] : std::vector<std::pair<Strings, std::string>>{
           {{"--slow", "fast"}, "--slow: expected a duration"},
           {{"--since", "yore"}, "--since: expected a time"},
           {{"show"}, "usage: mcpivot journal show ID"},
           {{"keep"}, "usage: mcpivot journal keep ID"},
           {{"show", "zz"}, "isn't the id of a call"},
           {{"show", "99999"}, "there is no call 99999"},
           {{"--session", "none"}, "no journal is called \"none\""}}) {
    const Outcome bad = journal(client, arguments);
    EXPECT_NE(bad.exit_code, 0) << words;
    EXPECT_THAT(bad.err, HasSubstr(words));
  }
}

TEST(Journal, can_be_turned_on_and_off_while_mcpivot_runs) {
  Client client;
  client.initialize();
  client.call_text("echo", {{"text", "before"}});
  const Outcome on = journal(client, {"on"});
  EXPECT_THAT(on.out, HasSubstr("the journal is on: session "));
  client.call_text("echo", {{"text", "while"}});
  const Outcome off = journal(client, {"off"});
  EXPECT_THAT(off.out, HasSubstr("the journal is off"));
  client.call_text("echo", {{"text", "after"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  const Outcome all = journal(client, {"export"});
  EXPECT_THAT(all.out, AllOf(HasSubstr("while"), Not(HasSubstr("before")), Not(HasSubstr("after"))));
}

TEST(Journal, the_configuration_can_turn_it_on_and_name_what_to_hide) {
  Client client({.config = R"({"journal": true, "redact": ["customer-[0-9]+"],
    "mcpServers": {"dev": {"command": "${FAKE}", "env": {"API_KEY": "a\"very/secret\\key"}}}})"});
  client.initialize();
  client.call_text("echo", {{"text", "customer-42 has a\"very/secret\\key and sk-abcdefghij0123456789"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  for (const fs::path& file : files(client)) {
    EXPECT_THAT(content_of(file), AllOf(Not(HasSubstr("customer-42")), Not(HasSubstr("very/secret")),
                                        Not(HasSubstr("very\\/secret")), Not(HasSubstr("sk-abcdefghij"))));
    struct stat found{};
    ASSERT_EQ(::stat(file.c_str(), &found), 0);
    EXPECT_EQ(found.st_mode & 0777U, 0600U);
  }
  EXPECT_THAT(text(calls(client).at(0).at("arguments"), "text"),
              "[redacted] has [redacted API_KEY] and [redacted token]");
}

TEST(Journal, an_invalid_pattern_is_an_error_in_the_file) {
  const TemporaryDirectory directory;
  std::ofstream(directory.path() / "mcpivot.json")
      << "{\"redact\": [\"fine\",\n  \"([\"],\n \"mcpServers\": {\"dev\": {\"command\": \"true\"}}}";
  const Outcome checked = run_mcpivot({"check", "mcpivot.json"}, directory.path());
  EXPECT_EQ(checked.exit_code, 1);
  EXPECT_THAT(checked.out + checked.err, HasSubstr("mcpivot.json:2:3"));
}

TEST(Journal, following_does_not_block_writing) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "early"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  Child follower({mcpivot_binary(), "journal", "-f"}, private_folders(client.directory()),
                 client.directory());
  std::string seen;
  const auto read_until = [&](std::string_view part) {
    while (const auto line = follower.read_line(soon())) {
      seen += *line + "\n";
      if (line->find(part) != std::string::npos) return true;
    }
    return false;
  };
  ASSERT_TRUE(read_until("early"));
  client.call_text("echo", {{"text", "late"}});
  ASSERT_TRUE(read_until("late")) << seen;
  client.call_text("echo", {{"text", "later"}});
  ASSERT_TRUE(read_until("later")) << seen;
  follower.signal(SIGINT);
  EXPECT_TRUE(follower.wait_exit(soon()));
}

TEST(Journal, follows_with_titles_even_if_nothing_was_called_before) {
  Client client({.options = {"--journal"}});
  client.initialize();
  ASSERT_TRUE(wait_until([&] { return !files(client).empty(); }, soon()));
  Child follower({mcpivot_binary(), "journal", "-f"}, private_folders(client.directory()),
                 client.directory());
  client.call_text("echo", {{"text", "first"}});
  const auto titles = follower.read_line(soon());
  ASSERT_TRUE(titles);
  EXPECT_THAT(*titles, AllOf(HasSubstr("ID"), HasSubstr("TOOL"), HasSubstr("RESULT")));
  const auto line = follower.read_line(soon());
  ASSERT_TRUE(line);
  EXPECT_THAT(*line, HasSubstr("first"));
  follower.signal(SIGINT);
  EXPECT_TRUE(follower.wait_exit(soon()));
}

// It has the file open only while it reads, so that others can write, copy and delete it.
TEST(Journal, following_does_not_keep_the_file_open) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "early"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  Child follower({mcpivot_binary(), "journal", "-f"}, private_folders(client.directory()),
                 client.directory());
  while (const auto line = follower.read_line(soon()))
    if (line->find("early") != std::string::npos) break;
  const auto holds_it = [&] {
    std::error_code none;
    for (const auto& open : fs::directory_iterator("/proc/" + std::to_string(follower.pid()) + "/fd", none))
      if (fs::read_symlink(open.path(), none).string().find("/journal/") != std::string::npos) return true;
    return false;
  };
  EXPECT_TRUE(wait_until([&] { return !holds_it(); }, soon()));
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(holds_it());
  follower.signal(SIGINT);
  EXPECT_TRUE(follower.wait_exit(soon()));
}

TEST(Journal, knows_the_names_of_clients_that_connected_before_it_was_on) {
  Client client;
  client.initialize();
  const std::string name =
      text(json::parse(run_mcpivot({"status", "--json"}, client.directory()).out).at(0), "client");
  ASSERT_FALSE(name.empty());
  journal(client, {"on"});
  client.call_text("echo", {{"text", "mine"}});
  run_mcpivot({"call", "echo", "text=from a terminal"}, client.directory());
  ASSERT_TRUE(wait_for_calls(client, 2));
  EXPECT_EQ(text(calls(client).at(0), "client"), name);
  EXPECT_EQ(text(calls(client).at(1), "client"), "terminal");
}

TEST(Journal, counts_calls_by_tool) {
  Client client({.options = {"--journal"}});
  client.initialize();
  for (int i = 0; i < 3; ++i) client.call_text("echo", {{"text", "x"}});
  client.call("fail", {{"text", "bad"}});
  ASSERT_TRUE(wait_for_calls(client, 4));
  const json::value stats = json::parse(journal(client, {"stats", "--json"}).out);
  ASSERT_THAT(stats.as_array(), SizeIs(2));
  EXPECT_EQ(stats.at(0).at("tool"), "echo");
  EXPECT_EQ(stats.at(0).at("calls"), 3);
  EXPECT_EQ(stats.at(0).at("errors"), 0);
  EXPECT_EQ(stats.at(1).at("errors"), 1);
  EXPECT_THAT(journal(client, {"stats"}).out,
              AllOf(HasSubstr("P95"), HasSubstr("TOKENS"), HasSubstr("echo")));
}

TEST(Journal, survives_a_kill_of_mcpivot) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "remember"}});
  ASSERT_TRUE(wait_for_calls(client, 1));
  client.child().signal(SIGKILL);
  ASSERT_TRUE(client.child().wait_exit(soon()));
  EXPECT_THAT(journal(client, {}).out, HasSubstr("remember"));
}

TEST(Journal, is_complete_when_mcpivot_ends) {
  Client client({.options = {"--journal"}});
  client.initialize();
  for (int i = 0; i < 200; ++i) client.call_text("echo", {{"text", std::to_string(i)}});
  client.child().close_stdin();
  ASSERT_TRUE(client.child().wait_exit(soon()));
  EXPECT_THAT(calls(client, {"-n", "1000"}), SizeIs(200));
}

TEST(Journal, contains_the_servers_questions_and_the_clients_answers) {
  Client client({.options = {"--journal"}});
  client.initialize();
  const auto id = client.send_call("ask", {{"method", "roots/list"}});
  client.answer(client.expect_request("roots/list"), {{"roots", json::array()}});
  client.await(id);
  ASSERT_TRUE(wait_for_calls(client, 1));
  const json::array all = calls(client);
  const json::array& asked = all.at(0).at("asked").as_array();
  ASSERT_THAT(asked, SizeIs(1));
  EXPECT_EQ(asked[0].at("method"), "roots/list");
  EXPECT_EQ(json::serialize(asked[0].at("answer")), R"({"roots":[]})");
}

TEST(Journal, can_keep_calls_in_a_file_for_a_team) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "two"}});
  client.call_text("echo", {{"text", "one"}});
  client.call("pivot_status");
  ASSERT_TRUE(wait_for_calls(client, 3));
  const json::array all = calls(client);
  const Outcome kept = journal(client, {"keep", text(all.at(0), "id"), text(all.at(1), "id")});
  EXPECT_EQ(kept.exit_code, 0) << kept.err;
  EXPECT_LT(kept.out.find("\"one\""), kept.out.find("\"two\"")) << kept.out;
  EXPECT_THAT(journal(client, {"keep", text(all.at(2), "id")}).err,
              HasSubstr("which mcpivot answered itself"));
}

TEST(Journal, the_model_can_see_its_own_calls) {
  Client client({.options = {"--journal"}});
  client.initialize();
  client.call_text("echo", {{"text", "mine"}});
  EXPECT_TRUE(wait_until(
      [&] {
        const std::string said = client.call_text("pivot_logs", {{"calls", true}});
        return said.find("echo") != std::string::npos && said.find("→ mine") != std::string::npos;
      },
      soon()));
  Client other;
  other.initialize();
  EXPECT_THAT(text_of(other.call("pivot_logs", {{"calls", true}})), HasSubstr("the journal is off"));
}

TEST(Journal, a_journal_that_cannot_be_written_affects_no_call) {
  Client client;
  fs::create_directories(client.directory() / "state/mcpivot");
  std::ofstream(client.directory() / "state/mcpivot/journal") << "a file is in its place";
  client.initialize();
  journal(client, {"on"});
  EXPECT_EQ(client.call_text("echo", {{"text", "still here"}}), "still here");
  EXPECT_TRUE(client.child().wait_stderr("mcpivot keeps trying, and messages still pass", soon()));
  EXPECT_EQ(client.call_text("echo", {{"text", "and here"}}), "and here");
}

}  // namespace
}  // namespace harness
