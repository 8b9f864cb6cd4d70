// What the writer writes, the reader reads; and what happens to a journal that can't be written.
#include <gmock/gmock.h>
#include <pthread.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <algorithm>
#include <atomic>
#include <future>

#include "host/comes_true.h"
#include "host/temporary_directory.h"
#include "journal/journal_fixture.h"
#include "journal/journal_reader.h"
#include "journal/journal_writer.h"

namespace mcpivot {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

class WrittenJournal : public testing::Test {
 protected:
  void begin(JournalSettings settings = {}) {
    settings.folder = folder / "journal";
    if (settings.pause == JournalSettings().pause) settings.pause = 1ms;
    settings.retry = 5ms;
    writer = std::make_shared<JournalWriter>(settings, [this](std::string words) {
      const std::lock_guard lock(mutex);
      told.push_back(std::move(words));
      spoken.notify_all();
    });
    ASSERT_TRUE(writer->start());
    feed.emplace(writer->queue());
    feed->now = std::chrono::steady_clock::now().time_since_epoch().count();
  }
  void call(std::int64_t id, const std::string& tool = "echo", const std::string& answer = "fine",
            bool failed = false) {
    feed->call(id, tool, R"({"a":1})", answer, failed);
    if (writer->queue().is_asleep()) writer->wake();
  }
  bool end() { return writer->close(10s); }
  void wait_for_calls(std::size_t count) {
    if (host::comes_true([&] { return calls().size() >= count; })) return;
    ADD_FAILURE() << "there are " << calls().size() << " calls instead of " << count;
  }
  void wait_for_words(std::size_t count) {
    std::unique_lock lock(mutex);
    if (spoken.wait_for(lock, 20s, [&] { return told.size() >= count; })) return;
    throw std::runtime_error(told.empty() ? "nothing was told" : "only: " + told.back());
  }
  std::vector<RecordedCall> calls(const CallFilter& filter = {}) const {
    const auto reader = JournalReader::open(folder / "journal");
    if (!reader) return {};
    return reader->calls(filter).value_or(std::vector<RecordedCall>());
  }
  std::vector<std::string> files() const { return journals_in(folder / "journal"); }

  host::TemporaryDirectory folder;
  std::shared_ptr<JournalWriter> writer;
  std::optional<JournalFeed> feed;
  std::mutex mutex;
  std::condition_variable spoken;
  std::vector<std::string> told;
};

TEST_F(WrittenJournal, calls_can_be_read_after_they_are_written) {
  begin();
  call(1);
  call(2, "fail", "no", true);
  EXPECT_TRUE(end());
  const auto all = calls();
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].name(), writer->session() + ":1");
  EXPECT_EQ(all[0].tool, "echo");
  EXPECT_EQ(all[0].arguments, R"({"a":1})");
  EXPECT_EQ(all[0].answer, R"({"content":[{"type":"text","text":"fine"}]})");
  EXPECT_TRUE(all[0].is_complete);
  EXPECT_EQ(all[1].outcome, RecordedCall::Outcome::tool_error);
  EXPECT_LT(std::chrono::abs(all[0].when - std::chrono::system_clock::now()), 1min);
  EXPECT_THAT(calls({.errors = true}), SizeIs(1));
  EXPECT_THAT(calls({.tool = "ECH"}), SizeIs(1));
  EXPECT_THAT(calls({.text = "\"fine\""}), SizeIs(1));
  EXPECT_THAT(calls({.text = "fine_"}), IsEmpty());
  EXPECT_THAT(calls({.text = "FINE"}), SizeIs(1));
  EXPECT_THAT(calls({.slow = 1s}), IsEmpty());
  EXPECT_THAT(calls({.server = "DE"}), SizeIs(2));
  EXPECT_THAT(calls({.of_server = "de"}), IsEmpty());
  EXPECT_THAT(calls({.of_server = "dev", .folder = std::filesystem::current_path()}), SizeIs(2));
  EXPECT_THAT(calls({.folder = "/somewhere/else"}), IsEmpty());
  EXPECT_THAT(calls({.since = std::chrono::system_clock::now() + 1h}), IsEmpty());
  EXPECT_THAT(calls({.most = 1}), ElementsAre(testing::Field(&RecordedCall::tool, "fail")));
}

TEST_F(WrittenJournal, only_calls_that_fit_into_the_allowed_bytes_are_read) {
  begin();
  call(1, "first");
  feed->call(2, "large", R"({"a":")" + std::string(100'000, 'x') + "\"}", "fine");
  call(3, "last");
  EXPECT_TRUE(end());
  EXPECT_THAT(calls({.most_bytes = 10'000}), ElementsAre(testing::Field(&RecordedCall::tool, "first"),
                                                         testing::Field(&RecordedCall::tool, "last")));
  EXPECT_THAT(calls({.most_bytes = 150}), ElementsAre(testing::Field(&RecordedCall::tool, "last")));
}

TEST(JournalThread, that_cannot_be_started_leaves_the_signal_mask_unchanged) {
  pthread_attr_t usual;
  pthread_attr_t vast;
  ASSERT_EQ(::pthread_getattr_default_np(&usual), 0);
  ASSERT_EQ(::pthread_getattr_default_np(&vast), 0);
  ASSERT_EQ(::pthread_attr_setstacksize(&vast, 1UL << 46U), 0);  // more than there is
  ASSERT_EQ(::pthread_setattr_default_np(&vast), 0);
  const host::TemporaryDirectory folder;
  const auto writer = std::make_shared<JournalWriter>(JournalSettings{.folder = folder / "journal"},
                                                      [](const std::string&) {});
  const auto started = writer->start();
  ::pthread_setattr_default_np(&usual);
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error(), "its thread can't be started: Resource temporarily unavailable");
  sigset_t blocked;
  ASSERT_EQ(::pthread_sigmask(SIG_SETMASK, nullptr, &blocked), 0);
  EXPECT_EQ(sigismember(&blocked, SIGTERM), 0);
  EXPECT_TRUE(writer->close(0ms));
}

TEST_F(WrittenJournal, the_newest_calls_are_found_in_all_files) {
  for (int session = 0; session < 5; ++session) {
    begin();
    for (int id = 1; id <= 3; ++id) call(id, "tool" + std::to_string(session * 3 + id));
    ASSERT_TRUE(end());
  }
  const auto all = calls();
  ASSERT_THAT(all, SizeIs(15));
  for (const std::size_t most : {1U, 2U, 3U, 4U, 7U, 15U, 20U})
    EXPECT_EQ(calls({.most = most}),
              std::vector(all.end() - static_cast<std::ptrdiff_t>(std::min(most, all.size())), all.end()))
        << most;
}

TEST_F(WrittenJournal, its_files_are_private) {
  begin();
  call(1);
  EXPECT_TRUE(end());
  struct stat file{};
  ASSERT_EQ(::stat((folder / "journal").c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0700U);
  ASSERT_THAT(files(), SizeIs(1));
  ASSERT_EQ(::stat(files()[0].c_str(), &file), 0);
  EXPECT_EQ(file.st_mode & 0777U, 0600U);
}

TEST_F(WrittenJournal, a_reader_sees_only_new_calls) {
  begin();
  call(1);
  ASSERT_TRUE(end());
  const auto reader = JournalReader::open(folder / "journal");
  ASSERT_TRUE(reader);
  JournalReader::Seen seen;
  EXPECT_THAT(reader->newer({}, seen), SizeIs(1));
  EXPECT_THAT(reader->newer({}, seen), IsEmpty());
  begin();  // another session, which the reader finds
  call(5);
  ASSERT_TRUE(end());
  EXPECT_THAT(reader->newer({}, seen), SizeIs(1));
  seen = reader->all_so_far();
  EXPECT_THAT(reader->newer({}, seen), IsEmpty());
  begin();
  call(7);
  ASSERT_TRUE(end());
  EXPECT_THAT(reader->newer({}, seen), SizeIs(1));
}

TEST_F(WrittenJournal, a_reader_sees_what_is_new_in_several_sessions_as_it_ended) {
  begin();
  call(1, "first");
  wait_for_calls(1);
  const auto earlier = writer;
  JournalFeed feed_of_earlier = *feed;
  begin();
  feed->now = feed_of_earlier.now + 10'000'000;
  call(1, "second");
  ASSERT_TRUE(end());
  feed_of_earlier.now = feed->now + 10'000'000;
  feed_of_earlier.call(2, "third", "{}", "fine");
  ASSERT_TRUE(earlier->close(10s));
  const auto reader = JournalReader::open(folder / "journal");
  JournalReader::Seen seen;
  std::vector<std::string> tools;
  for (const RecordedCall& one : reader->newer({}, seen)) tools.push_back(one.tool);
  EXPECT_THAT(tools, ElementsAre("first", "second", "third"));
}

// Several projects may be worked on at once.
TEST_F(WrittenJournal, the_last_session_is_one_of_the_current_folder_if_there_is_any) {
  std::filesystem::create_directory_symlink(folder.path(), folder / "mcpivot");
  ::setenv("XDG_STATE_HOME", folder.path().c_str(), 1);
  const auto record = [&](const std::string& tool) {
    begin();
    call(1, tool);
    EXPECT_TRUE(end());
    return writer->session();
  };
  const auto move_away = [&](const std::string& session) {
    const std::string name = JournalName{day_of(std::chrono::system_clock::now()), session}.file();
    const std::string file = folder / ("journal/" + name);
    sqlite3* journal = nullptr;
    ASSERT_EQ(sqlite3_open(file.c_str(), &journal), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(journal, "UPDATE run SET folder = '/elsewhere'", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(journal);
  };
  const auto last = [] { return JournalReader::open("last")->calls({}).value().at(0).tool; };
  const std::string first = record("first");
  const std::string second = record("second");
  EXPECT_EQ(last(), "second");
  move_away(second);
  EXPECT_EQ(last(), "first");
  move_away(first);
  EXPECT_EQ(last(), "first") << "of all that are elsewhere, the newest";
  ::unsetenv("XDG_STATE_HOME");
}

// As if the writer had fallen asleep at the same moment, so that neither thread saw the other.
TEST_F(WrittenJournal, an_entry_added_while_its_writer_falls_asleep_is_written_without_waking_it) {
  begin({.pause = 300ms});
  ASSERT_TRUE(host::comes_true([&] { return writer->queue().is_asleep(); }));
  feed->call(1, "echo", "{}", "fine");
  wait_for_calls(1);
  EXPECT_TRUE(end());
}

// The writer takes what was put before and after a new configuration at once.
TEST_F(WrittenJournal, a_new_secret_is_hidden_in_the_first_message_that_follows_it) {
  std::promise<void> taking;
  std::promise<void> go_on;
  std::atomic<int> asked_for_date{0};
  JournalSettings settings;
  settings.date = [&] {
    if (++asked_for_date == 2) {  // the first time is the start of the session
      taking.set_value();
      go_on.get_future().wait();
    }
    return std::chrono::system_clock::now();
  };
  begin(settings);
  call(1, "echo", "brand-new-secret");  // not yet
  taking.get_future().wait();
  writer->set_redactor(Redactor({{"KEY", "brand-new-secret"}}, {}));
  call(2, "echo", "brand-new-secret");
  go_on.set_value();
  EXPECT_TRUE(end());
  EXPECT_THAT(calls().at(1).answer, AllOf(HasSubstr("[redacted KEY]"), Not(HasSubstr("brand-new-secret"))));
}

TEST_F(WrittenJournal, one_that_may_be_smaller_from_now_on_is_cut_at_once) {
  for (int session = 0; session < 3; ++session) {
    begin();
    call(1, "echo", std::string(1'000'000, 'x'));
    ASSERT_TRUE(end());
  }
  begin();
  call(1);
  wait_for_calls(4);
  writer->set_limits({.bytes = 1'600'000});
  call(2);
  EXPECT_TRUE(host::comes_true([&] { return files().size() == 2; })) << files().size();
  EXPECT_TRUE(end());
}

TEST_F(WrittenJournal, calls_are_written_later_if_the_file_is_locked) {
  begin();
  call(1);
  wait_for_calls(1);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(files().at(0).c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  for (int id = 2; id < 20; ++id) call(id);
  wait_for_words(1);
  EXPECT_THAT(told[0], HasSubstr("is locked by another process"));
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  wait_for_words(2);
  EXPECT_THAT(told[1], HasSubstr("works again"));
  EXPECT_TRUE(end());
  EXPECT_THAT(calls(), SizeIs(19));
  EXPECT_THAT(told, SizeIs(2));
}

TEST_F(WrittenJournal, calls_that_do_not_fit_while_it_is_locked_are_a_counted_gap) {
  JournalSettings settings;
  settings.queue_bytes = 20'000;
  begin(settings);
  call(1);
  wait_for_calls(1);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(files().at(0).c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "BEGIN IMMEDIATE", nullptr, nullptr, nullptr), SQLITE_OK);
  for (int id = 2; id < 500; ++id) call(id);
  ASSERT_EQ(sqlite3_exec(other, "COMMIT", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  EXPECT_TRUE(end());
  const auto reader = JournalReader::open(folder / "journal");
  ASSERT_TRUE(reader);
  std::uint64_t messages = 0;
  ASSERT_TRUE(reader->each_message({}, [&](const RecordedMessage&) { return ++messages > 0; }));
  EXPECT_GT(reader->missing(), 0U);
  EXPECT_EQ(messages + reader->missing(), 499U * 4);
}

TEST_F(WrittenJournal, a_damaged_file_is_left_alone_and_another_one_created) {
  begin();
  call(1);
  wait_for_calls(1);
  const std::string first = files().at(0);
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(first.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(other,
                   "PRAGMA writable_schema = ON; UPDATE sqlite_schema SET sql = 'CREATE TABEL' WHERE name = "
                   "'messages'; PRAGMA schema_version = 999",
                   nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(other);
  call(2);
  wait_for_words(2);
  EXPECT_TRUE(end());
  EXPECT_THAT(told[0], HasSubstr("mcpivot starts a new file"));
  const auto all = calls();
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_EQ(all[0].id, 2);
  const auto reader = JournalReader::open(folder / "journal");
  (void)reader->calls({});
  EXPECT_THAT(reader->notes(), ElementsAre(HasSubstr(first)));
}

TEST_F(WrittenJournal, a_deleted_folder_is_created_again) {
  begin();
  call(1);
  wait_for_calls(1);
  folder.remove("journal");
  call(2);
  EXPECT_TRUE(end());
  EXPECT_THAT(calls(), ElementsAre(testing::Field(&RecordedCall::id, 2)));
}

TEST_F(WrittenJournal, writing_is_retried_on_a_full_disk) {
  begin();
  call(1);
  wait_for_calls(1);
  const auto before = ::signal(SIGXFSZ, SIG_IGN);
  rlimit limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &limit), 0);
  const rlimit tight{.rlim_cur = 8192, .rlim_max = limit.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  call(2, "echo", std::string(100'000, 'x'));
  wait_for_words(1);
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  ::signal(SIGXFSZ, before);
  wait_for_words(2);
  EXPECT_TRUE(end());
  EXPECT_THAT(told[0], HasSubstr("can't be"));
  EXPECT_THAT(calls(), SizeIs(2));
}

TEST_F(WrittenJournal, the_file_of_a_newer_mcpivot_is_skipped_with_a_note) {
  begin();
  call(1);
  EXPECT_TRUE(end());
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(files().at(0).c_str(), &other), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(other, "PRAGMA user_version = 99", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(other);
  const auto reader = JournalReader::open(folder / "journal");
  ASSERT_TRUE(reader);
  EXPECT_THAT(*reader->calls({}), IsEmpty());
  EXPECT_THAT(reader->notes(), ElementsAre(HasSubstr("newer mcpivot (schema 99; this one knows 1)")));
}

TEST_F(WrittenJournal, only_the_journal_fails_if_its_folder_cannot_be_created) {
  folder.write("journal", "a file is in its place");
  begin();
  call(1);
  wait_for_words(1);
  EXPECT_THAT(told[0], HasSubstr("can't be created"));
  folder.remove("journal");
  wait_for_words(2);
  EXPECT_TRUE(end());
  EXPECT_THAT(calls(), SizeIs(1));
}

TEST_F(WrittenJournal, a_large_file_is_followed_by_another_and_the_oldest_are_deleted) {
  JournalSettings settings;
  settings.limits.bytes = 2'000'000;
  begin(settings);
  for (int id = 1; id <= 40; ++id) {
    call(id, "echo", std::string(200'000, 'x'));
    ASSERT_TRUE(host::comes_true([&] { return writer->queue().bytes() == 0; })) << "nothing is written";
  }
  EXPECT_TRUE(end());
  EXPECT_GT(files().size(), 1U);
  EXPECT_LT(files().size(), 12U);
  const auto all = calls();
  EXPECT_LT(all.size(), 40U);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().id, 40);
}

TEST_F(WrittenJournal, has_one_file_per_day_and_calls_open_at_midnight_are_complete) {
  const auto noon = std::chrono::system_clock::now();
  std::atomic<std::int64_t> hours{0};
  JournalSettings settings;
  settings.date = [&] { return noon + std::chrono::hours(hours); };
  begin(settings);
  call(1);
  feed->ask(2, "slow", "{}");
  writer->wake();
  wait_for_calls(2);
  hours = 24;
  feed->answer(2, "done");
  call(3);
  wait_for_calls(3);
  hours = 0;  // the clock was set back
  call(4);
  EXPECT_TRUE(end());
  EXPECT_THAT(files(), SizeIs(3));
  EXPECT_THAT(files(),
              ElementsAre(HasSubstr(day_of(noon)), HasSubstr(day_of(noon) + "-" + writer->session() + "-2"),
                          HasSubstr(day_of(noon + 24h))));
  const auto all = calls();
  ASSERT_THAT(all, SizeIs(4));
  const auto slow = std::ranges::find(all, "slow", &RecordedCall::tool);
  EXPECT_EQ(slow->outcome, RecordedCall::Outcome::ok);
  EXPECT_TRUE(slow->is_complete);
  EXPECT_THAT(slow->answer, HasSubstr("done"));
  EXPECT_LT(slow->took, 1h);
}

TEST(JournalName, is_parsed_as_it_is_formatted) {
  for (const JournalName& name : {JournalName{"2026-11-18", "1f3a", 1}, JournalName{"2026-11-18", "0c", 12}})
    EXPECT_EQ(JournalName::read(name.file()), name);
  for (const char* other :
       {"2026-11-18-1f3a.db-wal", "sessions.db", "2026-11-18-.db", "2026-11-18-1f3a-x.db", ""})
    EXPECT_FALSE(JournalName::read(other)) << other;
}

TEST(JournalFolder, old_journals_are_deleted) {
  const host::TemporaryDirectory folder;
  folder.write("2026-01-01-aaaa.db", "x");
  folder.write("2026-01-01-aaaa.db-wal", "x");
  folder.write("2026-01-02-bbbb.db", "x");
  folder.write("notes.txt", "mine");
  const auto later = std::chrono::system_clock::now() + std::chrono::days(15);
  EXPECT_EQ(delete_old_journals(folder.path(), {}, folder / "2026-01-02-bbbb.db", later), 1U);
  EXPECT_THAT(journals_in(folder.path()), ElementsAre(HasSubstr("bbbb")));
  EXPECT_EQ(::access((folder / "2026-01-01-aaaa.db-wal").c_str(), F_OK), -1);
  EXPECT_EQ(::access((folder / "notes.txt").c_str(), F_OK), 0);
}

TEST(JournalReader, says_what_does_not_exist) {
  const host::TemporaryDirectory folder;
  EXPECT_THAT(JournalReader::open(folder.path()).error(), HasSubstr("there is no journal in"));
  folder.write("other.db", "not a database, but long enough to look like one: " + std::string(1000, 'x'));
  EXPECT_THAT(JournalReader::open(folder / "other.db").error(), HasSubstr("is damaged"));
}

}  // namespace
}  // namespace mcpivot
