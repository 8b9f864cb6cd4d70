// The first lines of an answer: status, date, and how the reader finds its end.
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

struct AnswerHead {
  int status = 200;
  std::string_view headers{};           // lines, each with its end
  std::optional<std::size_t> length{};  // of the body
  bool chunked = false;
  bool http_1_0 = false;  // the version of the request
  bool close = false;
};

// With the empty line that ends it.
std::string answer_head(const AnswerHead& head);

// Whether an answer with this status may have a body at all.
bool may_have_body(int status);

}  // namespace mcpivot
