// Keeps the settings of sessions, and which sessions were ended, across restarts of mcpivot: a database
// (SessionDb) with a thread of its own, because the disk may block and the event loop must not.
//
// All functions are for the loop's thread, and callbacks come from the loop. Service never depends on the
// store: without a usable file, records are not found, and revocations hold until mcpivot ends. What can't be
// written (a full disk, a lock) is retried; until then, trouble() says why.
#pragma once

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "front/session_db.h"
#include "front/session_worker.h"

namespace mcpivot {

class SessionStore {
 public:
  struct Limits {
    std::size_t text = 1024 * 1024;                // of a hello or a state
    std::size_t waiting = 10'000;                  // records, and as many queries, waiting for the disk
    std::size_t waiting_bytes = 16 * 1024 * 1024;  // of those records
    std::size_t revocations = 100'000;             // in memory; all of them are on disk
    std::chrono::milliseconds retry{5'000};        // after something couldn't be written
  };
  using Done = std::function<void(bool)>;
  using Got = std::function<void(std::optional<SessionRecord>)>;
  using Listed = std::function<void(SessionDb::Listed)>;

  SessionStore(boost::asio::io_context& loop, std::string path, const Limits& limits);
  SessionStore(boost::asio::io_context& loop, std::string path)
      : SessionStore(loop, std::move(path), Limits{}) {}
  // Closes it, within a second.
  ~SessionStore();
  SessionStore(const SessionStore&) = delete;
  SessionStore& operator=(const SessionStore&) = delete;

  // Call it once, before anything else; it blocks. From then on, revoked() knows what was revoked before. The
  // error is what trouble() says; the store can be used anyway, and the file is tried again when there is
  // something to write.
  std::expected<void, std::string> open(std::chrono::sys_seconds now);

  // Saves a record; if several for one session are waiting, the last. A state over the limit is left out; a
  // record whose hello is over the limit isn't saved at all. `done` is called when it is on disk, and so
  // survives our end; with false when the first attempt failed, or it isn't saved.
  void put(SessionRecord record, Done done = {});

  // The newest record, on disk or waiting. Nothing: there is none, or it can't be read, or it was revoked:
  // then revoked() is true now, even if another mcpivot revoked it.
  void get(const std::string& uid, Got got);

  // The sessions whose uid begins with this and that have not expired, without their states, last written
  // first. Nothing if the file can't be read.
  void list(const std::string& begin, std::chrono::sys_seconds now, std::size_t most, Listed listed);

  // Ends a session for good: its record is deleted, and revoked() is true at once. `done` is called when that
  // is on disk, and survives even a power cut; with false when the first attempt failed.
  void revoke(const std::string& uid, std::chrono::sys_seconds until, Done done = {});
  bool revoked(const std::string& uid) const { return revoked_.contains(uid); }

  // Call it now and then: drops what has expired, and learns what other mcpivots have revoked.
  void tidy(std::chrono::sys_seconds now);

  // Writes what is waiting, within this time. False: not all of it. Pending callbacks aren't called.
  bool close(std::chrono::milliseconds longest);

  // Why not everything is on disk, for the status; empty: everything is.
  const std::string& trouble() const { return trouble_; }

 private:
  struct Due {
    Done done;
    Got got;
    Listed listed;
    boost::asio::executor_work_guard<boost::asio::io_context::executor_type>
        work;  // keeps the loop running until then
  };

  std::uint64_t expect(Done done, Got got, Listed listed = {});
  void refuse(Done done);
  static void hand_over(const std::weak_ptr<SessionStore*>& to, SessionWorker::Answer answer);
  void receive(SessionWorker::Answer answer);
  void remember(const Revocation& revocation);
  void set_trouble(const std::string& words);

  boost::asio::io_context& loop_;
  const std::string path_;
  const Limits limits_;
  std::shared_ptr<SessionStore*> self_;  // how pending answers find us
  std::shared_ptr<SessionWorker> worker_;
  std::unordered_map<std::uint64_t, Due> due_;  // callbacks, by request number
  std::uint64_t last_number_ = 0;
  std::unordered_map<std::string, std::chrono::sys_seconds> revoked_;
  std::string trouble_;
  std::vector<std::string> told_;  // problems that have been logged
};

}  // namespace mcpivot
