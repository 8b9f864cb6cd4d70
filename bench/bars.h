// A benchmark's bars: one line for each, PASS or FAIL, and whether all of them are met.
#pragma once

#include <fmt/format.h>

#include <string_view>

class Bars {
 public:
  void operator()(bool cleared, std::string_view text) {
    fmt::print("{} {}\n", cleared ? "PASS" : "FAIL", text);
    all_cleared_ = all_cleared_ && cleared;
  }
  bool all_cleared() const { return all_cleared_; }

 private:
  bool all_cleared_ = true;
};
