// How often a server's tools are called, how many calls fail, and the median time of a call, for the server's
// status. Counted where answers come back, so it costs each call a few instructions; nothing is allocated,
// and no message is parsed for it.
//
// Plain data; one thread.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <chrono>
#include <cstdint>
#include <optional>

namespace mcpivot {

class CallCounts {
 public:
  using Nanoseconds = std::chrono::nanoseconds;
  using Microseconds = std::chrono::microseconds;

  // The server has answered a call.
  void answered(bool is_error) {
    ++calls_;
    errors_ += is_error ? 1 : 0;
  }
  // How long a call took; not needed for every call.
  void took(Nanoseconds time) {
    ++times_[bucket_of(time)];
    if (++timed_ == most_timed) [[unlikely]]
      forget_half();
  }
  // It never answered: it died, took too long, or sent something that isn't an answer.
  void failed() {
    ++calls_;
    ++errors_;
  }

  // Adds those of another instance.
  void add(const CallCounts& other);

  std::uint64_t calls() const { return calls_; }
  std::uint64_t errors() const { return errors_; }
  // Of the latest answers, to within about 10%; nothing if there were none.
  std::optional<Microseconds> median() const;

 private:
  // Four buckets for each doubling, from a microsecond to more than an hour.
  static constexpr unsigned first_width = 11;  // bits of 1,024 ns
  static constexpr std::size_t buckets = 128;
  static constexpr std::uint64_t shortest = std::uint64_t{1} << (first_width - 1);
  static constexpr std::uint64_t longest = (std::uint64_t{1} << (first_width - 1 + buckets / 4)) - 1;
  static constexpr unsigned most_timed = 1024;

  static std::size_t bucket_of(Nanoseconds took) {
    const auto ticks =
        std::clamp(static_cast<std::uint64_t>(std::max<std::int64_t>(took.count(), 0)), shortest, longest);
    const auto width = static_cast<unsigned>(std::bit_width(ticks));
    return (width - first_width) * 4 + ((ticks >> (width - 3)) & 3);
  }
  // The longer ago, the less a call counts.
  void forget_half();

  std::uint64_t calls_ = 0;
  std::uint64_t errors_ = 0;
  unsigned timed_ = 0;  // the sum of these, below most_timed
  std::array<std::uint16_t, buckets> times_{};
};

}  // namespace mcpivot
