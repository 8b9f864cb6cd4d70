// What mcpivot needs of SQLite: a connection, statements, and errors in words that say what happened to which
// file.
//
// Everything here may block, on the disk or for a moment on another process. One thread at a time.
#pragma once

#include <cstdint>
#include <expected>
#include <memory>
#include <string>
#include <string_view>

struct sqlite3;
struct sqlite3_stmt;

namespace mcpivot {

struct SqliteError {
  enum class Trouble : std::uint8_t {
    locked,   // by another process, for longer than we wait
    passing,  // a full disk, say: later it may work
    damaged,  // it isn't a database, or not a sound one
    moved,    // the file was moved or deleted
    refused,  // not ours, or of a newer mcpivot
  };
  Trouble trouble = Trouble::passing;
  std::string words;  // "FILE ..."
};
template <class Value>
using SqliteResult = std::expected<Value, SqliteError>;

class Sqlite {
 public:
  enum class Mode : std::uint8_t { write, read };
  // The file must exist. If it gets another name later, `shown` is that name: errors and path() have it.
  static SqliteResult<Sqlite> open(const std::string& path, Mode mode, int longest_wait_ms,
                                   const std::string& shown = {});
  // The file doesn't grow beyond this.
  SqliteResult<void> limit(int gib);

  // One or more statements. Should one fail, no transaction stays open.
  SqliteResult<void> run(const std::string& sql);
  // The first number of the first row; 0 if there is none.
  SqliteResult<std::int64_t> number(const std::string& sql);
  SqliteError error(int code) const;
  const std::string& path() const { return path_; }
  sqlite3* handle() const { return database_.get(); }

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };
  std::string path_;
  int limit_gib_ = 0;  // 0: there is none
  std::unique_ptr<sqlite3, Close> database_;
};

// A statement that can be run again and again. The connection must outlive it.
class SqliteStatement {
 public:
  SqliteStatement(const Sqlite& connection, std::string_view sql);
  ~SqliteStatement();
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&&) = delete;

  // The arguments, in order. Texts are borrowed until the next reset().
  SqliteStatement& with(std::string_view text);
  SqliteStatement& with(std::int64_t number);
  SqliteStatement& with_null();

  // Whether there is a row, the first or the next one.
  SqliteResult<bool> row();
  // To its end, and ready for the next time.
  SqliteResult<void> run();
  void reset();

  std::string text(int column) const;
  std::int64_t number(int column) const;
  bool is_null(int column) const;

 private:
  const Sqlite* connection_;
  sqlite3_stmt* statement_ = nullptr;
  int code_ = 0;
  int bound_ = 0;
};

}  // namespace mcpivot
