// What is wrong with a configuration file. The list is limited, so that it doesn't become a flood.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "config/jsonc.h"

namespace mcpivot {

struct Problem {
  enum class Severity : std::uint8_t { error, warning };
  Severity severity = Severity::error;
  unsigned line = 0;  // 0: the file as a whole
  unsigned column = 0;
  std::string words{};  // what is wrong, and what to do
};

// "FILE:LINE:COLUMN: error: WORDS"
std::string problem_text(const std::string& file, const Problem& problem);

class ProblemList {
 public:
  void error(const JsoncPlace& place, const std::string& words) {
    ++errors_;
    add(Problem::Severity::error, place, words);
  }
  void warning(const JsoncPlace& place, const std::string& words) {
    add(Problem::Severity::warning, place, words);
  }
  // So far; if the number grows, what was read in between has errors.
  std::size_t errors() const { return errors_; }

  // Whether more would only be counted, so that no text is needed.
  bool full() const { return problems_.size() >= most; }

  // In the file's order.
  std::vector<Problem> take();

 private:
  static constexpr std::size_t most = 200;     // that are reported
  static constexpr std::size_t longest = 600;  // in bytes
  void add(Problem::Severity severity, const JsoncPlace& place, const std::string& text);

  std::vector<Problem> problems_;
  std::size_t errors_ = 0;
  std::size_t untold_ = 0;
};

}  // namespace mcpivot
