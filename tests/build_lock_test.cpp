// Two windows on one folder: they share the sources and the build.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lives.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

class BuildLock : public testing::Test {
 protected:
  BuildLock() { save("one"); }
  void save(const std::string& text) const { std::ofstream(project_.path() / "a.txt") << text; }
  Strings builds() const { return lines_of(project_.path() / "builds"); }
  fs::path gate() const { return project_.path() / "gate"; }
  ClientOptions window() const {
    return {.options = {"--cwd", project_.path(), "--watch", "*.txt", "--build",
                        "cat a.txt >> builds; echo >> builds; cat gate; ! grep -q broken a.txt"},
            .server = {},
            .environment = {{"XDG_RUNTIME_DIR", project_.path()}}};
  }
  // Both have seen this save: one of them builds it, at the gate, and the other one waits for that build.
  void save_for_both(Client& one, Client& two, Gate& held, const std::string& text) const {
    one.initialize();
    two.initialize();
    save(text);
    ASSERT_TRUE(held.wait_for_visitor());
    ASSERT_TRUE(builds_or_waits(one) && builds_or_waits(two));
  }
  static bool builds_or_waits(Client& client) {
    return wait_until([&] { return !status_of(client, "building").empty(); }, soon());
  }

 private:
  TemporaryDirectory project_;
};

TEST_F(BuildLock, a_build_made_in_one_window_is_used_in_the_other) {
  Gate held(gate());
  Client one(window());
  Client two(window());
  save_for_both(one, two, held, "two");
  held.open();
  EXPECT_TRUE(wait_status(one, "generation", "2"));
  EXPECT_TRUE(wait_status(two, "generation", "2"));
  EXPECT_THAT(builds(), ElementsAre("two"));
}

TEST_F(BuildLock, a_failed_build_in_one_window_is_reported_in_the_other) {
  Gate held(gate());
  Client one(window());
  Client two(window());
  save_for_both(one, two, held, "broken");
  held.open();
  for (Client* const client : {&one, &two})
    EXPECT_THAT(text_of(client->call("pid")),
                AllOf(HasSubstr("the build of"), HasSubstr("is still serving")));
  EXPECT_THAT(builds(), SizeIs(1));
}

TEST_F(BuildLock, a_build_that_began_before_the_last_save_is_not_shared) {
  Gate held(gate());
  Client one(window());
  Client two(window());
  save_for_both(one, two, held, "two");
  save("three");
  held.open();
  ASSERT_TRUE(wait_until([&] { return builds().size() > 1; }, soon())) << "the other one's, or its next";
  EXPECT_THAT(builds(), ElementsAre("two", "three"));
}

TEST_F(BuildLock, a_cancelled_build_is_not_shared) {
  Gate held(gate());
  Client one(window());
  Client two(window());
  one.initialize();
  two.initialize();
  const auto rebuild = one.send_call("pivot_rebuild");
  ASSERT_TRUE(held.wait_for_visitor());
  save("two");
  ASSERT_TRUE(builds_or_waits(two));
  one.notify("notifications/cancelled", {{"requestId", rebuild}});
  ASSERT_TRUE(wait_until([&] { return builds().size() > 1; }, soon()));
  EXPECT_THAT(builds(), ElementsAre("one", "two"));
}

TEST_F(BuildLock, a_requested_build_begins_after_the_request) {
  Gate held(gate());
  Client one(window());
  Client two(window());
  one.initialize();
  two.initialize();
  one.send_call("pivot_rebuild");
  ASSERT_TRUE(held.wait_for_visitor());
  const auto rebuild = send_with_token(two, "pivot_rebuild");
  two.expect_notification("notifications/progress");
  held.open();
  ASSERT_TRUE(wait_until([&] { return builds().size() > 1; }, soon()));
  ASSERT_TRUE(held.wait_for_visitor());
  held.open();
  EXPECT_THAT(text_of(two.await(rebuild)), HasSubstr("generation 2"));
}

TEST_F(BuildLock, the_other_window_gets_the_lock_of_one_that_dies) {
  Gate held(gate());
  Client one(window());
  one.initialize();
  one.send_call("pivot_rebuild");
  ASSERT_TRUE(held.wait_for_visitor());
  Client two(window());
  two.initialize();
  const auto rebuild = send_with_token(two, "pivot_rebuild");
  const auto progress = two.expect_notification("notifications/progress");
  EXPECT_THAT(std::string(progress.at("params").at("message").as_string()), HasSubstr("already running"));
  kill(one.child().pid(), SIGKILL);
  ASSERT_TRUE(wait_until([&] { return builds().size() == 2; }, soon()));
  ASSERT_TRUE(held.wait_for_visitor());
  held.open();
  EXPECT_THAT(text_of(two.await(rebuild)), HasSubstr("generation 2"));
}

}  // namespace
}  // namespace harness
