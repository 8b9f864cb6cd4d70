#include "server/call_counts.h"

namespace mcpivot {

void CallCounts::forget_half() {
  timed_ = 0;
  for (std::uint16_t& times : times_) {
    times /= 2;
    timed_ += times;
  }
}

void CallCounts::add(const CallCounts& other) {
  calls_ += other.calls_;
  errors_ += other.errors_;
  timed_ += other.timed_;
  for (std::size_t i = 0; i < buckets; ++i)
    times_[i] = static_cast<std::uint16_t>(times_[i] + other.times_[i]);
  if (timed_ >= most_timed) forget_half();
}

// Assumes that the calls in a bucket are spread evenly over it.
std::optional<CallCounts::Microseconds> CallCounts::median() const {
  if (timed_ == 0) return std::nullopt;
  const unsigned rank = (timed_ - 1) / 2;
  unsigned before = 0;
  std::size_t bucket = 0;
  while (before + times_[bucket] <= rank) before += times_[bucket++];
  const std::uint64_t step = std::uint64_t{1} << (bucket / 4 + first_width - 3);
  const std::uint64_t begin = (4 + bucket % 4) * step;
  const std::uint64_t within = step * (2 * (rank - before) + 1) / (2 * times_[bucket]);
  return std::chrono::ceil<Microseconds>(Nanoseconds(begin + within));
}

}  // namespace mcpivot
