// `mcpivot doctor` finds what is wrong, and says what to do.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

struct Said {
  int code = -1;
  std::string out;
};

Said doctor(const fs::path& home, const std::string& config) {
  if (!config.empty()) std::ofstream(home / "mcpivot.json") << config;
  Environment environment = private_folders(home);
  environment.emplace_back("FAKE", fake_server_binary());
  Child child({mcpivot_binary(), "doctor"}, environment, home);
  child.close_stdin();
  Said said;
  while (auto line = child.read_line(soon())) said.out += *line + "\n";
  if (const auto status = child.wait_exit(soon())) said.code = WEXITSTATUS(*status);
  EXPECT_THAT(processes_in_group(child.pid()), testing::IsEmpty()) << "something was left behind";
  return said;
}

TEST(Doctor, says_how_each_server_started) {
  TemporaryDirectory home;
  const Said said = doctor(home.path(), R"({"mcpServers": {
    "good": {"command": "${FAKE}", "args": ["--only", "echo,pid"]},
    "dying": {"command": "${FAKE}", "args": ["--die", "start", "--how", "7"]},
    "missing": {"command": "/no/such/program"}}})");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.out, HasSubstr("ok    good: ready in "));
  EXPECT_THAT(said.out, HasSubstr("2 tools (about "));
  EXPECT_THAT(said.out, AllOf(HasSubstr("BAD   dying: "), HasSubstr("exited with code 7")));
  EXPECT_THAT(said.out, AllOf(HasSubstr("BAD   missing: "), HasSubstr("/no/such/program")));
}

TEST(Doctor, is_content_when_all_is_well) {
  TemporaryDirectory home;
  const Said said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.code, 0) << said.out;
  EXPECT_THAT(said.out, Not(HasSubstr("BAD")));
}

TEST(Doctor, shows_problems_of_the_configuration_and_what_to_do_without_one) {
  TemporaryDirectory home;
  EXPECT_THAT(doctor(home.path(), "").out, HasSubstr("mcpivot init"));
  const Said said = doctor(home.path(), "{\n \"mcpServers\": {\"a\": {\"command\": 7}}}");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.out, HasSubstr("mcpivot.json:2:"));
}

TEST(Doctor, finds_clients_that_name_mcpivot_wrongly) {
  TemporaryDirectory home;
  fs::create_directories(home.path() / ".cursor");
  std::ofstream(home.path() / ".cursor/mcp.json")
      << R"({"mcpServers": {"gone": {"command": "/old/place/mcpivot", "args": ["--", "x"]}}})";
  std::ofstream(home.path() / ".claude.json") << R"({"mcpServers": {"here": {"command": ")" +
                                                     mcpivot_binary() +
                                                     R"(", "args": ["--config", "/no/such.json"]}}})";
  const Said said = doctor(home.path(), R"({"mcpServers": {"good": {"command": "${FAKE}"}}})");
  EXPECT_EQ(said.code, 1);
  EXPECT_THAT(said.out,
              AllOf(HasSubstr("Cursor has \"gone\""), HasSubstr("/old/place/mcpivot is no program")));
  EXPECT_THAT(said.out, HasSubstr("its configuration /no/such.json is not there"));
}

}  // namespace
}  // namespace harness
