// Objects that are no longer wanted and have yet to end. One that reports its end is removed soon, but not at
// once: the report comes from within the object.
//
// One thread.
#pragma once

#include <chrono>
#include <memory>
#include <utility>
#include <vector>

#include "base/contains.h"
#include "server/timers.h"

namespace mcpivot {

template <class T>
class Leaving {
 public:
  explicit Leaving(Timers& timers) : sweep_(timers) {}

  T& add(std::unique_ptr<T> one) { return *leaving_.emplace_back(std::move(one)); }
  void ended(const T& one) {
    ended_.push_back(&one);
    sweep_.set(std::chrono::milliseconds(0), [this] {
      const auto gone = std::exchange(ended_, {});
      std::erase_if(leaving_, [&](const auto& left) { return contains(gone, left.get()); });
    });
  }
  const std::vector<std::unique_ptr<T>>& all() const { return leaving_; }

 private:
  std::vector<std::unique_ptr<T>> leaving_;
  std::vector<const T*> ended_;
  Alarm sweep_;
};

}  // namespace mcpivot
