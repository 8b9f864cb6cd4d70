// The thread that works on the database of sessions, and the queue in front of it: bounded, with at most one
// record of each session in it.
//
// The functions are for the loop's thread, and block no longer than a lock is held; only close() waits.
// Results are reported on the worker's thread.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "front/session_db.h"

namespace mcpivot {

class SessionWorker : public std::enable_shared_from_this<SessionWorker> {
 public:
  struct Limits {
    std::size_t waiting;        // records; as many queries; as many revocations
    std::size_t waiting_bytes;  // of those records
    std::size_t revocations;    // reported at once
    std::chrono::milliseconds retry;
  };
  // A report. Every numbered request is answered once, unless close() comes first.
  struct Answer {
    std::vector<std::uint64_t> numbers{};  // of the requests that it answers
    bool good = false;                     // it is on disk
    std::optional<SessionRecord> record{};
    SessionDb::Listed listed{};
    std::vector<Revocation> revoked{};     // that are on disk
    std::optional<std::string> trouble{};  // if it has changed; empty: it is over
    std::string note{};                    // for the log
    bool began_anew = false;               // what was on disk is lost
  };
  using Tell = std::function<void(Answer)>;

  SessionWorker(std::string path, const Limits& limits, Tell tell);

  // Starts the thread. Without a database, one is opened when there is something to do.
  void start(std::optional<SessionDb> db, std::string trouble);

  void put(SessionRecord record, std::uint64_t number);
  void get(std::string uid, std::uint64_t number);
  void list(std::string begin, std::chrono::sys_seconds now, std::size_t most, std::uint64_t number);
  void revoke(std::vector<Revocation> revocations, std::uint64_t number);
  void tidy(std::chrono::sys_seconds now);

  // Ends reporting, and writes what is waiting; false: not all of it in that time. A thread that hangs in a
  // disk operation is left behind.
  bool close(std::chrono::milliseconds longest);

 private:
  using Clock = std::chrono::steady_clock;
  struct Waiting {
    SessionRecord record;
    std::vector<std::uint64_t> numbers;
    std::size_t size() const;
  };
  struct Question {
    std::string uid;  // or its beginning
    std::uint64_t number;
    std::size_t most = 0;  // of those that begin with it; 0: only this one
    std::chrono::sys_seconds now{};
  };
  struct Ending {
    std::vector<Revocation> revocations;
    std::vector<std::uint64_t> numbers;
  };

  // The thread's side. All but attempt() are called with the lock held, and release it during disk
  // operations.
  using Lock = std::unique_lock<std::mutex>;
  void work();
  bool something_to_write() const;
  void do_one(Lock& lock);
  void answer(Question question, Lock& lock);
  void answer_list(const Question& question, Lock& lock);
  void write(Waiting waiting, Lock& lock);
  void end(Ending ending, Lock& lock);
  void tidy_up(std::chrono::sys_seconds now, Lock& lock);
  Waiting take(std::unordered_map<std::string, Waiting>::iterator record);
  bool may_try_again(const SessionDb::Error& error);
  void failed(const std::string& words);
  void worked();
  void set_trouble(const std::string& words);
  void tell(Answer answer);
  void refuse(std::uint64_t number);
  // Does something with the database or, if that is damaged or gone, with a new one.
  template <class Work>
  auto attempt(Work what) -> decltype(what());
  std::expected<void, SessionDb::Error> open_new(std::expected<SessionDb, SessionDb::Error> opened,
                                                 bool began_anew);

  const std::string path_;
  const Limits limits_;
  const Tell tell_;
  std::thread thread_;
  std::optional<SessionDb> db_;                // the thread's
  std::optional<Clock::time_point> last_new_;  // the thread's: when a damaged one was replaced

  std::mutex mutex_;  // for what follows
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::deque<Question> questions_;
  std::unordered_map<std::string, Waiting> records_;
  std::deque<std::string> order_;  // of the records
  std::deque<Ending> endings_;
  std::optional<std::chrono::sys_seconds> tidy_;
  std::vector<std::uint64_t> in_hand_;  // what the thread is working on
  std::size_t bytes_ = 0;               // of the records
  std::string trouble_;
  bool write_failed_ = false;  // retried at this time
  Clock::time_point again_{};
  bool closing_ = false;
  Clock::time_point deadline_{};
  bool complete_ = true;  // at the end, everything was written
  bool over_ = false;
};

}  // namespace mcpivot
