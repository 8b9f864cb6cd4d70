#include "journal/journal_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace mcpivot {
namespace {

// How long to wait for a reader. What can't be written by then is retried later.
constexpr int longest_wait_ms = 500;

constexpr const char* tables =
    "CREATE TABLE run(session TEXT NOT NULL, name TEXT NOT NULL, folder TEXT NOT NULL, version TEXT NOT NULL,"
    " pid INTEGER NOT NULL, started INTEGER NOT NULL);"
    "CREATE TABLE calls(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, took INTEGER NOT NULL,"
    " outcome TEXT NOT NULL, client INTEGER NOT NULL, client_name TEXT NOT NULL, method TEXT NOT NULL,"
    " name TEXT NOT NULL, server TEXT NOT NULL, tool TEXT NOT NULL, generation INTEGER NOT NULL,"
    " bytes_in INTEGER NOT NULL, bytes_out INTEGER NOT NULL, retries INTEGER NOT NULL,"
    " complete INTEGER NOT NULL, request INTEGER, sent INTEGER, received INTEGER, answer INTEGER);"
    "CREATE INDEX calls_by_answer ON calls(answer);"
    "CREATE TABLE messages(id INTEGER PRIMARY KEY, at INTEGER NOT NULL, way TEXT NOT NULL,"
    " what TEXT NOT NULL, kind TEXT, method TEXT, client INTEGER, server TEXT, generation INTEGER,"
    " bridged INTEGER NOT NULL, call INTEGER, pair INTEGER, size INTEGER NOT NULL, redacted INTEGER NOT NULL,"
    " same_as INTEGER, why TEXT, text TEXT);"
    "CREATE INDEX messages_by_call ON messages(call) WHERE call IS NOT NULL;"
    "CREATE TABLE tools(server TEXT NOT NULL, tool TEXT NOT NULL, annotations TEXT NOT NULL,"
    " PRIMARY KEY(server, tool)) WITHOUT ROWID;"
    "CREATE TABLE gaps(after INTEGER NOT NULL, at INTEGER NOT NULL, messages INTEGER NOT NULL);"
    "CREATE VIEW conversation AS SELECT m.id, strftime('%Y-%m-%d %H:%M:%f', m.at / 1e6, 'unixepoch',"
    " 'localtime') AS time, m.call, m.way, m.what, m.client, m.server, m.generation, m.method, m.why,"
    " coalesce(m.text, s.text) AS text FROM messages m LEFT JOIN messages s ON s.id = m.same_as;";

constexpr std::array<std::string_view, 5> ways{"from_client", "to_server", "from_server", "to_client", "gap"};
constexpr std::array<std::string_view, 7> whats{"passed",    "changed", "retried", "made",
                                                "cancelled", "refused", "dropped"};
constexpr std::array<std::string_view, 5> kinds{"", "request", "notification", "result", "error"};
constexpr std::array<std::string_view, 5> outcomes{"open", "ok", "tool_error", "error", "cancelled"};

SqliteError failed(const std::string& path, std::string_view what) {
  return {SqliteError::Trouble::passing, fmt::format("{} {}: {}", path, what, std::strerror(errno))};
}

// For our user only, and empty. SQLite gives its other files the same mode.
SqliteResult<void> make_file(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::path(path).parent_path();
  std::error_code ignored;
  fs::create_directories(folder.parent_path(), ignored);
  if (::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return std::unexpected(failed(folder, "can't be created"));
  const int made = ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (made < 0) return std::unexpected(failed(path, "can't be created"));
  ::close(made);
  return {};
}

}  // namespace

std::string_view way_text(JournalEntry::Way way) {
  return ways[std::to_underlying(way)];
}
std::string_view what_text(JournalEntry::What what) {
  return whats[std::to_underlying(what)];
}
std::string_view kind_text(JournalEntry::Kind kind) {
  return kinds[std::to_underlying(kind)];
}
std::string_view outcome_text(RecordedCall::Outcome outcome) {
  return outcomes[std::to_underlying(outcome)];
}
RecordedCall::Outcome outcome_of(std::string_view text) {
  for (std::size_t i = 0; i < outcomes.size(); ++i)
    if (outcomes[i] == text) return static_cast<RecordedCall::Outcome>(i);
  return RecordedCall::Outcome::open;
}

struct JournalFile::Parts {
  explicit Parts(Sqlite opened) : database(std::move(opened)) {
    struct stat file{};
    if (::stat(database.path().c_str(), &file) != 0) return;
    device = file.st_dev;
    inode = file.st_ino;
  }

  Sqlite database;
  dev_t device = 0;
  ino_t inode = 0;
  SqliteStatement message{
      database,
      "INSERT OR REPLACE INTO messages(id, at, way, what, kind, method, client, server, generation, bridged, "
      "call, "
      "pair, size, redacted, same_as, why, text) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"};
  SqliteStatement call{
      database,
      "INSERT OR REPLACE INTO calls(id, at, took, outcome, client, client_name, method, name, server, tool, "
      "generation, bytes_in, bytes_out, retries, complete, request, sent, received, answer)"
      " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"};
  SqliteStatement tool{database, "INSERT OR REPLACE INTO tools(server, tool, annotations) VALUES(?,?,?)"};
  SqliteStatement gap{database, "INSERT INTO gaps(after, at, messages) VALUES(?,?,?)"};
};

JournalFile::JournalFile(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}
JournalFile::JournalFile(JournalFile&&) noexcept = default;
JournalFile& JournalFile::operator=(JournalFile&&) noexcept = default;
JournalFile::~JournalFile() = default;

SqliteResult<JournalFile> JournalFile::create(const std::string& path, const JournalRun& run) {
  if (auto made = make_file(path); !made) return std::unexpected(std::move(made.error()));
  const auto give_up = [&](SqliteError error) {
    for (const char* part : {"", "-wal", "-shm"}) ::unlink((path + part).c_str());
    return std::unexpected(std::move(error));
  };
  auto opened = Sqlite::open(path, Sqlite::Mode::write, longest_wait_ms);
  if (!opened) return give_up(std::move(opened.error()));
  auto ready = opened->run(
      "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 4000;"
      "PRAGMA journal_size_limit = 33554432");
  if (ready)
    ready =
        opened->run(fmt::format("BEGIN IMMEDIATE; {} PRAGMA application_id = {}; PRAGMA user_version = {};"
                                "COMMIT",
                                tables, journal_application, journal_schema));
  if (ready)
    ready = SqliteStatement(*opened,
                            "INSERT INTO run(session, name, folder, version, pid, started)"
                            " VALUES(?,?,?,?,?,?)")
                .with(run.session)
                .with(run.name)
                .with(run.folder)
                .with(run.version)
                .with(run.pid)
                .with(run.started)
                .run();
  if (!ready) return give_up(std::move(ready.error()));
  return JournalFile(std::make_unique<Parts>(std::move(*opened)));
}

namespace {

SqliteStatement& with_or_null(SqliteStatement& statement, std::int64_t number) {
  return number == 0 ? statement.with_null() : statement.with(number);
}
SqliteStatement& with_or_null(SqliteStatement& statement, std::string_view text) {
  return text.empty() ? statement.with_null() : statement.with(text);
}

SqliteResult<void> put(SqliteStatement& statement, const MessageRow& row) {
  statement.with(row.id).with(row.at).with(way_text(row.way)).with(what_text(row.what));
  with_or_null(statement, kind_text(row.kind));
  with_or_null(statement, row.method);
  with_or_null(statement, static_cast<std::int64_t>(row.client));
  with_or_null(statement, row.server);
  with_or_null(statement, std::int64_t{row.generation});
  statement.with(std::int64_t{row.bridged});
  with_or_null(statement, row.call);
  with_or_null(statement, row.pair);
  statement.with(static_cast<std::int64_t>(row.size)).with(static_cast<std::int64_t>(row.redacted));
  with_or_null(statement, row.same_as);
  with_or_null(statement, row.why);
  row.text ? statement.with(*row.text) : statement.with_null();
  return statement.run();
}

SqliteResult<void> put(SqliteStatement& statement, const CallRow& row) {
  statement.with(row.id)
      .with(row.at)
      .with(row.took)
      .with(outcome_text(row.outcome))
      .with(static_cast<std::int64_t>(row.client))
      .with(row.client_name)
      .with(row.method)
      .with(row.name)
      .with(row.server)
      .with(row.tool)
      .with(std::int64_t{row.generation})
      .with(static_cast<std::int64_t>(row.bytes_in))
      .with(static_cast<std::int64_t>(row.bytes_out))
      .with(std::int64_t{row.retries})
      .with(std::int64_t{row.complete});
  for (const std::int64_t message : {row.request, row.sent, row.received, row.answer})
    with_or_null(statement, message);
  return statement.run();
}

}  // namespace

SqliteResult<void> JournalFile::write(const JournalRows& rows) {
  Parts& parts = *parts_;
  const auto all = [&]() -> SqliteResult<void> {
    for (const MessageRow& row : rows.messages)
      if (auto done = put(parts.message, row); !done) return done;
    for (const CallRow& row : rows.calls)
      if (auto done = put(parts.call, row); !done) return done;
    for (const ToolRow& row : rows.tools)
      if (auto done = parts.tool.with(row.server).with(row.tool).with(row.annotations).run(); !done)
        return done;
    for (const GapRow& row : rows.gaps)
      if (auto done =
              parts.gap.with(row.after).with(row.at).with(static_cast<std::int64_t>(row.messages)).run();
          !done)
        return done;
    return {};
  };
  if (auto begun = parts.database.run("BEGIN IMMEDIATE"); !begun) return begun;
  auto done = all();
  if (done) done = parts.database.run("COMMIT");
  if (!done) (void)parts.database.run("ROLLBACK");
  return done;
}

bool JournalFile::in_place() const {
  struct stat file{};
  return ::stat(path().c_str(), &file) == 0 && file.st_dev == parts_->device && file.st_ino == parts_->inode;
}

std::uint64_t JournalFile::bytes() const {
  std::uint64_t bytes = 0;
  for (const char* part : {"", "-wal"}) {
    struct stat file{};
    if (::stat((path() + part).c_str(), &file) == 0) bytes += static_cast<std::uint64_t>(file.st_size);
  }
  return bytes;
}

const std::string& JournalFile::path() const {
  return parts_->database.path();
}

}  // namespace mcpivot
