// What every benchmark does with times: turning them into numbers, and finding the typical one of many.
#pragma once

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

using Clock = std::chrono::steady_clock;

inline double microseconds(Clock::duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

inline double ms(Clock::duration time) {
  return std::chrono::duration<double, std::milli>(time).count();
}

inline double ms_since(Clock::time_point begin) {
  return ms(Clock::now() - begin);
}

// The smallest value that at least this part of them doesn't exceed; 0 if there are none.
inline double percentile(std::vector<double> values, double part) {
  if (values.empty()) return 0;
  const double rank = std::ceil(part * static_cast<double>(values.size()));
  const auto at = values.begin() + std::max(0L, static_cast<long>(rank) - 1);
  std::ranges::nth_element(values, at);
  return *at;
}

inline double median(std::vector<double> values) {
  return percentile(std::move(values), 0.5);
}
