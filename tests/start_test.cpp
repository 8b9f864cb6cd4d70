// A client never waits for a server that ran before: its handshake and lists come from the last run,
// and are corrected once the server has answered.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using testing::Contains;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// Several runs of mcpivot with the same command, in the same folder, with the same cache.
class Runs {
 public:
  explicit Runs(Strings later = {}) : later_(std::move(later)) {}

  ClientOptions run(const Strings& options = {}) const {
    Strings all = {"--cwd", folder_.path()};
    all.insert(all.end(), options.begin(), options.end());
    Strings server = {"--lives", "lives", "--life", "2+"};
    server.insert(server.end(), later_.begin(), later_.end());
    return {.options = all, .server = server, .environment = {{"XDG_CACHE_HOME", cache()}}};
  }
  fs::path cache() const { return folder_.path() / "cache"; }
  std::vector<fs::path> files() const {
    std::vector<fs::path> all;
    std::error_code none;
    for (const auto& entry : fs::directory_iterator(cache() / "mcpivot", none))
      if (!entry.path().string().ends_with(".eras.json") && !entry.path().string().ends_with(".any.json"))
        all.push_back(entry.path());
    return all;
  }

 private:
  TemporaryDirectory folder_;
  Strings later_;
};

struct Seen {
  json::object handshake;
  std::vector<std::string> lists;
};

Seen look(Client& client) {
  Seen seen{client.initialize(), {}};
  for (const char* list : {"tools/list", "prompts/list", "resources/list", "resources/templates/list"})
    seen.lists.push_back(json::serialize(client.request(list).at("result")));
  return seen;
}

TEST(Start, is_answered_from_the_last_run_before_the_server_is_ready) {
  const Runs runs({"--hold", "initialize"});
  Client first(runs.run());
  const Seen before = look(first);
  EXPECT_THAT(runs.files(), SizeIs(1));

  Client second(runs.run());
  const Seen after = look(second);
  EXPECT_EQ(json::serialize(after.handshake.at("result")), json::serialize(before.handshake.at("result")));
  EXPECT_EQ(after.lists, before.lists);
  EXPECT_EQ(status_of(second, "state"), "starting");
}

TEST(Start, is_corrected_if_the_server_differs_from_its_last_run) {
  const Runs runs({"--delay", "initialize=50", "--tool", "fresh"});
  {
    Client first(runs.run());
    first.initialize();
  }
  Client second(runs.run());
  second.initialize();
  const auto listed = tools_of(second);
  EXPECT_THAT(listed, Not(Contains("fresh"))) << "the server has not spoken yet";
  second.expect_notification("notifications/tools/list_changed");
  EXPECT_THAT(tools_of(second), Contains("fresh"));
  EXPECT_THAT(text_of(second.call("echo", {{"text", "x"}})),
              HasSubstr("compared with its last run: tools: +fresh."));
  Client third(runs.run());
  third.initialize();
  EXPECT_THAT(tools_of(third), Contains("fresh")) << "what was corrected was not kept";
}

TEST(Start, a_call_waits_until_the_server_is_ready) {
  const Runs runs({"--delay", "initialize=50"});
  {
    Client first(runs.run());
    first.initialize();
  }
  Client second(runs.run());
  second.initialize();
  EXPECT_EQ(text_of(second.call("echo", {{"text", "early"}})), "early");
  EXPECT_THAT(second.notifications, IsEmpty()) << "nothing changed, so nothing is announced";
}

TEST(Start, a_failure_is_reported_even_if_the_server_worked_in_its_last_run) {
  const Runs runs({"--die", "start", "--how", "3"});
  {
    Client first(runs.run());
    first.initialize();
  }
  Client second(runs.run({"--queue-timeout", "300ms"}));
  second.initialize();
  const json::object answer = second.call("echo", {{"text", "x"}});
  EXPECT_TRUE(is_error(answer));
  EXPECT_THAT(text_of(answer), HasSubstr("exited with code 3"));
}

TEST(Start, cached_files_are_private) {
  const Runs runs;
  Client client(runs.run({"--env", "TOKEN=s3cret"}));
  client.initialize();
  client.call("echo", {{"text", "x"}});
  ASSERT_THAT(runs.files(), SizeIs(1));
  using fs::perms;
  EXPECT_EQ(fs::status(runs.files()[0]).permissions(), perms::owner_read | perms::owner_write);
  EXPECT_EQ(fs::status(runs.cache() / "mcpivot").permissions(), perms::owner_all);
  EXPECT_THAT(content_of(runs.files()[0]), Not(HasSubstr("s3cret")));
}

TEST(Start, a_damaged_cache_file_is_ignored) {
  const Runs runs;
  std::string good;
  for (const char* damage : {"", "{", "[]", "{\"initialize\":7}", "\xff\xfe", "{\"tools\":[{}]}"}) {
    Client client(runs.run());
    look(client);
    ASSERT_THAT(runs.files(), SizeIs(1));
    const std::string kept = content_of(runs.files()[0]);
    if (!good.empty()) {
      EXPECT_EQ(kept, good);
    }
    good = kept;
    std::ofstream(runs.files()[0]) << damage;
  }
}

TEST(Start, another_environment_or_protocol_version_does_not_use_the_cache) {
  const Runs runs({"--hold", "initialize"});
  {
    Client first(runs.run());
    first.initialize("2025-06-18");
    first.call("echo", {{"text", "x"}});
  }
  {
    Client other(runs.run({"--env", "MODE=other", "--start-timeout", "200ms"}));
    EXPECT_THAT(json::serialize(other.initialize().at("result")), HasSubstr("not running"));
  }
  Client older(runs.run({"--start-timeout", "200ms"}));
  EXPECT_THAT(json::serialize(older.initialize("2024-11-05").at("result")), HasSubstr("not running"));
}

TEST(Start, without_a_cache_folder_nothing_is_stored_and_nothing_fails) {
  const Runs runs;
  ClientOptions options = runs.run();
  options.environment = {{"XDG_CACHE_HOME", "/dev/null/cache"}};
  Client client(options);
  client.initialize();
  EXPECT_EQ(text_of(client.call("echo", {{"text", "x"}})), "x");
}

}  // namespace
}  // namespace harness
