// A server becomes another kind of server, or another program, in the file. Until the new one is ready, the
// old one serves as before: with the program, schema and limits that it was started with.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli_tools.h"
#include "daemons.h"
#include "gateways.h"

namespace harness {
namespace {

namespace json = boost::json;
using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

// A CLI whose tool `which` reports, by a variable, with whose configuration it runs.
class Tools {
 public:
  explicit Tools(const std::string& before_schema = {}) {
    const json::array tools{cli_tool("which", {"surroundings", "WHICH"}), cli_tool("hold", {"wait", gate()})};
    cli_.describe(before_schema + json::serialize(json::object{{"tools", tools}}));
  }
  json::object entry(std::string_view which, json::object more = {}) const {
    more["cli"] = json::array{fake_cli_binary(), cli_.schema().string()};
    more["env"] = json::object{{"WHICH", which}};
    return more;
  }
  std::string gate() const { return cli_.folder() / "gate"; }

 private:
  FakeCli cli_;
};

std::string which(Client& client) {
  return own(client, "which");
}

// The CLI serves, with a call in flight, while the file describes something else that isn't ready.
void expect_old_tools_serve(const Tools& tools, Client& client, const json::object& other,
                            const std::function<bool()>& has_begun) {
  Gate gate(tools.gate());
  client.initialize();
  const auto held = client.send_call("hold");
  ASSERT_TRUE(gate.wait_for_visitor());
  rewrite(client, file_of({{"alpha", other}}));
  ASSERT_TRUE(wait_until(has_begun, soon()));
  EXPECT_THAT(which(client), HasSubstr("\"old\""));
  gate.open();
  EXPECT_THAT(own_text(client.await(held)), HasSubstr("waited"));
  EXPECT_THAT(which(client), HasSubstr("\"old\""));
  EXPECT_THAT(tools_of(client), Contains("which"));
  EXPECT_THAT(status_of(client, "generation"), "1");
}

TEST(OtherKind, a_cli_serves_until_the_process_that_replaces_it_is_ready) {
  const Tools tools;
  Client client(with({{"alpha", tools.entry("old")}}));
  expect_old_tools_serve(tools, client, server({"--hold", "initialize", "--tap", "tap"}),
                         [&] { return content_of(client.directory() / "tap").contains("initialize"); });
}

TEST(OtherKind, a_cli_serves_until_the_daemon_that_replaces_it_is_ready) {
  const Tools tools;
  const std::string url = "http://127.0.0.1:" + std::to_string(free_port()) + "/mcp";
  Client client(with({{"alpha", tools.entry("old")}}));
  expect_old_tools_serve(tools, client, {{"url", url}}, [&] {
    return text_of(client.call("which")).find("Generation 1 is still serving") != std::string::npos;
  });
}

TEST(OtherKind, a_cli_runs_its_old_program_until_the_new_one_has_printed_its_schema) {
  const Tools tools;
  TemporaryDirectory folder;
  Gate at_schema(folder.path() / "schema-gate");
  const Tools others("!wait " + (folder.path() / "schema-gate").string() + "\n");
  Client client(with({{"alpha", tools.entry("old")}}));
  expect_old_tools_serve(tools, client, others.entry("new"), [&] { return at_schema.wait_for_visitor(); });
  at_schema.open();
  EXPECT_TRUE(wait_until([&] { return which(client).find("\"new\"") != std::string::npos; }, soon()));
}

TEST(OtherKind, a_crashed_process_that_a_daemon_failed_to_replace_becomes_that_daemon) {
  FakeDaemon daemon;
  daemon.kill();
  Client client(with({{"alpha", server({"--only", "echo,crash"})}}));
  client.initialize();
  rewrite(client, file_of({{"alpha", {{"url", daemon.url()}}}}));
  ASSERT_TRUE(wait_until(
      [&] { return text_of(client.call("echo")).find("Generation 1 is still serving") != std::string::npos; },
      soon()));
  EXPECT_THAT(own(client, "crash"), AllOf(HasSubstr("SIGABRT"), Not(HasSubstr("Outcome unknown"))))
      << "it died as the process that it was";
  daemon.start();
  EXPECT_TRUE(wait_until([&] { return own(client, "echo", {{"text", "daemon"}}) == "daemon"; }, soon()));
}

TEST(OtherKind, a_changed_concurrency_limit_applies_to_the_next_generation) {
  const Tools tools;
  const auto entry = [&](int jobs) { return file_of({{"alpha", tools.entry("same", {{"jobs", jobs}})}}); };
  Client client({.config = entry(1)});
  Gate gate(tools.gate());
  client.initialize();
  const auto held = client.send_call("hold");
  ASSERT_TRUE(gate.wait_for_visitor());
  const auto waiting = client.send_call("which");
  rewrite(client, entry(2));
  EXPECT_FALSE(is_error(client.await(waiting))) << "it waits for the other call";
  gate.open();
  EXPECT_FALSE(is_error(client.await(held)));
}

}  // namespace
}  // namespace harness
