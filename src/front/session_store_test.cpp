#include "front/session_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

#include "base/files.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::sys_seconds;
using testing::AllOf;
using testing::HasSubstr;

constexpr sys_seconds now{seconds{1'800'000'000}};

SessionRecord record_of(const std::string& uid, const std::string& state = "{}") {
  return {.uid = uid,
          .principal = "alice",
          .profile = "work",
          .hello = R"({"protocolVersion":"2025-11-25"})",
          .state = state,
          .updated = now,
          .expires = now + seconds{60}};
}

// A store with its loop; waits for the answers.
class Kept {
 public:
  explicit Kept(const std::string& path, const SessionStore::Limits& limits = {.retry = milliseconds{10}})
      : store_(std::in_place, loop, path, limits) {
    opened = store_->open(now);
  }
  SessionStore& operator*() { return *store_; }
  SessionStore* operator->() { return &*store_; }

  bool put(const SessionRecord& record) {
    return wait<bool>([&](auto done) { store_->put(record, done); });
  }
  bool revoke(const std::string& uid, sys_seconds until = now + seconds{60}) {
    return wait<bool>([&](auto done) { store_->revoke(uid, until, done); });
  }
  std::optional<SessionRecord> get(const std::string& uid) {
    return wait<std::optional<SessionRecord>>([&](auto got) { store_->get(uid, got); });
  }
  SessionDb::Listed list(const std::string& begin = {}, std::size_t most = 100) {
    return wait<SessionDb::Listed>([&](auto listed) { store_->list(begin, now, most, listed); });
  }
  void until(const std::function<bool()>& condition) {
    loop.restart();
    const auto work = boost::asio::make_work_guard(loop);
    while (!condition()) ASSERT_EQ(loop.run_one_for(seconds{20}), 1U) << "nothing happens";
  }
  // Until all earlier requests have been processed.
  void settle() { get("nobody"); }
  void destroy() { store_.reset(); }

  boost::asio::io_context loop;
  std::expected<void, std::string> opened;

 private:
  template <class Result>
  Result wait(const auto& ask) {
    std::optional<Result> result;
    ask([&](Result came) {
      EXPECT_FALSE(result) << "a callback comes once";
      result = std::move(came);
    });
    EXPECT_FALSE(result) << "and not before the call has returned";
    until([&] { return result.has_value(); });
    return result ? std::move(*result) : Result();
  }

  std::optional<SessionStore> store_;
};

// Another program that has opened the database.
class Raw {
 public:
  explicit Raw(const std::string& path) {
    EXPECT_EQ(sqlite3_open(path.c_str(), &database_), SQLITE_OK);
    sqlite3_busy_timeout(database_, 20'000);
  }
  ~Raw() { sqlite3_close(database_); }
  Raw(const Raw&) = delete;
  Raw& operator=(const Raw&) = delete;
  void run(const char* sql) {
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(database_, sql, nullptr, nullptr, &error), SQLITE_OK) << sql << ": " << error;
  }

 private:
  sqlite3* database_ = nullptr;
};

unsigned mode_of(const std::string& path) {
  struct stat file{};
  return ::stat(path.c_str(), &file) == 0 ? file.st_mode & 07777U : 0;
}

// Runs it in a separate process, and returns its result.
int in_another_process(const std::function<int()>& what) {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(what());
  int status = 0;
  ::waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

class Sessions : public testing::Test {
 protected:
  const host::TemporaryDirectory folder;
  const std::string path = folder / "mcpivot/sessions.db";
};

TEST_F(Sessions, survive_into_the_next_run) {
  SessionRecord record = record_of("u1", R"({"level":"debug"})");
  record.principal = "a'b\"c";
  record.state += std::string("\0\xff", 2);
  {
    Kept kept(path);
    ASSERT_TRUE(kept.opened) << kept.opened.error();
    EXPECT_EQ(kept.get("u1"), std::nullopt);
    EXPECT_TRUE(kept.put(record));
    EXPECT_EQ(kept.get("u1"), record);
  }
  Kept kept(path);
  EXPECT_EQ(kept.get("u1"), record);
  EXPECT_EQ(kept.get("u2"), std::nullopt);
  EXPECT_EQ(kept->trouble(), "");
}

TEST_F(Sessions, are_listed_by_uid_prefix_newest_first) {
  Kept kept(path);
  SessionRecord old = record_of("abc1");
  old.updated -= seconds{10};
  SessionRecord expired = record_of("abc2");
  expired.expires = now;
  for (const SessionRecord& record : {old, expired, record_of("abd1"), record_of("b1")}) kept.put(record);
  const auto uids = [](const SessionDb::Listed& listed) {
    std::vector<std::string> all;
    for (const SessionRecord& record : listed.records) all.push_back(record.uid);
    return all;
  };
  EXPECT_THAT(uids(kept.list()), testing::ElementsAre("abd1", "b1", "abc1"));
  EXPECT_THAT(uids(kept.list("ab")), testing::ElementsAre("abd1", "abc1"));
  EXPECT_THAT(uids(kept.list("abd")), testing::ElementsAre("abd1"));
  EXPECT_THAT(uids(kept.list("%")), testing::IsEmpty());
  const auto newest = kept.list("", 1);
  EXPECT_THAT(uids(newest), testing::ElementsAre("abd1"));
  EXPECT_EQ(newest.all, 3U);
  EXPECT_EQ(newest.records[0].hello, old.hello);
  kept.revoke("abd1");
  EXPECT_THAT(uids(kept.list()), testing::ElementsAre("b1", "abc1"));
}

TEST_F(Sessions, are_listed_even_before_they_are_on_disk) {
  Kept kept(path);
  Raw other(path);
  other.run("BEGIN IMMEDIATE");
  kept->put(record_of("waits"));
  kept.until([&] { return !kept->trouble().empty(); });
  EXPECT_EQ(kept.list().all, 1U);
  other.run("COMMIT");
}

TEST_F(Sessions, are_readable_only_by_their_user) {
  Kept kept(path);
  kept.put(record_of("u1"));
  EXPECT_EQ(mode_of(folder / "mcpivot"), 0700U);
  for (const char* part : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path + part), 0600U) << part;
}

TEST_F(Sessions, a_file_that_others_could_read_is_made_private) {
  {
    const Kept kept(path);
  }
  ::chmod(path.c_str(), 0644);
  Kept kept(path);
  kept.put(record_of("u1"));
  for (const char* part : {"", "-wal", "-shm"}) EXPECT_EQ(mode_of(path + part), 0600U) << part;
}

TEST_F(Sessions, a_completed_put_survives_kill_9) {
  int said[2];
  ASSERT_EQ(::pipe(said), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    Kept kept(path);
    if (!kept.put(record_of("u1", "one")) || !kept.put(record_of("u1", "two")) || !kept.revoke("u2"))
      ::_exit(1);
    (void)!::write(said[1], "!", 1);
    while (true) ::pause();
  }
  ::close(said[1]);
  char done = 0;
  ASSERT_EQ(::read(said[0], &done, 1), 1);
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  ::close(said[0]);
  Kept kept(path);
  ASSERT_TRUE(kept.opened) << kept.opened.error();
  EXPECT_EQ(kept.get("u1"), record_of("u1", "two"));
  EXPECT_TRUE(kept->revoked("u2"));
}

TEST_F(Sessions, of_several_waiting_records_the_last_is_written_and_every_callback_runs) {
  Kept kept(path);
  int told = 0;
  for (int i = 0; i <= 1000; ++i)
    kept->put(record_of("u1", std::to_string(i)), [&](bool good) { told += good ? 1 : 0; });
  EXPECT_EQ(kept.get("u1")->state, "1000");
  kept.until([&] { return told == 1001; });
  EXPECT_EQ(kept.get("u1")->state, "1000");
}

TEST_F(Sessions, closing_writes_waiting_records) {
  {
    Kept kept(path);
    for (int i = 0; i < 500; ++i) kept->put(record_of("u" + std::to_string(i), "last"));
    kept->revoke("u7", now + seconds{60});
    EXPECT_TRUE(kept->close(seconds{20}));
  }
  Kept kept(path);
  for (int i = 0; i < 500; ++i) EXPECT_EQ(kept.get("u" + std::to_string(i)).has_value(), i != 7) << i;
}

TEST_F(Sessions, closing_is_bounded_in_time_and_reports_lost_records) {
  Kept kept(path);
  Raw other(path);
  other.run("BEGIN IMMEDIATE");
  for (int i = 0; i < 100; ++i) kept->put(record_of("u" + std::to_string(i)));
  const auto began = std::chrono::steady_clock::now();
  EXPECT_FALSE(kept->close(milliseconds{50}));
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds{5});
}

TEST_F(Sessions, no_callback_runs_after_closing) {
  Kept kept(path);
  kept->put(record_of("u1"), [](bool) { ADD_FAILURE(); });
  kept->get("u1", [](const std::optional<SessionRecord>&) { ADD_FAILURE(); });
  EXPECT_TRUE(kept->close(seconds{20}));
  kept->put(record_of("u1"), [](bool) { ADD_FAILURE(); });
  kept->get("u1", [](const std::optional<SessionRecord>&) { ADD_FAILURE(); });
  kept.loop.restart();
  kept.loop.run();
}

TEST_F(Sessions, a_callback_may_destroy_the_store) {
  Kept kept(path);
  bool called = false;
  kept->put(record_of("u1"), [&](bool) {
    called = true;
    kept.destroy();
  });
  kept.loop.restart();
  kept.loop.run();
  EXPECT_TRUE(called);
}

TEST_F(Sessions, a_session_that_was_revoked_stays_ended) {
  {
    Kept kept(path);
    kept.put(record_of("u1"));
    kept->revoke("u1", now + seconds{60});
    EXPECT_TRUE(kept->revoked("u1")) << "at once";
    kept.settle();
    EXPECT_FALSE(kept.put(record_of("u1")));
    EXPECT_EQ(kept.get("u1"), std::nullopt);
  }
  Kept kept(path);
  EXPECT_TRUE(kept->revoked("u1"));
  EXPECT_FALSE(kept->revoked("u2"));
  EXPECT_EQ(kept.get("u1"), std::nullopt);
}

TEST_F(Sessions, a_waiting_record_of_an_ended_session_is_not_kept) {
  Kept kept(path);
  Raw other(path);
  other.run("BEGIN IMMEDIATE");
  kept->put(record_of("u0"));  // the thread is busy with this one
  kept->put(record_of("u1"));
  kept->revoke("u1", now + seconds{60});
  other.run("COMMIT");
  EXPECT_TRUE(kept.put(record_of("u2")));
  EXPECT_EQ(kept.get("u1"), std::nullopt);
  EXPECT_TRUE(kept.get("u0"));
}

TEST_F(Sessions, expired_records_are_deleted) {
  Kept kept(path);
  kept.put(record_of("u1"));
  SessionRecord longer = record_of("u2");
  longer.expires = now + seconds{61};
  kept.put(longer);
  kept.revoke("u3", now + seconds{60});
  kept.revoke("u4", now + seconds{61});
  kept->tidy(now + seconds{60});
  EXPECT_TRUE(kept.put(record_of("u5")));  // later than the cleanup
  kept.settle();
  EXPECT_FALSE(kept->revoked("u3"));
  EXPECT_TRUE(kept->revoked("u4"));
  kept.until([&] { return !kept.get("u1"); });
  EXPECT_TRUE(kept.get("u2"));
  Kept next(path);
  EXPECT_FALSE(next->revoked("u3"));
  EXPECT_TRUE(next->revoked("u4"));
}

TEST_F(Sessions, two_mcpivots_see_each_others_records_and_revocations) {
  Kept one(path);
  Kept two(path);
  ASSERT_TRUE(one.opened && two.opened);
  EXPECT_TRUE(one.put(record_of("u1", "of one")));
  EXPECT_EQ(two.get("u1"), record_of("u1", "of one"));
  EXPECT_TRUE(two.put(record_of("u1", "of two")));
  EXPECT_EQ(one.get("u1"), record_of("u1", "of two"));
  EXPECT_TRUE(one.revoke("u1"));
  EXPECT_FALSE(two->revoked("u1"));
  EXPECT_EQ(two.get("u1"), std::nullopt);
  EXPECT_TRUE(two->revoked("u1")) << "the question told it";
  EXPECT_TRUE(one.revoke("u2"));
  two->tidy(now);
  two.until([&] { return two->revoked("u2"); });
}

TEST_F(Sessions, a_session_ended_by_one_mcpivot_cannot_be_rewritten_by_another) {
  Kept one(path);
  Kept two(path);
  one.revoke("u1");
  EXPECT_FALSE(two->revoked("u1"));
  two.put(record_of("u1"));
  Raw(path).run("DELETE FROM revocations");  // which would hide it
  EXPECT_EQ(Kept(path).get("u1"), std::nullopt);
}

TEST_F(Sessions, processes_that_start_and_write_at_the_same_time_lose_nothing) {
  constexpr int processes = 4;
  constexpr int records = 50;
  std::vector<pid_t> children;
  for (int p = 0; p < processes; ++p) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    Kept kept(path);
    if (!kept.opened) ::_exit(2);
    for (int i = 0; i < records; ++i) kept->put(record_of(std::to_string(p) + "-" + std::to_string(i)));
    ::_exit(kept->close(seconds{60}) ? 0 : 1);
  }
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  Kept kept(path);
  for (int p = 0; p < processes; ++p)
    for (int i = 0; i < records; ++i)
      EXPECT_TRUE(kept.get(std::to_string(p) + "-" + std::to_string(i))) << p << " " << i;
}

TEST_F(Sessions, a_damaged_file_is_set_aside_and_a_new_one_created) {
  folder.write("mcpivot/sessions.db", std::string(10'000, 'x'));
  Kept kept(path);
  ASSERT_TRUE(kept.opened) << kept.opened.error();
  EXPECT_TRUE(kept.put(record_of("u1")));
  EXPECT_EQ(read_beginning(path + ".damaged", 4), "xxxx");
  Kept next(path);
  EXPECT_TRUE(next.get("u1"));
}

TEST_F(Sessions, damage_found_later_stops_nothing_and_loses_no_revocation) {
  {
    Kept kept(path);
    for (int i = 0; i < 50; ++i) kept->put(record_of("u" + std::to_string(i), std::string(3000, 's')));
    kept.revoke("gone");
  }
  Kept kept(path);
  ASSERT_TRUE(kept.opened);
  {  // its inner pages, which aren't read when it is opened
    const auto size = std::filesystem::file_size(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(6 * 4096);
    file << std::string(size - 6 * 4096, 'x');
  }
  for (int i = 0; i < 50; ++i) (void)kept.get("u" + std::to_string(i));
  EXPECT_TRUE(std::filesystem::exists(path + ".damaged"));
  EXPECT_TRUE(kept.put(record_of("new")));
  EXPECT_EQ(kept->trouble(), "");
  EXPECT_TRUE(kept->close(seconds{20}));
  Kept next(path);
  EXPECT_TRUE(next.get("new"));
  EXPECT_TRUE(next->revoked("gone"));
}

TEST_F(Sessions, a_file_with_a_truncated_log_is_set_aside_and_a_new_one_created) {
  Kept writer(path);
  for (int i = 0; i < 50; ++i)
    ASSERT_TRUE(writer.put(record_of("u" + std::to_string(i), std::string(3000, 's'))));
  Kept kept(path);
  std::filesystem::resize_file(path + "-wal", 32);  // only its header
  for (int i = 0; i < 50; ++i) (void)kept.get("u" + std::to_string(i));
  EXPECT_TRUE(std::filesystem::exists(path + ".damaged")) << kept->trouble();
  EXPECT_TRUE(kept.put(record_of("new")));
  EXPECT_EQ(kept->trouble(), "");
}

TEST_F(Sessions, a_deleted_file_is_created_again) {
  Kept kept(path);
  kept.put(record_of("u1"));
  kept.revoke("gone");
  for (const char* part : {"", "-wal", "-shm"}) std::filesystem::remove(path + part);
  kept->tidy(now);
  kept.settle();
  kept.until([&] { return std::filesystem::exists(path); });
  EXPECT_TRUE(kept.put(record_of("u2")));
  EXPECT_TRUE(kept->close(seconds{20}));
  Kept next(path);
  EXPECT_TRUE(next.get("u2"));
  EXPECT_TRUE(next->revoked("gone"));
}

TEST_F(Sessions, the_log_of_a_deleted_file_is_not_applied_to_the_new_one) {
  ASSERT_EQ(in_another_process([&]() -> int {
              Kept kept(path);
              const bool good = kept.put(record_of("u1", std::string(50'000, 's')));
              ::_exit(good ? 0 : 1);  // without closing it
            }),
            0);
  ASSERT_TRUE(std::filesystem::exists(path + "-wal"));
  std::filesystem::remove(path);
  Kept kept(path);
  ASSERT_TRUE(kept.opened) << kept.opened.error();
  EXPECT_EQ(kept.get("u1"), std::nullopt);
  EXPECT_TRUE(kept.put(record_of("u2")));
  EXPECT_TRUE(Kept(path).get("u2"));
  EXPECT_FALSE(std::filesystem::exists(path + ".damaged"));
}

TEST_F(Sessions, the_file_of_a_newer_mcpivot_is_left_alone) {
  {
    Kept kept(path);
    kept.put(record_of("u1"));
  }
  Raw(path).run("PRAGMA user_version = 7");
  {
    Kept kept(path);
    ASSERT_FALSE(kept.opened);
    EXPECT_THAT(kept.opened.error(),
                AllOf(HasSubstr(path), HasSubstr("newer mcpivot (schema 7; this one knows 1)")));
    EXPECT_EQ(kept->trouble(), kept.opened.error());
    EXPECT_FALSE(kept.put(record_of("u2")));
    EXPECT_EQ(kept.get("u1"), std::nullopt);
    EXPECT_FALSE(kept.revoke("u3"));
    EXPECT_TRUE(kept->revoked("u3"));
  }
  Raw(path).run("PRAGMA user_version = 1");
  Kept kept(path);
  EXPECT_TRUE(kept.get("u1"));
}

TEST_F(Sessions, a_database_of_another_program_is_left_alone) {
  folder.folder("mcpivot");
  Raw(path).run("CREATE TABLE notes(text)");
  const Kept kept(path);
  ASSERT_FALSE(kept.opened);
  EXPECT_THAT(kept.opened.error(), HasSubstr("isn't mcpivot's database"));
}

TEST_F(Sessions, without_a_writable_folder_sessions_still_work) {
  const std::string place = folder / "closed";
  folder.folder("closed");
  ::chmod(place.c_str(), 0555);
  ::chmod(folder.path().c_str(), 0755);
  const int failures = in_another_process([&] {
    if (::geteuid() == 0 && ::setuid(65534) != 0) return 100;
    Kept kept(place + "/sessions.db");
    int wrong = 0;
    const auto check = [&](bool right) { wrong += right ? 0 : 1; };
    check(!kept.opened && kept.opened.error() == place + "/sessions.db can't be created: Permission denied");
    check(kept->trouble() == kept.opened.error());
    check(!kept.put(record_of("u1")));
    check(!kept.revoke("u2") && kept->revoked("u2"));
    check(kept.get("u2") == std::nullopt);
    return wrong;
  });
  EXPECT_EQ(failures, 0);
}

TEST_F(Sessions, records_that_a_lock_delayed_are_written_later) {
  Kept kept(path);
  Raw other(path);
  kept.put(record_of("u0"));
  other.run("BEGIN IMMEDIATE");
  EXPECT_FALSE(kept.put(record_of("u1", "first")));
  EXPECT_THAT(kept->trouble(), AllOf(HasSubstr(path), HasSubstr("locked by another process")));
  EXPECT_TRUE(kept.get("u0")) << "reading goes on";
  EXPECT_EQ(kept.get("u1"), record_of("u1", "first")) << "and sees what waits";
  other.run("COMMIT");
  kept.until([&] { return kept->trouble().empty(); });
  Kept two(path);
  EXPECT_EQ(two.get("u1"), record_of("u1", "first"));
}

TEST_F(Sessions, a_revocation_that_could_not_be_written_is_written_later) {
  Kept kept(path);
  Raw other(path);
  kept.put(record_of("u1"));
  other.run("BEGIN IMMEDIATE");
  EXPECT_FALSE(kept.revoke("u1"));
  EXPECT_TRUE(kept->revoked("u1"));
  other.run("COMMIT");
  kept.until([&] { return kept->trouble().empty(); });
  const Kept next(path);
  EXPECT_TRUE(Kept(path)->revoked("u1"));
}

// No file of this process may grow beyond this limit: equivalent to a full disk, but needs no privileges.
TEST_F(Sessions, a_full_disk_is_reported_until_there_is_room_again) {
  const int failures = in_another_process([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    Kept kept(path);
    int wrong = 0;
    const auto check = [&](bool right) { wrong += right ? 0 : 1; };
    check(kept.put(record_of("u1")));
    rlimit limit{};
    ::getrlimit(RLIMIT_FSIZE, &limit);
    const rlim_t before = std::exchange(limit.rlim_cur, 100'000);
    ::setrlimit(RLIMIT_FSIZE, &limit);
    check(!kept.put(record_of("u2", std::string(500'000, 's'))));
    check(kept->trouble().find("can't be read or written") != std::string::npos);
    check(kept.get("u1").has_value());
    limit.rlim_cur = before;
    ::setrlimit(RLIMIT_FSIZE, &limit);
    kept.until([&] { return kept->trouble().empty(); });
    check(kept.put(record_of("u3")));
    Kept two(path);
    check(two.get("u2").has_value());
    return wrong;
  });
  EXPECT_EQ(failures, 0);
}

TEST_F(Sessions, waiting_records_are_bounded) {
  Kept kept(path, {.waiting = 3, .waiting_bytes = 100'000, .retry = milliseconds{10}});
  Raw other(path);
  other.run("BEGIN IMMEDIATE");
  EXPECT_FALSE(kept.put(record_of("u0")));
  for (int i = 1; i < 10; ++i) kept->put(record_of("u" + std::to_string(i)));
  kept->put(record_of("u1", std::string(200'000, 's')));
  kept->put(record_of("u2", "changed"));
  EXPECT_EQ(kept.get("u1"), record_of("u1")) << "the older one is better than none";
  EXPECT_EQ(kept.get("u2"), record_of("u2", "changed"));
  EXPECT_EQ(kept.get("u9"), std::nullopt);
  other.run("COMMIT");
  kept.until([&] { return kept->trouble().empty(); });
  EXPECT_TRUE(kept.put(record_of("u9")));
}

TEST_F(Sessions, a_too_large_state_is_omitted_and_a_too_large_hello_is_not_stored) {
  Kept kept(path, {.text = 100});
  EXPECT_TRUE(kept.put(record_of("u1", std::string(100, 's'))));
  EXPECT_EQ(kept.get("u1")->state.size(), 100U);
  EXPECT_TRUE(kept.put(record_of("u1", std::string(101, 's'))));
  EXPECT_EQ(kept.get("u1"), record_of("u1", "")) << "no older state is taken for the newest";
  SessionRecord record = record_of("u2");
  record.hello = std::string(101, 'h');
  EXPECT_FALSE(kept.put(record));
  EXPECT_EQ(kept.get("u2"), std::nullopt);
}

TEST_F(Sessions, revocations_in_memory_are_bounded_and_the_rest_is_on_disk) {
  Kept kept(path, {.revocations = 100});
  for (int i = 0; i < 200; ++i) kept->revoke("u" + std::to_string(i), now + seconds{i + 1});
  kept.settle();
  int in_memory = 0;
  for (int i = 0; i < 200; ++i) in_memory += kept->revoked("u" + std::to_string(i)) ? 1 : 0;
  EXPECT_LE(in_memory, 100);
  EXPECT_GE(in_memory, 80);
  EXPECT_TRUE(kept->revoked("u199"));
  EXPECT_FALSE(kept->revoked("u0"));
  EXPECT_TRUE(kept->close(seconds{20}));
  Kept next(path, {.revocations = 100});
  EXPECT_FALSE(next->revoked("u0"));
  next.get("u0");
  EXPECT_TRUE(next->revoked("u0"));
}

}  // namespace
}  // namespace mcpivot
