#include "sqlite/sqlite.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <cstring>
#include <utility>

namespace mcpivot {

using Trouble = SqliteError::Trouble;

void Sqlite::Close::operator()(sqlite3* database) const {
  sqlite3_close_v2(database);
}

SqliteError Sqlite::error(int code) const {
  const auto say = [&](Trouble trouble, std::string_view words) {
    return SqliteError{trouble, fmt::format("{} {}", path_, words)};
  };
  const int system = sqlite3_system_errno(database_.get());
  const char* const why = system != 0 ? std::strerror(system) : sqlite3_errstr(code);
  if (code == SQLITE_READONLY_DBMOVED) return say(Trouble::moved, "was moved away");
  if (code == SQLITE_IOERR_SHORT_READ || code == SQLITE_IOERR_CORRUPTFS)
    return say(Trouble::damaged, "is damaged");
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return say(Trouble::damaged, "is damaged");
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return say(Trouble::locked, "is locked by another process");
    case SQLITE_FULL:
      return say(Trouble::passing,
                 limit_gib_ == 0
                     ? "can't be written: the disk is full"
                     : fmt::format("can't be written: the disk is full, or the database has reached {} GiB",
                                   limit_gib_));
    case SQLITE_READONLY:
      return say(Trouble::passing, "can't be written: it is read-only");
    case SQLITE_CANTOPEN:
      return say(Trouble::passing, fmt::format("can't be opened: {}", why));
    case SQLITE_IOERR:
      return say(Trouble::passing, fmt::format("can't be read or written: {}", why));
    default:
      return say(Trouble::passing, fmt::format("can't be used: {}", sqlite3_errmsg(database_.get())));
  }
}

SqliteResult<Sqlite> Sqlite::open(const std::string& path, Mode mode, int longest_wait_ms,
                                  const std::string& shown) {
  Sqlite connection;
  connection.path_ = shown.empty() ? path : shown;
  sqlite3* database = nullptr;
  int code = sqlite3_open_v2(path.c_str(), &database, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nullptr);
  connection.database_.reset(database);
  if (database == nullptr)
    return std::unexpected(
        SqliteError{Trouble::passing, connection.path_ + " can't be opened: out of memory"});
  if (code != SQLITE_OK) return std::unexpected(connection.error(code));
  sqlite3_extended_result_codes(database, 1);
  sqlite3_busy_timeout(database, longest_wait_ms);
  const char* const careful = mode == Mode::read ? "PRAGMA trusted_schema = OFF; PRAGMA query_only = ON"
                                                 : "PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON";
  if (auto done = connection.run(careful); !done) return std::unexpected(std::move(done.error()));
  return connection;
}

SqliteResult<void> Sqlite::limit(int gib) {
  const auto page = number("PRAGMA page_size");
  if (!page) return std::unexpected(page.error());
  limit_gib_ = gib;
  return run(fmt::format("PRAGMA max_page_count = {}", (std::int64_t{gib} << 30) / *page));
}

SqliteResult<void> Sqlite::run(const std::string& sql) {
  const int code = sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr);
  if (code == SQLITE_OK) return {};
  SqliteError failed = error(code);
  if (sqlite3_get_autocommit(database_.get()) == 0)
    sqlite3_exec(database_.get(), "ROLLBACK", nullptr, nullptr, nullptr);
  return std::unexpected(std::move(failed));
}

SqliteResult<std::int64_t> Sqlite::number(const std::string& sql) {
  SqliteStatement asked(*this, sql);
  const auto row = asked.row();
  if (!row) return std::unexpected(row.error());
  return *row ? asked.number(0) : 0;
}

// --- statements ------------------------------------------------------------------------------------------

SqliteStatement::SqliteStatement(const Sqlite& connection, std::string_view sql) : connection_(&connection) {
  code_ = sqlite3_prepare_v3(connection.handle(), sql.data(), static_cast<int>(sql.size()),
                             SQLITE_PREPARE_PERSISTENT, &statement_, nullptr);
}
SqliteStatement::~SqliteStatement() {
  sqlite3_finalize(statement_);
}
SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : connection_(other.connection_),
      statement_(std::exchange(other.statement_, nullptr)),
      code_(other.code_),
      bound_(other.bound_) {}

SqliteStatement& SqliteStatement::with(std::string_view text) {
  if (code_ == SQLITE_OK)
    code_ = sqlite3_bind_text64(statement_, ++bound_, text.empty() ? "" : text.data(), text.size(),
                                SQLITE_STATIC, SQLITE_UTF8);
  return *this;
}
SqliteStatement& SqliteStatement::with(std::int64_t number) {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_int64(statement_, ++bound_, number);
  return *this;
}
SqliteStatement& SqliteStatement::with_null() {
  if (code_ == SQLITE_OK) code_ = sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

SqliteResult<bool> SqliteStatement::row() {
  const int came = code_ == SQLITE_OK ? sqlite3_step(statement_) : code_;
  if (came != SQLITE_ROW && came != SQLITE_DONE) return std::unexpected(connection_->error(came));
  return came == SQLITE_ROW;
}

SqliteResult<void> SqliteStatement::run() {
  const auto more = row();
  if (!more) {
    SqliteError failed = more.error();
    reset();
    return std::unexpected(std::move(failed));
  }
  reset();
  return {};
}

void SqliteStatement::reset() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  bound_ = 0;
  code_ = SQLITE_OK;
}

std::string SqliteStatement::text(int column) const {
  const unsigned char* const bytes = sqlite3_column_text(statement_, column);
  if (bytes == nullptr) return {};
  return {reinterpret_cast<const char*>(bytes),
          static_cast<std::size_t>(sqlite3_column_bytes(statement_, column))};
}
std::int64_t SqliteStatement::number(int column) const {
  return sqlite3_column_int64(statement_, column);
}
bool SqliteStatement::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

}  // namespace mcpivot
