#include "front/session_db.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "front/private_file.h"

namespace mcpivot {
namespace {

using std::chrono::seconds;
using std::chrono::sys_seconds;
using Trouble = SessionDb::Trouble;

constexpr int schema = 1;
constexpr int application = 0x6d637076;  // "mcpv": identifies our files
// For another mcpivot to finish writing. What can't be written by then is retried later.
constexpr int longest_wait_ms = 500;
constexpr int largest_gib = 1;

std::int64_t count_of(sys_seconds time) {
  return time.time_since_epoch().count();
}

sys_seconds time_of(const SqliteStatement& row, int column) {
  return sys_seconds(seconds(row.number(column)));
}

std::unexpected<SessionDb::Error> refused(const std::string& path, std::string_view words,
                                          Trouble trouble = Trouble::refused) {
  return std::unexpected(SessionDb::Error{trouble, fmt::format("{} {}", path, words)});
}

// Held while a database is created or renamed, both of which are rare; just opening one doesn't need
// it.
class FileLock {
 public:
  explicit FileLock(const std::string& path)
      : descriptor_(::open((path + ".lock").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (good() && ::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~FileLock() {
    if (good()) ::close(descriptor_);
  }
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  bool good() const { return descriptor_ >= 0; }

 private:
  int descriptor_;
};

}  // namespace

SessionDb::SessionDb(Identity identity, Sqlite database)
    : identity_(identity), database_(std::move(database)) {}

SessionDb::Identity SessionDb::identity_of(const std::string& path) {
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) return {};
  return {file.st_dev, file.st_ino};
}

bool SessionDb::in_place() const {
  return identity_of(path()) == identity_;
}

// --- opening ---------------------------------------------------------------------------------------------

// A new database gets its name only when it is complete: SQLite doesn't wait for another process that is just
// switching to WAL mode.
std::expected<void, SessionDb::Error> SessionDb::make(const std::string& path) {
  const auto failed = [&] {
    return refused(path, fmt::format("can't be created: {}", std::strerror(errno)), Trouble::passing);
  };
  if (!make_private_folder(path)) return failed();
  std::string draft = path + ".XXXXXX";
  const int made =
      ::mkostemp(draft.data(), O_CLOEXEC);  // with mode 0600, which SQLite's other files also get
  if (made < 0) return failed();
  ::close(made);
  if (const auto complete = open_file(draft, path); !complete) {
    for (const char* part : {"-wal", "-shm", ""}) ::unlink((draft + part).c_str());
    return std::unexpected(complete.error());
  }
  const FileLock lock(path);
  if (!lock.good()) return failed();
  // What a deleted database left behind would be mistaken for the log of the new one. As long as there is no
  // database and we hold the lock, nobody uses it.
  if (identity_of(path) == Identity{})
    for (const char* part : {"-wal", "-shm"}) ::unlink((path + part).c_str());
  if (!place_new_file(draft, path) && errno != EEXIST) return failed();
  return {};
}

// Opens the file under any name; errors show the name that it should have.
std::expected<SessionDb, SessionDb::Error> SessionDb::open_file(const std::string& file,
                                                                const std::string& path) {
  const Identity identity = identity_of(file);
  auto opened = Sqlite::open(file, Sqlite::Mode::write, longest_wait_ms, path);
  if (!opened) return std::unexpected(std::move(opened.error()));
  SessionDb db(identity, std::move(*opened));
  if (const auto ready = db.set_up(); !ready) return std::unexpected(ready.error());
  return db;
}

// Only SQLite ever opens the file: when a process closes a file, it loses all its locks on it, including
// SQLite's.
std::expected<SessionDb, SessionDb::Error> SessionDb::open_once(const std::string& path) {
  const auto failed = [&](std::string_view what) {
    return refused(path, fmt::format("can't be {}: {}", what, std::strerror(errno)), Trouble::passing);
  };
  struct stat file{};
  if (::stat(path.c_str(), &file) != 0) {
    if (errno != ENOENT) return failed("read");
    if (const auto made = make(path); !made) return std::unexpected(made.error());
    if (::stat(path.c_str(), &file) != 0) return failed("read");
  }
  if (!S_ISREG(file.st_mode)) return refused(path, "isn't a regular file");
  if (file.st_uid != ::geteuid())
    return refused(path, fmt::format("belongs to another user (uid {}; mcpivot runs as uid {})", file.st_uid,
                                     ::geteuid()));
  if ((file.st_mode & 077U) != 0 && ::chmod(path.c_str(), 0600) != 0) return failed("closed to other users");
  return open_file(path, path);
}

std::expected<SessionDb, SessionDb::Error> SessionDb::open(const std::string& path) {
  Identity seen = identity_of(path);
  auto opened = open_once(path);
  if (opened || opened.error().trouble != Trouble::damaged) return opened;
  auto aside = put_aside(path, seen);
  if (!aside) return std::unexpected(aside.error());
  opened = open_once(path);
  if (opened) opened->note_ = std::move(*aside);
  return opened;
}

std::expected<SessionDb, SessionDb::Error> SessionDb::replaced(SessionDb damaged) {
  const std::string path = damaged.path();
  const Identity seen = damaged.identity_;
  damaged.database_ = {};
  auto aside = put_aside(path, seen);
  if (!aside) return std::unexpected(aside.error());
  auto opened = open_once(path);
  if (opened) opened->note_ = std::move(*aside);
  return opened;
}

// Another mcpivot may also see the damage: only the first one renames the file. A process that has it open
// keeps using it under its new name, until it sees the damage, or that the file was moved.
std::expected<std::string, SessionDb::Error> SessionDb::put_aside(const std::string& path, Identity damaged) {
  const auto failed = [&] {
    return refused(path, fmt::format("is damaged, and can't be moved away: {}", std::strerror(errno)));
  };
  const FileLock lock(path);
  if (!lock.good()) return failed();
  const std::string aside = path + ".damaged";
  bool good = true;
  if (identity_of(path) == damaged) {
    // The database itself is renamed last: a new one would also be damaged by the log of another.
    for (const char* part : {"-wal", "-shm", ""}) {
      if (::rename((path + part).c_str(), (aside + part).c_str()) == 0) continue;
      good = errno == ENOENT && *part != '\0';
      if (!good) break;
      ::unlink((aside + part).c_str());  // of an earlier one
    }
  }
  if (!good) return failed();
  return fmt::format(
      "{} was damaged and is now {}; mcpivot started a new one, without the sessions' settings", path, aside);
}

std::expected<void, SessionDb::Error> SessionDb::set_up() {
  const auto version = database_.number("PRAGMA user_version");
  if (!version) return std::unexpected(version.error());
  const auto owner = database_.number("PRAGMA application_id");
  if (!owner) return std::unexpected(owner.error());
  const auto tables = database_.number("SELECT count(*) FROM sqlite_schema");
  if (!tables) return std::unexpected(tables.error());
  if (*owner != application && (*owner != 0 || *version != 0 || *tables != 0))
    return refused(path(), "isn't mcpivot's database");
  if (*version > schema)
    return refused(path(), fmt::format("was written by a newer mcpivot (schema {}; this one knows {})",
                                       *version, schema));
  if (sqlite3_db_readonly(database_.handle(), "main") != 0)
    return refused(path(), "can't be written: it is read-only", Trouble::passing);
  // A commit is then an append to the log: quick, and durable even if we are killed right after it.
  if (const auto fast = database_.run("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;"
                                      "PRAGMA journal_size_limit = 16777216");
      !fast)
    return fast;
  if (const auto bounded = database_.limit(largest_gib); !bounded) return bounded;
  return *version == schema ? std::expected<void, Error>() : make_tables();
}

// Another mcpivot may be doing the same: the second one finds the tables.
std::expected<void, SessionDb::Error> SessionDb::make_tables() {
  return database_.run(
      fmt::format("BEGIN IMMEDIATE;"
                  "CREATE TABLE IF NOT EXISTS sessions(uid TEXT PRIMARY KEY, principal TEXT NOT NULL,"
                  " profile TEXT NOT NULL, hello TEXT NOT NULL, state TEXT NOT NULL,"
                  " updated INTEGER NOT NULL, expires INTEGER NOT NULL);"
                  "CREATE INDEX IF NOT EXISTS sessions_by_end ON sessions(expires);"
                  "CREATE TABLE IF NOT EXISTS revocations(uid TEXT PRIMARY KEY, until INTEGER NOT NULL);"
                  "CREATE INDEX IF NOT EXISTS revocations_by_end ON revocations(until);"
                  "PRAGMA application_id = {}; PRAGMA user_version = {};"
                  "COMMIT",
                  application, schema));
}

// --- queries ---------------------------------------------------------------------------------------------

std::expected<void, SessionDb::Error> SessionDb::put(const SessionRecord& record) {
  return SqliteStatement(
             database_,
             "INSERT OR REPLACE INTO sessions(uid, principal, profile, hello, state, updated, expires)"
             " SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7 WHERE ?1 NOT IN (SELECT uid FROM revocations)")
      .with(record.uid)
      .with(record.principal)
      .with(record.profile)
      .with(record.hello)
      .with(record.state)
      .with(count_of(record.updated))
      .with(count_of(record.expires))
      .run();
}

std::expected<SessionDb::Found, SessionDb::Error> SessionDb::get(const std::string& uid) {
  Found found;
  SqliteStatement ended(database_, "SELECT until FROM revocations WHERE uid = ?1");
  const auto revoked = ended.with(uid).row();
  if (!revoked) return std::unexpected(revoked.error());
  if (*revoked) {
    found.revoked = {uid, time_of(ended, 0)};
    return found;
  }
  SqliteStatement asked(
      database_, "SELECT principal, profile, hello, state, updated, expires FROM sessions WHERE uid = ?1");
  const auto row = asked.with(uid).row();
  if (!row) return std::unexpected(row.error());
  if (*row)
    found.record = {.uid = uid,
                    .principal = asked.text(0),
                    .profile = asked.text(1),
                    .hello = asked.text(2),
                    .state = asked.text(3),
                    .updated = time_of(asked, 4),
                    .expires = time_of(asked, 5)};
  return found;
}

std::expected<SessionDb::Listed, SessionDb::Error> SessionDb::list(const std::string& begin, sys_seconds now,
                                                                   std::size_t most) {
  Listed listed;
  SqliteStatement all(database_,
                      "SELECT count(*) FROM sessions WHERE substr(uid, 1, length(?1)) = ?1 AND expires > ?2");
  const auto count = all.with(begin).with(count_of(now)).row();
  if (!count) return std::unexpected(count.error());
  listed.all = *count ? static_cast<std::size_t>(all.number(0)) : 0;
  SqliteStatement asked(
      database_,
      "SELECT uid, principal, profile, hello, updated, expires FROM sessions"
      " WHERE substr(uid, 1, length(?1)) = ?1 AND expires > ?2 ORDER BY updated DESC, uid LIMIT ?3");
  asked.with(begin).with(count_of(now)).with(static_cast<std::int64_t>(most));
  while (true) {
    const auto row = asked.row();
    if (!row) return std::unexpected(row.error());
    if (!*row) return listed;
    listed.records.push_back({.uid = asked.text(0),
                              .principal = asked.text(1),
                              .profile = asked.text(2),
                              .hello = asked.text(3),
                              .state = {},
                              .updated = time_of(asked, 4),
                              .expires = time_of(asked, 5)});
  }
}

std::expected<void, SessionDb::Error> SessionDb::revoke(std::span<const Revocation> revocations) {
  const auto all = [&]() -> std::expected<void, Error> {
    for (const Revocation& one : revocations) {
      auto done = SqliteStatement(database_,
                                  "INSERT INTO revocations(uid, until) VALUES(?1, ?2)"
                                  " ON CONFLICT(uid) DO UPDATE SET until = max(until, excluded.until)")
                      .with(one.uid)
                      .with(count_of(one.until))
                      .run();
      if (done) done = SqliteStatement(database_, "DELETE FROM sessions WHERE uid = ?1").with(one.uid).run();
      if (!done) return done;
    }
    return {};
  };
  if (const auto safe = database_.run("PRAGMA synchronous = FULL; BEGIN IMMEDIATE"); !safe) return safe;
  auto done = all();
  if (done) done = database_.run("COMMIT");
  if (!done && sqlite3_get_autocommit(database_.handle()) == 0) (void)database_.run("ROLLBACK");
  (void)database_.run("PRAGMA synchronous = NORMAL");
  return done;
}

std::expected<std::vector<Revocation>, SessionDb::Error> SessionDb::revocations(sys_seconds now,
                                                                                std::size_t most) {
  std::vector<Revocation> all;
  SqliteStatement asked(database_,
                        "SELECT uid, until FROM revocations WHERE until > ?1 ORDER BY until DESC LIMIT ?2");
  asked.with(count_of(now)).with(static_cast<std::int64_t>(most));
  while (true) {
    const auto row = asked.row();
    if (!row) return std::unexpected(row.error());
    if (!*row) return all;
    all.push_back({asked.text(0), time_of(asked, 1)});
  }
}

std::expected<void, SessionDb::Error> SessionDb::forget_expired(sys_seconds now) {
  if (auto done =
          SqliteStatement(database_, "DELETE FROM sessions WHERE expires <= ?1").with(count_of(now)).run();
      !done)
    return done;
  return SqliteStatement(database_, "DELETE FROM revocations WHERE until <= ?1").with(count_of(now)).run();
}

}  // namespace mcpivot
