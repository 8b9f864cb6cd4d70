// A save, then a call at once: the call waits for the new code, or its answer says that it is from the old.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "lives.h"
#include "serves.h"

namespace harness {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path) << text;
}

// A server whose source is a.txt and whose build waits at a gate while a.txt says so.
class OnSave : public testing::Test {
 protected:
  OnSave() { write(source(), "quick 1"); }

  fs::path source() const { return project_.path() / "a.txt"; }
  fs::path gate() const { return project_.path() / "gate"; }
  ClientOptions options(std::vector<std::string> more = {}) const {
    std::vector<std::string> all = {
        "--cwd", project_.path(), "--watch",
        "*.txt", "--build",       "if grep -q slow a.txt; then cat gate; fi; ! grep -q broken a.txt"};
    all.insert(all.end(), more.begin(), more.end());
    return {.options = all, .server = {}};
  }

 private:
  TemporaryDirectory project_;
};

TEST_F(OnSave, a_call_right_after_a_save_is_answered_by_the_new_code) {
  Client client(options());
  client.initialize();
  std::string pid = client.call_text("pid");
  for (int i = 2; i < 16; ++i) {  // each within moments of the build before
    write(source(), "quick " + std::to_string(i));
    const std::string answer = all_text(client.call("pid"));
    EXPECT_THAT(answer, AllOf(Not(HasSubstr(pid)), HasSubstr("generation " + std::to_string(i))));
    pid = client.call_text("pid");
  }
}

// Nobody can tell whether the build wrote it, so mcpivot stops after a few builds and tells the model.
TEST_F(OnSave, a_source_that_changes_during_every_build_is_soon_ignored_and_reported) {
  Client client(
      {.options = {"--cwd", source().parent_path(), "--watch", "*.txt", "--build", "date +%N >> a.txt"},
       .server = {}});
  client.initialize();
  client.call_text("pid");
  write(source(), "quick");
  std::string said;
  for (int i = 0; i < 10 && said.find("changes in every build") == std::string::npos; ++i)
    said = all_text(client.call("pid"));
  EXPECT_THAT(said,
              HasSubstr("[mcpivot] a.txt changes in every build of \"fake_server\", so mcpivot treats it as "
                        "build output and did not rebuild. If you edited it, call pivot_rebuild."));
  EXPECT_THAT(all_text(client.call("pid")), Not(HasSubstr("[mcpivot]")));
}

TEST_F(OnSave, a_call_waits_while_the_change_is_built) {
  Client client(options());
  Gate slow(gate());
  client.initialize();
  const std::string pid = client.call_text("pid");
  write(source(), "slow");
  const auto first = client.send_call("pid");
  ASSERT_TRUE(slow.wait_for_visitor());
  const auto second = client.send_call("pid");
  EXPECT_EQ(status_of(client, "waiting"), "2");
  EXPECT_THAT(client.answers, IsEmpty());
  slow.open();
  EXPECT_THAT(all_text(client.await(first)), AllOf(Not(HasSubstr(pid)), HasSubstr("generation 2")));
  EXPECT_THAT(all_text(client.await(second)), Not(HasSubstr(pid)));
}

TEST_F(OnSave, a_replaced_program_answers_the_next_call) {
  Client client({.options = {}, .server = {}, .own_program = true});
  client.initialize();
  const std::string pid = client.call_text("pid");
  const fs::path program = client.directory() / "fake_server";
  fs::copy_file(program, program.string() + ".new");
  fs::rename(program.string() + ".new", program);
  EXPECT_THAT(all_text(client.call("pid")), AllOf(Not(HasSubstr(pid)), HasSubstr("generation 2")));
}

TEST_F(OnSave, a_replaced_program_that_a_restart_already_started_delays_no_call) {
  Client client({.options = {}, .server = {}, .own_program = true});
  client.initialize();
  const fs::path program = client.directory() / "fake_server";
  const auto is_quick = [&] {
    fs::copy_file(program, program.string() + ".new");
    fs::rename(program.string() + ".new", program);
    const auto began = std::chrono::steady_clock::now();
    client.call("pivot_restart");
    client.call("pid");
    return std::chrono::steady_clock::now() - began < std::chrono::milliseconds(150);
  };
  EXPECT_TRUE(wait_until(is_quick, soon())) << "it always waits until things are quiet, for 200 ms";
}

TEST_F(OnSave, with_on_save_serve_the_old_code_answers_and_says_so) {
  Client client(options({"--on-save", "serve"}));
  Gate slow(gate());
  client.initialize();
  const std::string pid = client.call_text("pid");
  write(source(), "slow");
  ASSERT_TRUE(slow.wait_for_visitor());
  EXPECT_THAT(all_text(client.call("pid")),
              AllOf(HasSubstr(pid), HasSubstr("this answer is from generation 1"), HasSubstr("a.txt"),
                    HasSubstr(" ago"), HasSubstr("To test the change, call again when it is serving"),
                    HasSubstr("pivot_rebuild")));
  slow.open();
  EXPECT_TRUE(wait_until([&] { return status_of(client, "generation") == "2"; }, soon()));
  EXPECT_THAT(all_text(client.call("pid")), Not(HasSubstr("this answer is from")));
}

TEST_F(OnSave, a_call_waits_at_most_twice_the_time_a_change_usually_takes) {
  Client client(options());
  Gate slow(gate());
  client.initialize();
  write(source(), "quick 2");
  const std::string pid = own_text(client.call("pid"));
  write(source(), "slow");
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(all_text(client.call("pid")),
              AllOf(HasSubstr(pid), HasSubstr("this answer is from generation 2")));
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(15));
  slow.open();
}

TEST_F(OnSave, when_the_build_fails_waiting_calls_get_the_old_code_and_the_reason) {
  Client client(options());
  client.initialize();
  const std::string pid = client.call_text("pid");
  write(source(), "broken");
  EXPECT_THAT(all_text(client.call("pid")),
              AllOf(HasSubstr(pid), HasSubstr("the build of"), HasSubstr("failed"),
                    HasSubstr("is still serving"), Not(HasSubstr("this answer is from"))));
}

TEST_F(OnSave, a_waiting_call_can_be_cancelled) {
  Client client(options());
  Gate slow(gate());
  client.initialize();
  write(source(), "slow");
  const auto id = client.send_call("pid");
  ASSERT_TRUE(slow.wait_for_visitor());
  client.notify("notifications/cancelled", {{"requestId", id}});
  EXPECT_TRUE(wait_until([&] { return status_of(client, "waiting") == "0"; }, soon()));
  slow.open();
  settle(client);
  EXPECT_THAT(client.answers, IsEmpty());
}

TEST_F(OnSave, a_file_that_is_created_and_deleted_delays_no_call) {
  Client client(options());
  client.initialize();
  const std::string pid = client.call_text("pid");
  write(source().parent_path() / "b.txt", "x");
  fs::remove(source().parent_path() / "b.txt");
  EXPECT_EQ(client.call_text("pid"), pid);
}

TEST_F(OnSave, a_file_that_is_open_and_grows_delays_no_call) {
  Client client(options());
  client.initialize();
  const std::string pid = client.call_text("pid");
  std::ofstream log(source().parent_path() / "log.txt");
  log << "one" << std::endl;
  EXPECT_THAT(all_text(client.call("pid")), HasSubstr(pid));  // after one look
  for (int i = 0; i < 20; ++i) {
    log << "more" << std::endl;
    EXPECT_EQ(client.call_text("pid"), pid);
  }
}

TEST_F(OnSave, a_restart_right_after_a_save_builds_what_was_saved) {
  Client client(options());
  client.initialize();
  write(source(), "broken");
  EXPECT_THAT(text_of(client.call("pivot_restart")), AllOf(HasSubstr("the build of"), HasSubstr("failed")));
}

TEST_F(OnSave, the_result_of_a_call_finished_by_the_old_generation_says_so) {
  Client client(options());
  client.initialize();
  const OpenCall slow = open_call(client);
  write(source(), "quick 2");
  EXPECT_THAT(all_text(client.call("pid")), HasSubstr("generation 2"));
  client.answer(slow.question, {{"roots", boost::json::array()}});
  EXPECT_THAT(all_text(client.await(slow.id)), AllOf(HasSubstr("this answer is from generation 1 of"),
                                                     HasSubstr("generation 2 is serving now")));
}

TEST_F(OnSave, with_many_clients_the_old_code_answers_and_says_so) {
  Gate slow(gate());
  const ClientOptions one = options();
  const Serve serve(one.options, one.server);
  WebClient client(serve);
  client.initialize();
  const std::string pid = own_text(client.call("pid"));
  write(source(), "slow");
  ASSERT_TRUE(slow.wait_for_visitor());
  EXPECT_THAT(all_text(client.call("pid")),
              AllOf(HasSubstr(pid), HasSubstr("this answer is from generation 1")));
  slow.open();
}

}  // namespace
}  // namespace harness
