// The schema of a CLI changes, fails, disappears and returns; what works keeps working.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const json::object one = cli_tool("one", {"args", "1"});
const json::object plain = cli_tool("plain", {"print", "hello"});  // a notice is delivered once with its text
const json::object two = cli_tool("two", {"args", "2"});

// A client whose CLI is watched by its schema file, with a log to wait for.
Client watching(const FakeCli& cli, Strings more = {}) {
  Strings options = {"--cwd", cli.folder(), "--watch", "schema.json", "--log", cli.folder() / "log"};
  options.insert(options.end(), more.begin(), more.end());
  return Client({.options = std::move(options), .tools_from = cli.command()});
}

bool log_says(const FakeCli& cli, const std::string& text) {
  return wait_for_text(cli.folder() / "log", text);
}

std::size_t count_in_log(const FakeCli& cli, const std::string& text) {
  std::size_t count = 0;
  for (const std::string& line : lines_of(cli.folder() / "log"))
    count += line.find(text) != std::string::npos;
  return count;
}

TEST(CliReload, a_changed_schema_is_used_and_announced_even_before_the_first_call) {
  FakeCli cli({one});
  Client client = watching(cli);
  client.initialize();
  cli.describe({one, two});
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), AllOf(Contains("one"), Contains("two")));
  const json::object answer = client.call("two");
  EXPECT_THAT(text_of(answer), AllOf(HasSubstr("reloaded its tools"), HasSubstr("tools: +two."),
                                     HasSubstr("after a change to schema.json")));
  EXPECT_EQ(blocks(answer), 2U);
  EXPECT_THAT(arguments_in(answer), ElementsAre("2", "--json"));
  for (const char* line : {"changed: schema.json", "schema fetched: 2 tools", "changed: tools: +two.",
                           "sent notifications/tools/list_changed"})
    EXPECT_EQ(count_in_log(cli, line), 1U) << line;
}

TEST(CliReload, a_notice_is_not_repeated_endlessly_if_every_result_is_structured) {
  FakeCli cli({one});
  Client client = watching(cli);
  client.initialize();
  cli.describe({one, two});
  client.expect_notification("notifications/tools/list_changed");
  for (int i = 0; i < 5; ++i) EXPECT_EQ(blocks(client.call("one")), 2U);
  EXPECT_EQ(blocks(client.call("one")), 1U);
}

TEST(CliReload, an_unchanged_schema_is_not_announced) {
  const FakeCli cli({one});
  Client client = watching(cli);
  client.initialize();
  cli.describe("\n" + content_of(cli.schema()));
  ASSERT_TRUE(log_says(cli, "changed: nothing"));
  EXPECT_EQ(blocks(client.call("one")), 1U);
  EXPECT_THAT(client.notifications, IsEmpty());
  EXPECT_THAT(text_of(client.call("pivot_restart")), HasSubstr("unchanged")) << "who asks is told";
  EXPECT_EQ(blocks(client.call("one")), 1U);
}

TEST(CliReload, a_changed_template_applies_even_if_the_list_is_the_same) {
  FakeCli cli({one});
  Client client = watching(cli);
  client.initialize();
  cli.describe({cli_tool("one", {"args", "other"})});
  ASSERT_TRUE(log_says(cli, "changed: nothing"));
  EXPECT_THAT(arguments_in(client.call("one")), ElementsAre("other", "--json"));
}

TEST(CliReload, a_failing_schema_keeps_the_last_good_one_and_the_next_result_says_why) {
  struct Case {
    std::string schema;
    std::string told;
  };
  const std::vector<Case> cases = {
      {"!stderr SyntaxError: line 3\n!exit 1", "exited with code 1"},
      {"!stderr SyntaxError: line 3\n!hang", "was stopped after 1 s, its time limit (--start-timeout)"},
      {"!stderr SyntaxError: line 3\nTraceback: no JSON here", "no JSON"},
      {"!stderr SyntaxError: line 3\n[1, 2]", R"(expected {"tools":[…]}, got an array)"},
      {"!stderr SyntaxError: line 3\n{\"tools\":[{\"name\":\"x\"}]}",
       "tools[0] \"x\": cli_command: expected an array"},
  };
  for (const Case& bad : cases) {
    SCOPED_TRACE(bad.told);
    FakeCli cli({plain});
    Client client = watching(cli, {"--start-timeout", "1s"});
    client.initialize();
    cli.describe(bad.schema);
    ASSERT_TRUE(log_says(cli, "generation 2 failed"));
    const json::object answer = client.call("plain");
    EXPECT_THAT(text_of(answer),
                AllOf(HasSubstr(bad.told), HasSubstr("SyntaxError: line 3"), HasSubstr("is still serving")));
    EXPECT_EQ(own_text(answer), "hello");
    EXPECT_EQ(blocks(client.call("plain")), 1U) << "told once";
    EXPECT_THAT(client.notifications, IsEmpty());
    cli.describe({two});
    client.expect_notification("notifications/tools/list_changed");
    EXPECT_THAT(tools_of(client), AllOf(Contains("two"), Not(Contains("plain"))));
  }
}

TEST(CliReload, a_client_can_connect_even_if_the_first_schema_fails) {
  FakeCli cli;
  cli.describe("!stderr cannot import yaml\n!exit 1");
  Client client = watching(cli);
  const json::object hello = client.initialize();
  EXPECT_THAT(std::string(hello.at("result").at("instructions").as_string()),
              AllOf(HasSubstr("exited with code 1"), HasSubstr("cannot import yaml")));
  cli.describe({one});
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), Contains("one"));
}

TEST(CliReload, only_a_tool_with_an_error_is_left_out) {
  const FakeCli cli({one, {{"name", "bad"}, {"cli_command", {"{nowhere}"}}}});
  Client client = cli.client();
  client.initialize();
  EXPECT_THAT(tools_of(client), AllOf(Contains("one"), Not(Contains("bad"))));
  EXPECT_THAT(status_of(client, "tools left out"), testing::StartsWith("1 mistake in the schema"));
  EXPECT_THAT(client.call_text("pivot_logs"), HasSubstr("tools[1] \"bad\": cli_command: {nowhere}"));
}

TEST(CliReload, a_change_while_the_schema_is_being_read_is_not_lost) {
  FakeCli cli({one});
  Client client = watching(cli);
  client.initialize();
  Gate gate(cli.folder() / "gate");
  cli.describe("!wait " + (cli.folder() / "gate").string() + "\n{\"tools\":[" + json::serialize(plain) +
               "]}");
  ASSERT_TRUE(gate.wait_for_visitor());
  cli.describe({two});
  gate.open();
  EXPECT_TRUE(wait_until([&] { return tools_of(client).front() == "two"; }, soon()));
}

TEST(CliReload, a_call_in_flight_finishes_despite_a_reload) {
  const json::object wait = cli_tool("wait", {"wait", "gate"});
  FakeCli cli({one, wait});
  Client client = watching(cli, {"--jobs", "1"});
  client.initialize();
  Gate gate(cli.folder() / "gate");
  const std::int64_t id = client.send_call("wait");
  ASSERT_TRUE(gate.wait_for_visitor());
  cli.describe({two});
  client.expect_notification("notifications/tools/list_changed");
  // The limit is shared by all generations.
  const std::int64_t next = client.send_call("two");
  EXPECT_TRUE(wait_until(
      [&] { return status_of(client, "runs").find("1 running, 1 waiting") != std::string::npos; }, soon()));
  EXPECT_EQ(status_of(client, "draining"), "1");
  gate.open();
  const json::object answer = client.await(id);
  EXPECT_FALSE(is_error(answer));
  EXPECT_EQ(own_text(answer), "waited");
  EXPECT_THAT(arguments_in(client.await(next)), ElementsAre("2", "--json"));
  EXPECT_TRUE(wait_status(client, "draining", "0"));
  EXPECT_THAT(status_of(client, "runs"), testing::StartsWith("2, at most ")) << "counts go on";
}

// ---- What is watched automatically.

// A script in its own folder, which imports its tool's name from a module next to it.
void write_script(const fs::path& folder, const std::string& name) {
  const auto fresh = folder / "fresh";
  std::ofstream(fresh) << "#!/bin/sh\n. \"${0%/*}/name.sh\"\n"
                          "case $1 in\n"
                          "  schema) echo \"{\\\"tools\\\":[{\\\"name\\\":\\\"$name-"
                       << name
                       << "\\\",\\\"cli_command\\\":[\\\"run\\\"]}]}\" ;;\n"
                          "  run) echo \"$name "
                       << name << "\" ;;\nesac\n";
  fs::permissions(fresh, fs::perms::owner_all);
  fs::rename(fresh, folder / "cli");
}

TEST(CliWatch, watches_a_script_and_its_folder) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "name.sh") << "name=a\n";
  write_script(folder.path(), "x");
  Client client({.tools_from = folder.path() / "cli"});
  client.initialize();
  EXPECT_THAT(tools_of(client), Contains("a-x"));
  write_script(folder.path(), "y");
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(client), AllOf(Contains("a-y"), Not(Contains("a-x"))));
  std::ofstream(folder.path() / "name.sh") << "name=b\n";
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_EQ(own(client, "b-y"), "b y");
}

TEST(CliWatch, notices_a_program_that_is_deleted_and_comes_back) {
  FakeCli cli({one});
  const fs::path program = cli.folder() / "cli";
  fs::copy_file(fake_cli_binary(), program);
  Client client({.tools_from = program.string() + " " + cli.schema().string()});
  client.initialize();
  EXPECT_THAT(arguments_in(client.call("one")), ElementsAre("1", "--json"));
  fs::remove(program);
  const json::object gone = client.call("one");
  EXPECT_TRUE(is_error(gone));
  EXPECT_THAT(own_text(gone), AllOf(HasSubstr("was not run"), HasSubstr("No such file")));
  EXPECT_THAT(tools_of(client), Contains("one")) << "the last good catalog stays";
  cli.describe({one, two});
  fs::copy_file(fake_cli_binary(), cli.folder() / "fresh");
  fs::rename(cli.folder() / "fresh", program);
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(arguments_in(client.call("two")), ElementsAre("2", "--json"));
}

TEST(CliWatch, notices_a_program_that_is_replaced_while_it_runs) {
  FakeCli cli({one, cli_tool("wait", {"wait", "gate"})});
  const fs::path program = cli.folder() / "cli";
  fs::copy_file(fake_cli_binary(), program);
  Client client({.tools_from = program.string() + " " + cli.schema().string()});
  client.initialize();
  Gate gate(client.directory() / "gate");
  const std::int64_t id = client.send_call("wait");
  ASSERT_TRUE(gate.wait_for_visitor());
  cli.describe({two});
  fs::copy_file(fake_cli_binary(), cli.folder() / "fresh");
  fs::rename(cli.folder() / "fresh", program);
  client.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(arguments_in(client.call("two")), ElementsAre("2", "--json"));
  gate.open();
  EXPECT_EQ(own_text(client.await(id)), "waited");
}

}  // namespace
}  // namespace harness
