// docs/what-the-model-reads.md: every kind of text that mcpivot gives to a model, taken from real runs.
// With MCPIVOT_WRITE_DOCS in the environment the page is written; without, it is compared.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <regex>

#include "cli_tools.h"
#include "daemons.h"
#include "gateways.h"
#include "serves.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

constexpr const char* introduction = R"(# What the model reads

Every kind of text that mcpivot shows to a model, each from a real run. Notices come as a content block of their own
before the answer of the next tool call; everything else is the answer itself. `…` stands for what differs from
run to run. The page is written by `MCPIVOT_WRITE_DOCS=1 build/release/e2e_tests --gtest_filter='ModelReads.*'`;
without that variable, the same test fails when a text has changed.
)";

// What differs between runs and doesn't matter.
std::string without_chance(std::string text, const std::string& folder) {
  for (auto at = text.find(folder); at != std::string::npos; at = text.find(folder, at))
    text.replace(at, folder.size(), "…");
  for (const auto& [pattern, words] : std::vector<std::pair<const char*, const char*>>{
           {R"(/[^ "]*/(fake_[a-z]+))", "…/$1"},
           {R"(pid(:?) \d+)", "pid$1 …"},
           {R"(127\.0\.0\.1:\d+)", "127.0.0.1:…"},
           {R"(about \d[\d,]* tokens)", "about … tokens"},
           {R"(\d[\d.,]* (bytes|kB|KB|MB)\b)", "… $1"},
           {R"(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", "…"},
           {R"(\b\d\d:\d\d:\d\d(\.\d+)?)", "…"},
           {R"(\b\d+(\.\d+)? (ms|s|min|h|days?)\b( \d+ (s|min|h)\b)?)", "…"}})
    text = std::regex_replace(text, std::regex(pattern), words);
  // How often a server was tried, with the same result, depends on timing.
  text = std::regex_replace(text, std::regex(R"(\n([^\n]+)(\n\1)+(?=\n|$))"), "\n$1");
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

class Page {
 public:
  void chapter(const std::string& title) { text_ += "\n## " + title + "\n"; }
  // What was said after this event.
  void add(const std::string& when, const std::string& said, const std::string& folder = "/nowhere") {
    text_ += "\n" + when + "\n\n```text\n" + without_chance(said, folder) + "\n```\n";
  }
  void add(const std::string& when, Client& client, const json::object& answer) {
    add(when, words_of(answer), client.directory().string());
  }
  const std::string& text() const { return text_; }

  static std::string words_of(const json::object& answer) {
    if (const json::value* error = answer.if_contains("error"))
      return std::string(error->at("message").as_string());
    return all_text(answer);
  }

 private:
  std::string text_ = introduction;
};

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

void describe_tools(Page& page, const json::object& answer) {
  std::string all;
  for (const auto& tool : answer.at("result").at("tools").as_array()) {
    const std::string name(tool.at("name").as_string());
    if (!name.starts_with("pivot_")) continue;
    all += (all.empty() ? "" : "\n") + name + ": " + std::string(tool.at("description").as_string());
  }
  page.add("The control tools of a configuration file, as they are listed:", all);
}

// ---- One server that is being developed.

void tell_development(Page& page) {
  page.chapter("A server in development");
  const TemporaryDirectory project;
  write(project.path() / "a.txt", "one");
  Client client(
      {.options = {"--name", "dev", "--cwd", project.path(), "--watch", "*.txt", "--build",
                   "if grep -q slow a.txt; then cat gate; fi; if grep -q broken a.txt; then echo "
                   "'a.txt:1: error: no good'; exit 2; fi"},
       .server = {"--lives", "lives", "--life", "2", "--tool",
                  R"({"name":"fresh","inputSchema":{"type":"object","properties":{}}})", "--life", "3+",
                  "--tool",
                  R"({"name":"fresh","inputSchema":{"type":"object","properties":{"limit":{}}}})"}});
  Gate gate(project.path() / "gate");
  client.initialize();
  const auto add = [&](const std::string& when, const json::object& answer) {
    page.add(when, without_chance(Page::words_of(answer), project.path()), client.directory());
  };
  write(project.path() / "a.txt", "two");
  add("A file was saved; the new server, which has one more tool, answers the next call:",
      client.call("echo", {{"text", "hello"}}));
  write(project.path() / "a.txt", "broken");
  add("The saved change doesn't build:", client.call("echo", {{"text", "hello"}}));
  add("`pivot_rebuild`, and the build fails:", client.call("pivot_rebuild"));
  write(project.path() / "a.txt", "three");
  add("It is fixed, and a tool has another parameter:", client.call("echo", {{"text", "hello"}}));
  add("`pivot_rebuild`:", client.call("pivot_rebuild"));
  const OpenCall open = open_call(client);
  write(project.path() / "a.txt", "four");
  client.call("echo", {{"text", "hello"}});
  client.answer(open.question, {{"roots", json::array()}});
  add("A call that was under way when the new server took over is finished by the old one:",
      client.await(open.id));
  write(project.path() / "a.txt", "slow");
  ASSERT_TRUE(gate.wait_for_visitor());
  add("The build takes much longer than usual, so the old server answers:",
      client.call("echo", {{"text", "hello"}}, in(std::chrono::seconds(30))));
  gate.open();
}

// Its build writes a source with different content each time.
void tell_source_that_builds_write(Page& page) {
  const TemporaryDirectory project;
  write(project.path() / "version.txt", "one");
  Client client({.options = {"--name", "dev", "--cwd", project.path(), "--watch", "*.txt", "--build",
                             "date +%N >> version.txt"},
                 .server = {}});
  client.initialize();
  write(project.path() / "version.txt", "two");
  std::string said;
  ASSERT_TRUE(wait_until(
      [&] {
        said = all_text(client.call("echo", {{"text", "hello"}}));
        return said.find("changes in every build") != std::string::npos;
      },
      soon()));
  said.erase(0, said.rfind("[mcpivot] version.txt"));
  page.add("Each build changes a source, so mcpivot stops building it after the fifth time:", said);
}

void tell_crashes(Page& page) {
  page.chapter("Crashes");
  Client client({.options = {"--name", "dev", "--call-timeout", "1s"},
                 .server = {"--lives", "lives"},
                 .own_program = true});
  client.initialize();
  const auto add = [&](const std::string& when, const json::object& answer) {
    page.add(when, client, answer);
  };
  add("A call crashes the server:",
      client.call("crash", {{"signal", "SIGSEGV"}, {"stderr", "panic: texture format mismatch"}}));
  add("The next call:", client.call("echo", {{"text", "hello"}}));
  const pid_t pid = server_pid(client);
  kill(pid, SIGKILL);
  ASSERT_TRUE(wait_status(client, "generation", "3"));
  add("Somebody killed the server while nothing was under way; the next call:",
      client.call("echo", {{"text", "hello"}}));
  add("A call takes longer than `--call-timeout`:", client.call("sleep", {{"ms", for_ever}}));
  add("`pivot_restart`:", client.call("pivot_restart"));
  add("`pivot_restart` with `stop`:", client.call("pivot_restart", {{"stop", true}}));
  add("The next call starts it:", client.call("echo", {{"text", "hello"}}));
  Client safe({.options = {"--name", "dev"}, .server = {"--hint", "crash=readOnlyHint"}});
  safe.initialize();
  page.add("A call that is safe to repeat (its tool has `readOnlyHint`) crashes the server twice:", safe,
           safe.call("crash"));
  page.add("The next call:", safe, safe.call("echo", {{"text", "hello"}}));
}

void tell_failed_starts(Page& page) {
  page.chapter("Servers that don't start");
  {
    Client client({.options = {"--name", "dev"}, .command = {"no-such-program"}});
    client.initialize();
    page.add("The program doesn't exist:", client, client.call("echo"));
  }
  {
    Client client({.options = {"--name", "dev", "--queue-timeout", "1s"},
                   .command = {"sh", "-c", "echo 'ModuleNotFoundError: no module named mcp' >&2; exit 1"}});
    client.initialize();
    page.add("It ends at once:", client, client.call("echo"));
  }
  Client client(with({{"alpha", server({"--name", "alpha"}, {{"active", true}})},
                      {"beta", {{"command", "no-such-program"}, {"active", true}}}}));
  start(client, {"alpha"});
  page.add("It is an active one of several; the next call of another one:", client,
           client.call("alpha__echo", {{"text", "hello"}}));
  page.add("`pivot_call` of one of its tools:", client, client.call("pivot_call", {{"tool", "beta__echo"}}));
  page.add("`pivot_search`:", client, client.call("pivot_search", {{"query", "xylophone"}}));
}

// ---- Servers that are slow, and calls that are too large or too slow.

void tell_slow_starts(Page& page) {
  page.chapter("Servers that are still starting");
  Client client(with({{"alpha", server({"--name", "alpha"}, {{"active", true}})},
                      {"slow", server({"--hold", "initialize"}, {{"active", true}})}}));
  start(client, {"alpha"});
  client.request("tools/list", nullptr, in(std::chrono::seconds(20)));  // it waits for the slow one, for 5 s
  page.add("One of several; the next call of another one:", client,
           client.call("alpha__echo", {{"text", "hello"}}));
  page.add("`pivot_call` of one of its tools, after 5 s:", client,
           client.call("pivot_call", {{"tool", "slow__echo"}}, in(std::chrono::seconds(20))));
}

void tell_large_answers(Page& page) {
  page.chapter("Answers that are too large");
  Client client({.options = {"--name", "dev", "--max-message", "100000"}, .server = {}});
  client.initialize();
  page.add("An answer over `--max-message`:", client, client.call("big", {{"bytes", 150'000}}));
}

// ---- Programs that describe their own tools.

void tell_cli_tools(Page& page) {
  page.chapter("A command-line program");
  const json::object level{{"type", "integer"}, {"minimum", 1}, {"maximum", 9}};
  const FakeCli cli({cli_tool("pack", {"print", "{file}", "{level}"},
                              {{"file", any_string}, {"level", level}}, {{"required", {"file"}}}),
                     cli_tool("fail", {"fail", "3"}), cli_tool("die", {"die", "11"}),
                     cli_tool("wait", {"wait", "never", "step 1 of 2"}, {}, {{"timeout", "200ms"}})});
  Client client = cli.client({"--name", "tools"});
  client.initialize();
  const Gate never(client.directory() / "never");
  const auto add = [&](const std::string& when, const json::object& answer) {
    page.add(when, without_chance(Page::words_of(answer), cli.folder()), client.directory());
  };
  add("Arguments that don't fit the tool's schema:",
      client.call("pack", {{"file", "a"}, {"level", "high"}, {"fiel", "b"}}));
  add("The program fails:", client.call("fail"));
  add("It crashes:", client.call("die"));
  add("It takes too long:", client.call("wait"));
}

// ---- Builds that are checked.

void tell_checks(Page& page) {
  page.chapter("A build that is checked");
  const std::string look =
      R"({"name":"look","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":true,"openWorldHint":false}})";
  for (const bool gate : {false, true}) {
    Strings options = {"--name", "dev", "--build", "true", "--verify", "calls.json"};
    if (gate) options.emplace_back("--gate");
    Client client({.options = options, .server = {"--lives", "lives", "--tool", look}});
    client.initialize();
    const json::value result = client.call("look").at("result");
    write(client.directory() / "calls.json",
          json::serialize(json::object{{"calls", {{{"tool", "look"}, {"result", result}}}}}));
    page.add(gate ? "The same with `gate`:" : "`pivot_rebuild`, and a recorded call gets a different answer:",
             client, client.call("pivot_rebuild"));
    if (!gate) continue;
    page.add("`pivot_rebuild` with `accept`:", client, client.call("pivot_rebuild", {{"accept", true}}));
    page.add("`accept`, and nothing is held back:", client, client.call("pivot_rebuild", {{"accept", true}}));
  }
}

// ---- Many servers.

void tell_gateway(Page& page) {
  page.chapter("Many servers");
  Client client(with(two()));
  const json::object hello = client.initialize();
  page.add("The instructions of the handshake:",
           std::string(hello.at("result").at("instructions").as_string()), client.directory());
  wait_ready(client, {"alpha", "beta"});
  describe_tools(page, client.request("tools/list"));
  const auto add = [&](const std::string& when, const json::object& answer) {
    page.add(when, client, answer);
  };
  add("`pivot_search {\"query\": \"repeat a text\"}`:",
      client.call("pivot_search", {{"query", "repeat a text"}}));
  add("`pivot_search` that finds nothing:", client.call("pivot_search", {{"query", "xylophone"}}));
  add("A tool of an inactive server is called as if it were in the list:",
      client.call("beta__echo", {{"text", "hello"}}));
  add("`pivot_call`:",
      client.call("pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "hello"}}}}));
  add("`pivot_call` of a tool that doesn't exist:", client.call("pivot_call", {{"tool", "beta__ecko"}}));
  add("`pivot_activate`:", client.call("pivot_activate", {{"server", "beta"}}));
  add("`pivot_deactivate`:", client.call("pivot_deactivate", {{"server", "beta"}}));
  add("A server that doesn't exist:", client.call("pivot_activate", {{"server", "gamma"}}));
  add("An argument of a wrong type:", client.call("pivot_restart", {{"server", "alpha"}, {"stop", "true"}}));
  add("`pivot_status`:", client.call("pivot_status"));
  add("`pivot_status` of one server:", client.call("pivot_status", {{"server", "alpha"}}));
  client.call("alpha__stderr", {{"text", "loading the model"}, {"lines", 1}});
  ASSERT_TRUE(wait_until(
      [&] {
        return client.call_text("pivot_logs", {{"server", "alpha"}}).find("loading") != std::string::npos;
      },
      soon()));
  add("`pivot_logs`:", client.call("pivot_logs", {{"server", "alpha"}}));
}

void tell_less_reach(Page& page) {
  for (const char* const reach : {"active", "off"}) {
    Client client(with(two(), {{"pivot_call", reach}}));
    start(client);
    page.add("`pivot_call` with `\"pivot_call\": \"" + std::string(reach) + "\"` in the configuration:",
             client, client.call("pivot_call", {{"tool", "beta__echo"}, {"arguments", {{"text", "hello"}}}}));
  }
}

void tell_configuration(Page& page) {
  page.chapter("A configuration file that changes");
  Client client(with(two()));
  start(client);
  const auto told = [&] {
    json::object answer;
    EXPECT_TRUE(wait_until(
        [&] {
          answer = client.call("alpha__echo", {{"text", "hello"}});
          return blocks(answer) > 1;
        },
        soon()));
    return answer;
  };
  json::object three = two();
  three["gamma"] = server({"--name", "gamma", "--only", "echo"});
  rewrite(client, file_of(three));
  page.add("A server was added:", client, told());
  rewrite(client, R"({"mcpServers": {"alpha": {"comand": "x"}}})");
  page.add("The file has an error:", client, told());
  rewrite(client, file_of(two()));
  page.add("The error is fixed:", client, told());
}

// ---- Daemons, and clients over HTTP.

void tell_daemon(Page& page) {
  page.chapter("An HTTP daemon");
  FakeDaemon daemon;
  Client client({.options = {"--name", "remote", "--url", daemon.url(), "--queue-timeout", "1s"}});
  client.initialize();
  ASSERT_TRUE(wait_status(client, "state", "ready"));
  daemon.kill();
  page.add("The daemon is away:", client, client.call("echo", {{"text", "hello"}}));
  daemon.start();
  json::object answer;
  ASSERT_TRUE(wait_until(
      [&] {
        answer = client.call("echo", {{"text", "hello"}});
        return !is_error(answer);
      },
      soon()));
  page.add("It is back:", client, answer);
  daemon.restart({"--status", "401"});
  ASSERT_TRUE(
      wait_until([&] { return status_of(client, "trouble").find("401") != std::string::npos; }, soon()));
  page.add("It rejects mcpivot:", client, client.call("echo", {{"text", "hello"}}));
}

void tell_serve(Page& page) {
  page.chapter("`mcpivot serve`");
  Serve serve;
  WebClient client(serve);
  client.initialize();
  client.call("echo", {{"text", "hello"}});
  serve.child().signal(SIGTERM);
  ASSERT_TRUE(wait_gone({serve.child().pid()}));
  serve.start();
  page.add("mcpivot was started again, and the session goes on:",
           Page::words_of(client.call("echo", {{"text", "hello"}})), serve.directory());
}

TEST(ModelReads, the_page_shows_every_text_exactly) {
  Page page;
  tell_development(page);
  tell_source_that_builds_write(page);
  tell_checks(page);
  tell_crashes(page);
  tell_failed_starts(page);
  tell_slow_starts(page);
  tell_large_answers(page);
  tell_gateway(page);
  tell_less_reach(page);
  tell_configuration(page);
  tell_daemon(page);
  tell_cli_tools(page);
  tell_serve(page);
  const fs::path file = fs::path(PROJECT_DIRECTORY) / "docs/what-the-model-reads.md";
  if (std::getenv("MCPIVOT_WRITE_DOCS") != nullptr) write(file, page.text());
  const Strings expected = lines_of(file);
  const Strings said = lines_in(page.text());
  const auto [in_docs, now] = std::ranges::mismatch(expected, said);
  const auto shown = [](const auto& line, const Strings& lines) {
    return line == lines.end() ? std::string("nothing") : *line;
  };
  EXPECT_TRUE(in_docs == expected.end() && now == said.end())
      << "line " << in_docs - expected.begin() + 1 << " of the page is\n"
      << shown(in_docs, expected) << "\nand was said to be\n"
      << shown(now, said);
}

}  // namespace
}  // namespace harness
