// The SQLite database behind the session store: one file, mode 0600, which several mcpivots may share.
//
// Everything here may block, on the disk or briefly on another process. One thread at a time.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "sqlite/sqlite.h"

namespace mcpivot {

// What is kept of a session.
struct SessionRecord {
  std::string uid;
  std::string principal;
  std::string profile;
  std::string hello;  // the params of `initialize`, as JSON text
  std::string state;  // what came later, as JSON text
  std::chrono::sys_seconds updated;
  std::chrono::sys_seconds expires;
  bool operator==(const SessionRecord&) const = default;
};

// A session that was ended; until this time, its id must not bring it back.
struct Revocation {
  std::string uid;
  std::chrono::sys_seconds until;
  bool operator==(const Revocation&) const = default;
};

class SessionDb {
 public:
  // If a file is damaged, replaced() starts a new one. If it was moved, open() does.
  using Error = SqliteError;
  using Trouble = SqliteError::Trouble;
  // A record, and whether the session was revoked, perhaps by another mcpivot.
  struct Found {
    std::optional<SessionRecord> record;
    std::optional<Revocation> revoked;
  };

  // Creates the file and its folder if needed. A damaged file is renamed to FILE.damaged, and note() says so.
  // One from a newer mcpivot, or that isn't mcpivot's at all, is left alone: that is an error.
  static std::expected<SessionDb, Error> open(const std::string& path);
  // The same for a database that turned out to be damaged after it was opened.
  static std::expected<SessionDb, Error> replaced(SessionDb damaged);

  // Not for a session that was revoked.
  std::expected<void, Error> put(const SessionRecord& record);
  std::expected<Found, Error> get(const std::string& uid);
  // Sessions whose uid begins with this and that have not expired, without their states; last written
  // first.
  struct Listed {
    std::vector<SessionRecord> records;
    std::size_t all = 0;  // records may have fewer
  };
  std::expected<Listed, Error> list(const std::string& begin, std::chrono::sys_seconds now, std::size_t most);
  // All or none of them. This survives even a power cut; other changes survive only our own end. The records
  // of these sessions are deleted.
  std::expected<void, Error> revoke(std::span<const Revocation> revocations);
  // Those that last longest come first.
  std::expected<std::vector<Revocation>, Error> revocations(std::chrono::sys_seconds now, std::size_t most);
  std::expected<void, Error> forget_expired(std::chrono::sys_seconds now);

  // Whether the file under this name is still the one that was opened.
  bool in_place() const;
  // What happened when it was opened; empty: nothing worth reporting.
  const std::string& note() const { return note_; }

 private:
  struct Identity {
    dev_t device = 0;
    ino_t inode = 0;
    bool operator==(const Identity&) const = default;
  };

  SessionDb(Identity identity, Sqlite database);
  static Identity identity_of(const std::string& path);
  static std::expected<void, Error> make(const std::string& path);
  static std::expected<SessionDb, Error> open_file(const std::string& file, const std::string& path);
  static std::expected<SessionDb, Error> open_once(const std::string& path);
  static std::expected<std::string, Error> put_aside(const std::string& path, Identity damaged);
  std::expected<void, Error> set_up();
  std::expected<void, Error> make_tables();
  const std::string& path() const { return database_.path(); }

  std::string note_;
  Identity identity_;
  Sqlite database_;
};

}  // namespace mcpivot
