// The way from the event loop to the thread that writes the journal. It is bounded in bytes, and neither side
// ever waits for the other: what doesn't fit is counted, and the count takes the place of what is missing.
//
// One thread puts, one thread takes. No locks, and no instruction that waits for other cores where entries
// are put: a block of memory is filled, published entry by entry, and given back by the thread that has read
// it.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

#include "journal/journal_entry.h"

namespace mcpivot {

class JournalQueue {
 public:
  explicit JournalQueue(std::size_t limit);
  ~JournalQueue();
  JournalQueue(const JournalQueue&) = delete;
  JournalQueue& operator=(const JournalQueue&) = delete;

  // --- for the thread that puts ---

  // Room for an entry with this head, after a gap if something was missed. Null: there is no room, and the
  // entry is counted as missing. publish() follows at once.
  char* room(const JournalEntry::Head& head);
  void publish();
  // Whether the taking thread sleeps, and must be woken for what was published. If it falls asleep at this
  // very moment, neither side may see the other; it looks again a little later (see sleep()).
  bool is_asleep() const { return asleep_.load(std::memory_order_relaxed); }
  // How many messages have been missed and not reported yet; the caller must report them.
  std::uint64_t take_missing() { return std::exchange(missing_, 0); }

  // --- for the thread that takes ---

  // The next entry; it is valid until drop(). Nothing: there is none for now.
  std::optional<JournalEntry> next();
  // Frees everything that next() has returned.
  void drop();
  // Announces that the taking thread will sleep. False: there is something to take after all. It must do so
  // twice, a millisecond or more apart, before it sleeps for long: the putting thread doesn't wait until
  // other cores see what it puts, so only the second time is certain to see what was put during the first.
  bool sleep();
  void wake() { asleep_.store(false, std::memory_order_seq_cst); }

  // Put, and not dropped yet.
  std::size_t bytes() const {
    return put_.load(std::memory_order_relaxed) - dropped_.load(std::memory_order_relaxed);
  }

 private:
  struct Block;
  Block* block_for(std::size_t size);
  char* place(std::size_t size);
  bool fits(std::size_t size) const { return bytes() + size <= limit_; }
  void put_gap(std::int64_t when);

  const std::size_t limit_;

  // Of the thread that puts; only it writes these.
  alignas(64) std::atomic<std::size_t> put_{0};  // bytes, ever
  Block* filling_;
  std::size_t placed_ = 0;     // of the block that is being filled
  std::uint64_t missing_ = 0;  // messages

  // Of the thread that takes; only it writes these.
  alignas(64) std::atomic<std::size_t> dropped_{0};  // bytes, ever
  Block* oldest_;                                    // what is dropped begins here
  Block* reading_;
  std::size_t read_ = 0;   // of the block that is being read
  std::size_t taken_ = 0;  // since the last drop()

  // both, now and then
  alignas(64) std::atomic<bool> asleep_{false};
  std::atomic<Block*> spare_{nullptr};  // that was read, and will be filled again
};

}  // namespace mcpivot
