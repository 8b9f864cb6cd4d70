#include "config/problem_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "base/utf8.h"

namespace mcpivot {

std::string problem_text(const std::string& file, const Problem& problem) {
  const std::string place = problem.line == 0 ? "" : fmt::format(":{}:{}", problem.line, problem.column);
  const bool error = problem.severity == Problem::Severity::error;
  return fmt::format("{}{}: {}: {}", file, place, error ? "error" : "warning", problem.words);
}

void ProblemList::add(Problem::Severity severity, const JsoncPlace& place, const std::string& text) {
  if (!full()) {
    // The text may quote the file or the environment, which can be long or invalid UTF-8.
    std::string words = as_utf8(std::string_view(text).substr(0, longest));
    if (text.size() > longest) words += "...";
    problems_.push_back({severity, place.line, place.column, std::move(words)});
  } else {
    ++untold_;
  }
}

std::vector<Problem> ProblemList::take() {
  std::ranges::stable_sort(problems_, {},
                           [](const Problem& one) { return std::tuple{one.line, one.column}; });
  if (untold_ > 0) {
    // An error if there are any: a search for one must find it.
    const auto severity = errors_ > 0 ? Problem::Severity::error : Problem::Severity::warning;
    problems_.push_back({severity, problems_.back().line, problems_.back().column,
                         fmt::format("{} more problems are not shown; fix these first", untold_)});
  }
  return std::move(problems_);
}

}  // namespace mcpivot
