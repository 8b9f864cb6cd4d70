// The thread that writes the journal: takes what the loop has put into the queue, removes secrets, matches
// requests with answers, and writes the result into a file now and then.
//
// The functions are for the loop's thread and never wait; only close() does. If the journal can't be written,
// no message is delayed or lost for its client: writing is retried, what no longer fits into the queue
// becomes a gap, and `tell` gets the reason once, on the writer's thread.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <expected>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "journal/call_book.h"
#include "journal/journal_file.h"
#include "journal/journal_folder.h"
#include "journal/journal_queue.h"

namespace mcpivot {

struct JournalSettings {
  std::string folder{};
  std::string name{};                                            // of this mcpivot
  std::vector<std::pair<std::uint64_t, std::string>> clients{};  // those already connected, by name
  JournalLimits limits{};
  Redactor redactor{};
  std::size_t queue_bytes = 32UL * 1024 * 1024;
  std::chrono::milliseconds pause{50};  // messages within this time are written together
  std::chrono::milliseconds retry{2'000};
  std::function<std::chrono::system_clock::time_point()> date = std::chrono::system_clock::now;
};

class JournalWriter : public std::enable_shared_from_this<JournalWriter> {
 public:
  using Tell = std::function<void(std::string words)>;

  JournalWriter(JournalSettings settings, Tell tell, CallBook::OnEnd on_end = {});

  // The error: the system has no thread for it.
  std::expected<void, std::string> start();
  JournalQueue& queue() { return queue_; }
  // There is something in the queue, and the thread sleeps.
  void wake();
  // For what is put from now on.
  void set_redactor(Redactor redactor);
  void set_limits(const JournalLimits& limits);
  const std::string& session() const { return session_; }

  // Writes what waits, and ends; false: not all of it, in that time. A thread that doesn't come back from the
  // disk is left behind. Nothing is reported after that.
  bool close(std::chrono::milliseconds longest);
  // The same, without waiting for it.
  void close_soon(std::chrono::milliseconds longest);

 private:
  using Clock = std::chrono::steady_clock;
  using Lock = std::unique_lock<std::mutex>;

  void work();
  bool rest();  // until there is something to do; false: nothing is left, and it is to end
  void take_some();
  void learn_news();
  void end_with_gap();
  void write(JournalRows rows);
  SqliteResult<void> write_once(const JournalRows& rows);
  SqliteResult<void> open_file();
  void leave_file();
  bool wait_to_retry();
  void say(const std::string& words);

  const JournalSettings settings_;
  const Tell tell_;
  const std::string session_;
  const std::int64_t started_;
  JournalQueue queue_;
  std::thread thread_;

  // The thread's own.
  JournalLimits own_limits_;
  CallBook book_;
  std::optional<JournalFile> file_;
  JournalName name_;
  std::string trouble_;
  std::optional<Clock::time_point> last_cleaning_;

  std::atomic<bool> is_news_{false};  // there are new ones of the following

  mutable std::mutex mutex_;  // for what follows
  std::condition_variable wake_;
  std::condition_variable ended_;
  std::optional<Redactor> redactor_;
  std::optional<JournalLimits> limits_;
  std::uint64_t missing_ = 0;  // at the end
  bool woken_ = false;
  bool closing_ = false;
  bool complete_ = true;
  bool over_ = false;
  Clock::time_point deadline_{};
};

}  // namespace mcpivot
