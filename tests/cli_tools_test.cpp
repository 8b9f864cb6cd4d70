// A CLI that describes its own tools is an MCP server: what it is called with, and what it returns.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli_tools.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::AllOf;
using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const json::object text_parameter{{"text", any_string}};

// ---- What is listed.

TEST(CliTools, are_listed_in_the_format_of_mcp) {
  const json::object output{{"type", "object"}};
  const FakeCli cli({cli_tool("one", {"args", "{text}"}, text_parameter,
                              {{"title", "The first"},
                               {"annotations", {{"readOnlyHint", true}}},
                               {"outputSchema", output},
                               {"timeout", 5},
                               {"unheard", "of"}}),
                     {{"name", "two"},
                      {"cli_command", {"args"}},
                      {"inputSchema", {{"type", "object"}, {"properties", {{"x", {{"type", "number"}}}}}}}}});
  Client client = cli.client();
  const json::object hello = client.initialize();
  EXPECT_EQ(hello.at("result").at("serverInfo").at("name"), "fake_cli");
  EXPECT_EQ(hello.at("result").at("protocolVersion"), "2025-06-18");
  const json::array tools = client.request("tools/list").at("result").at("tools").as_array();
  ASSERT_GE(tools.size(), 2U);
  EXPECT_EQ(tools[0], (json::object{{"name", "one"},
                                    {"title", "The first"},
                                    {"description", "Does one."},
                                    {"outputSchema", output},
                                    {"annotations", {{"readOnlyHint", true}}},
                                    {"inputSchema", {{"type", "object"}, {"properties", text_parameter}}}}));
  EXPECT_EQ(tools[1].at("inputSchema").at("properties").at("x").at("type"), "number");
}

TEST(CliTools, a_pretty_printed_schema_with_any_spelling_of_numbers_keeps_its_meaning) {
  const FakeCli cli;
  cli.describe(
      "\n{\n  \"tools\" : [ {\n \"name\" : \"one\", \"cli_command\" : [ \"args\" ],\n \"parameters\" : "
      "{ \"properties\" : { \"n\" : { \"maximum\" : 1e3 ,\n \"default\" : 0.10 } } } } ]\n}\n");
  Client client = cli.client();
  client.initialize();
  client.child().send_line(R"({"jsonrpc":"2.0","id":"raw","method":"tools/list"})");
  EXPECT_THAT(client.child().read_line(soon()).value_or(""),
              HasSubstr(R"("n":{"maximum":1e3,"default":0.10})"));
}

TEST(CliTools, are_also_served_without_a_handshake) {
  const FakeCli cli({cli_tool("one", {"args"})});
  Client client = cli.client();
  EXPECT_THAT(names_in(client.request("tools/list"), "tools"), ElementsAre("one"));
  EXPECT_THAT(arguments_in(client.call("one")), ElementsAre("--json"));
}

TEST(CliTools, an_unknown_tool_is_an_error) {
  const FakeCli cli({cli_tool("one", {"args"})});
  Client client = cli.client();
  client.initialize();
  EXPECT_EQ(client.call("two").at("error").at("code"), -32602);
  EXPECT_EQ(client.request("no/such").at("error").at("code"), -32601);
}

// ---- What the program is called with.

TEST(CliTools, arguments_reach_the_program_unchanged) {
  const FakeCli cli({cli_tool("one", {"args", "--n", "{n}", "--o", "{o}"},
                              {{"n", {{"type", "number"}}}, {"o", {{"type", "object"}}}})});
  Client client = cli.client();
  client.initialize();
  for (const std::string number :
       {"1e3", "9007199254740993", "0.10", "1E-2", "123456789012345678901234567890"}) {
    client.child().send_line(
        R"({"jsonrpc":"2.0","id":"n","method":"tools/call","params":{"name":"one","arguments":)"
        R"({"n":)" +
        number + R"(,"o":{"a" : )" + number + "}}}}");
    EXPECT_THAT(arguments_in(client.await("n")),
                ElementsAre("--n", number, "--o", R"({"a":)" + number + "}", "--json"));
  }
}

TEST(CliTools, no_value_is_interpreted_by_a_shell_or_becomes_an_option) {
  const FakeCli cli({cli_tool("inside", {"args", "--text={text}"}, text_parameter),
                     cli_tool("flag", {"args", "--text", "{text}"}, text_parameter),
                     cli_tool("behind", {"args", "--", "{text}"}, text_parameter),
                     cli_tool("plain", {"args", "{text}"}, text_parameter)});
  Client client = cli.client();
  client.initialize();
  const Strings harmless = {"; touch hacked",
                            "$(touch hacked)",
                            "`touch hacked`",
                            "a\nb",
                            "a\n--flag",
                            "ünïcödé 🎉 \u0001",
                            "' \" \\ \t",
                            "*",
                            "",
                            "{text}",
                            "~",
                            "| cat",
                            "%s%n",
                            "@file",
                            "a=b"};
  for (const std::string& text : harmless) {
    SCOPED_TRACE(text);
    EXPECT_THAT(arguments_in(client.call("inside", {{"text", text}})),
                ElementsAre("--text=" + text, "--json"));
    EXPECT_THAT(arguments_in(client.call("flag", {{"text", text}})), ElementsAre("--text", text, "--json"));
    EXPECT_THAT(arguments_in(client.call("behind", {{"text", text}})), ElementsAre("--json", "--", text));
    EXPECT_THAT(arguments_in(client.call("plain", {{"text", text}})), ElementsAre(text, "--json"));
  }
  for (const std::string text : {"--flag", "-x", "-", "--", "--output=/etc/passwd", "-5"}) {
    SCOPED_TRACE(text);
    EXPECT_THAT(arguments_in(client.call("inside", {{"text", text}})),
                ElementsAre("--text=" + text, "--json"));
    EXPECT_THAT(arguments_in(client.call("flag", {{"text", text}})), ElementsAre("--text=" + text, "--json"));
    EXPECT_THAT(arguments_in(client.call("behind", {{"text", text}})), ElementsAre("--json", "--", text));
    const json::object refused = client.call("plain", {{"text", text}});
    EXPECT_TRUE(is_error(refused));
    EXPECT_THAT(text_of(refused), AllOf(HasSubstr("\"text\" begins with \"-\""), HasSubstr("cli_command")));
  }
  EXPECT_FALSE(fs::exists(client.directory() / "hacked"));
}

TEST(CliTools, a_value_that_cannot_be_an_argument_is_rejected_but_can_use_stdin) {
  const FakeCli cli({cli_tool("argument", {"args", "--text={text}"}, text_parameter),
                     cli_tool("input", {"stdin"}, text_parameter, {{"stdin", "<{text}>"}}),
                     cli_tool("all", {"stdin"}, text_parameter, {{"stdin", "json"}}),
                     cli_tool("unread", {"ignore-stdin"}, text_parameter, {{"stdin", "json"}})});
  Client client = cli.client();
  client.initialize();
  const std::string megabyte(1'000'000, 'm');
  const json::object too_long = client.call("argument", {{"text", megabyte}});
  EXPECT_TRUE(is_error(too_long));
  EXPECT_THAT(text_of(too_long),
              AllOf(HasSubstr("\"text\""), HasSubstr("1000007 bytes"), HasSubstr("stdin")));
  const json::object nul = client.call("argument", {{"text", json::string("a\0b", 3)}});
  EXPECT_TRUE(is_error(nul));
  EXPECT_THAT(text_of(nul), AllOf(HasSubstr("\"text\""), HasSubstr("NUL")));

  EXPECT_EQ(client.call("input", {{"text", megabyte}}).at("result").at("structuredContent").at("size"),
            1'000'002);
  EXPECT_EQ(client.call("input", {{"text", json::string("a\0b", 3)}})
                .at("result")
                .at("structuredContent")
                .at("size"),
            5);
  EXPECT_EQ(client.call("input").at("result").at("structuredContent").at("text"), "<>");
  EXPECT_EQ(client.call("all", {{"text", "x"}, {"more", 1}}).at("result").at("structuredContent").at("text"),
            R"({"text":"x","more":1})");
  EXPECT_THAT(own(client, "unread", {{"text", megabyte}}), StartsWith("did not read"));
}

TEST(CliTools, the_arguments_for_results_and_schema_can_be_configured) {
  const FakeCli cli({cli_tool("one", {"args", "x"})});
  for (const auto& [option, expected] :
       {std::pair<std::string, Strings>{"", {"x"}}, {"--format 'a b'", {"x", "--format", "a b"}}}) {
    Client client = cli.client({"--result-args", option, "--schema-args", "schema 'as it is'"});
    client.initialize();
    EXPECT_EQ(arguments_in(client.call("one")), expected);
  }
}

TEST(CliTools, each_tool_may_have_its_own_folder_and_variables) {
  const FakeCli cli(
      {cli_tool("here", {"surroundings", "COLOUR"}),
       cli_tool("there", {"surroundings", "COLOUR"}, {}, {{"cwd", "sub"}, {"env", {{"COLOUR", "red"}}}})});
  fs::create_directory(cli.folder() / "sub");
  fs::copy_file(fake_cli_binary(), cli.folder() / "cli");
  Client client({.options = {"--cwd", cli.folder(), "--env", "COLOUR=blue"},
                 .tools_from = "./cli " + cli.schema().string()});
  client.initialize();
  EXPECT_EQ(client.call("here").at("result").at("structuredContent"),
            (json::object{{"cwd", cli.folder().string()}, {"value", "blue"}}));
  EXPECT_EQ(client.call("there").at("result").at("structuredContent"),
            (json::object{{"cwd", (cli.folder() / "sub").string()}, {"value", "red"}}));
}

TEST(CliTools, wrong_arguments_are_reported_before_anything_runs) {
  const FakeCli cli({cli_tool("one", {"crowd", "ran", "{text}", "{limit}"},
                              {{"text", any_string}, {"limit", {{"type", "integer"}, {"maximum", 10}}}})});
  Client client = cli.client();
  client.initialize();
  const auto refused = [&](const json::object& arguments) {
    const json::object answer = client.call("one", arguments);
    EXPECT_TRUE(is_error(answer));
    return text_of(answer);
  };
  EXPECT_THAT(refused({{"limit", "many"}}),
              HasSubstr("limit: expected an integer of at most 10, got \"many\""));
  EXPECT_THAT(refused({{"limit", 11}}), AllOf(HasSubstr("limit: "), HasSubstr("got 11")));
  EXPECT_THAT(refused({{"tex", "x"}}), HasSubstr("tex: there is no such parameter; there are: text, limit"));
  EXPECT_FALSE(fs::exists(client.directory() / "ran"));
  client.call("one", {{"limit", 10}});
  EXPECT_TRUE(fs::exists(client.directory() / "ran"));
}

// ---- What is returned.

// The result of a tool that prints this.
json::object printed(const std::string& text, const json::object& more = {}) {
  const FakeCli cli({cli_tool("print", {"print", "{text}"}, text_parameter, more)});
  Client client = cli.client();
  client.initialize();
  return client.call("print", {{"text", text}}).at("result").as_object();
}

TEST(CliResult, a_json_object_is_text_and_structured_content) {
  const json::object result = printed("{ \"a\": [1, 2],\n \"b\": 1e3 }\n");
  EXPECT_EQ(result.at("content").at(0).at("text"), "{ \"a\": [1, 2],\n \"b\": 1e3 }");
  EXPECT_EQ(result.at("structuredContent"), json::parse(R"({"a":[1,2],"b":1e3})"));
  EXPECT_EQ(result.at("isError"), false);
}

TEST(CliResult, anything_else_is_text) {
  for (const std::string text : {"[1,2]", "42", "\"x\"", "null", "{broken", "{} {}", "plain\ntext", "ü"}) {
    const json::object result = printed(text);
    EXPECT_EQ(result.at("content").at(0).at("text"), json::value(text));
    EXPECT_FALSE(result.contains("structuredContent")) << text;
    EXPECT_EQ(result.at("isError"), false);
  }
  EXPECT_THAT(std::string(printed("").at("content").at(0).at("text").as_string()),
              HasSubstr("printed nothing"));
}

TEST(CliResult, mcp_content_is_used_unchanged) {
  const json::object result = printed(
      R"({"content": [{"type":"text","text":"one"},{"type":"text","text":"two"}], "structuredContent": {"x":1}, "isError": true})");
  EXPECT_EQ(result.at("content").as_array().size(), 2U);
  EXPECT_EQ(result.at("content").at(1).at("text"), "two");
  EXPECT_EQ(result.at("structuredContent"), (json::object{{"x", 1}}));
  EXPECT_EQ(result.at("isError"), true);
  // One of the CLI's own objects that happens to have such a key.
  EXPECT_TRUE(printed(R"({"content": "a text"})").contains("structuredContent"));
  EXPECT_TRUE(printed(R"({"content": [1, 2]})").contains("structuredContent"));
}

TEST(CliResult, a_path_in_the_output_returns_the_file) {
  const TemporaryDirectory folder;
  std::ofstream(folder.path() / "dot.png") << "\x89PNG";
  std::ofstream(folder.path() / "a b.txt") << "ünï";
  std::ofstream(folder.path() / "data.bin") << "\xff\xfe";
  const auto file = [&](const char* name, const char* type) {
    return json::serialize(json::object{{"file", (folder.path() / name).string()}, {"mimeType", type}});
  };
  EXPECT_EQ(printed(file("dot.png", "image/png")).at("content").at(0),
            (json::object{{"type", "image"}, {"data", "iVBORw=="}, {"mimeType", "image/png"}}));
  const json::value text = printed(file("a b.txt", "text/plain")).at("content").at(0).at("resource");
  EXPECT_EQ(text.at("text"), "ünï");
  EXPECT_THAT(std::string(text.at("uri").as_string()), AllOf(StartsWith("file:///"), EndsWith("/a%20b.txt")));
  EXPECT_EQ(
      printed(file("data.bin", "application/octet-stream")).at("content").at(0).at("resource").at("blob"),
      "//4=");
  const json::object both =
      printed(R"({"content":[{"type":"text","text":"see"},)" + file("dot.png", "image/png") + "]}");
  EXPECT_EQ(both.at("content").at(1).at("type"), "image");

  const json::object missing = printed(file("no.png", "image/png"));
  EXPECT_EQ(missing.at("isError"), true);
  EXPECT_THAT(std::string(missing.at("content").at(0).at("text").as_string()), HasSubstr("No such file"));
  ASSERT_EQ(mkfifo((folder.path() / "pipe").c_str(), 0600), 0);
  EXPECT_EQ(printed(file("pipe", "image/png")).at("isError"), true);
  EXPECT_EQ(printed(R"({"file":"/dev/zero","mimeType":"image/png"})").at("isError"), true);
}

TEST(CliResult, a_tool_with_an_output_schema_must_print_an_object) {
  const json::object schema{{"outputSchema", {{"type", "object"}}}};
  EXPECT_EQ(printed("{}", schema).at("isError"), false);
  const json::object text = printed("just text", schema);
  EXPECT_EQ(text.at("isError"), true);
  EXPECT_THAT(std::string(text.at("content").at(0).at("text").as_string()),
              AllOf(HasSubstr("outputSchema"), HasSubstr("just text")));
}

TEST(CliResult, output_that_violates_the_schema_is_an_error_with_the_output_as_text) {
  const json::object schema{
      {"outputSchema",
       {{"type", "object"}, {"properties", {{"n", {{"type", "integer"}}}}}, {"required", {"n"}}}}};
  EXPECT_EQ(printed(R"({"n":1,"more":[]})", schema).at("structuredContent").at("n"), 1);
  for (const std::string output :
       {R"({"n":"notint"})", R"({"m":1})", R"({"content":[],"structuredContent":{"n":"notint"}})",
        R"({"content":[],"isError":true,"structuredContent":{"n":"notint"}})"}) {
    const json::object result = printed(output, schema);
    EXPECT_EQ(result.at("isError"), true) << output;
    EXPECT_FALSE(result.contains("structuredContent")) << output;
    EXPECT_THAT(std::string(result.at("content").at(0).at("text").as_string()),
                AllOf(HasSubstr("the tool \"print\""), HasSubstr("outputSchema"), HasSubstr("\nn: "),
                      HasSubstr("expected an integer"), HasSubstr(output)));
  }
}

TEST(CliResult, a_failure_reports_how_the_program_ended_and_what_it_printed) {
  const FakeCli cli({cli_tool("fail", {"fail", "{code}"}, {{"code", {{"type", "integer"}}}}),
                     cli_tool("die", {"die", "{signal}"}, {{"signal", {{"type", "integer"}}}}),
                     cli_tool("garbage", {"garbage"})});
  Client client = cli.client();
  client.initialize();
  const json::object failed = client.call("fail", {{"code", 3}});
  EXPECT_TRUE(is_error(failed));
  EXPECT_THAT(text_of(failed),
              AllOf(HasSubstr("exited with code 3"), HasSubstr("some output"), HasSubstr("what went wrong")));
  EXPECT_FALSE(is_error(client.call("fail", {{"code", 0}})));
  const json::object died = client.call("die", {{"signal", SIGSEGV}});
  EXPECT_TRUE(is_error(died));
  EXPECT_THAT(text_of(died), HasSubstr("was killed by SIGSEGV"));
  const json::object garbage = client.call("garbage");
  EXPECT_FALSE(is_error(garbage));
  EXPECT_THAT(text_of(garbage), HasSubstr("ABCDEFG"));
  EXPECT_THAT(client.call_text("pivot_logs"),
              AllOf(HasSubstr("fail: what went wrong"), HasSubstr("exited with code 3")));
  EXPECT_THAT(status_of(client, "runs"), StartsWith("4 (2 failed), at most "));
  EXPECT_THAT(status_of(client, "slowest call"), testing::AnyOf(EndsWith(" s"), EndsWith(" ms")));
  EXPECT_THAT(status_of(client, "schema command"), EndsWith("schema.json schema --json"));
  EXPECT_THAT(status_of(client, "schema fetched"), HasSubstr(" ago"));
}

TEST(CliResult, output_over_the_limit_is_shortened_in_the_middle_and_kept_in_a_file) {
  const FakeCli cli({cli_tool("flood", {"flood", "{bytes}"}, {{"bytes", {{"type", "integer"}}}})});
  std::string path;
  {
    Client client = cli.client({"--max-output", "100KB"});
    client.initialize();
    EXPECT_THAT(client.call_text("flood", {{"bytes", 100'000}}), Not(HasSubstr("omitted")));
    const std::string text = client.call_text("flood", {{"bytes", 20'000'000}});
    EXPECT_LT(text.size(), 103'000U);
    EXPECT_THAT(text, StartsWith("0xxxx"));
    EXPECT_THAT(text, AllOf(HasSubstr("19999900x"), HasSubstr(" of 20000000 bytes here; all of it is in /")));
    path = text.substr(text.find("is in /") + 6, text.find("] …") - text.find("is in /") - 6);
    EXPECT_EQ(fs::file_size(path), 20'000'000U);
    struct stat info{};
    ASSERT_EQ(stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, 0600U);
    if (!is_instrumented()) {
      EXPECT_LT(rss_kb(client.child().pid()), 30'000);
    }
    client.child().close_stdin();
    EXPECT_TRUE(client.child().wait_exit(soon()));
  }
  EXPECT_FALSE(fs::exists(path)) << "it goes with mcpivot";
  EXPECT_FALSE(fs::exists(fs::path(path).parent_path()));
}

}  // namespace
}  // namespace harness
