// Alarms, and the clock they use. An alarm rings once each time it is set, and never after it was cancelled,
// set again or destroyed; so it can be a member of whatever its handler uses.
//
// All alarms of a program are in one heap. Its driver (the event loop, or a simulation) learns from
// on_next() when the next is due, and calls ring_due() then. The heap holds only a slot and its count:
// finding that the count has moved on is normal. One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.h"

namespace mcpivot {

class Timers : public Clock {
 public:
  // When the next alarm is due, if one is set.
  std::optional<Time> next();
  // Rings every alarm that is due, in order of time; those of the same time in the order they were set.
  // Alarms that are set during this call wait for the next one.
  void ring_due();
  // Rings only the next alarm. False: none is due.
  bool ring_one();
  // How many are set; and the size of the heap, including entries that no longer count.
  std::size_t set() const { return set_; }
  std::size_t room() const { return heap_.size(); }

 private:
  friend class Alarm;
  struct Entry {
    Time due;
    std::uint64_t order;
    std::uint32_t slot;
    std::uint32_t count;
    bool operator>(const Entry& other) const {
      return due != other.due ? due > other.due : order > other.order;
    }
  };
  struct Slot {
    std::uint32_t count = 0;  // of settings, cancellations and owners
    bool set = false;
    std::function<void()> ring;
  };

  // The next alarm is due at this time, which is earlier than reported before.
  virtual void on_next(Time due) = 0;

  std::uint32_t take_slot();
  void give_back(std::uint32_t slot);
  void set(std::uint32_t slot, Time due, std::function<void()> ring);
  void cancel(std::uint32_t slot);
  bool is_set(std::uint32_t slot) const { return slots_[slot].set; }
  bool counts(const Entry& entry) const {
    return slots_[entry.slot].count == entry.count && slots_[entry.slot].set;
  }
  void drop_stale();

  std::vector<Entry> heap_;
  std::vector<Slot> slots_;
  std::vector<std::uint32_t> free_;
  std::uint64_t orders_ = 0;
  std::size_t set_ = 0;
};

class Alarm {
 public:
  explicit Alarm(Timers& timers) : timers_(timers), slot_(timers.take_slot()) {}
  ~Alarm() { timers_.give_back(slot_); }
  Alarm(const Alarm&) = delete;
  Alarm& operator=(const Alarm&) = delete;

  void set(Timers::Time due, std::function<void()> ring) { timers_.set(slot_, due, std::move(ring)); }
  void set(std::chrono::milliseconds after, std::function<void()> ring) {
    set(timers_.now() + after, std::move(ring));
  }
  void cancel() { timers_.cancel(slot_); }
  // Whether it will ring; not any more when it does.
  bool is_set() const { return timers_.is_set(slot_); }

 private:
  Timers& timers_;
  std::uint32_t slot_;
};

}  // namespace mcpivot
