// For tests that hold mcpivot to a bound on its memory, also in an instrumented build.
#pragma once

#include "harness.h"

namespace harness {

// So that no sanitizer keeps freed memory back, and memory can be measured.
inline const Environment measurable = {{"ASAN_OPTIONS", "quarantine_size_mb=1"}};

// A bound on memory, plus what a sanitizer, or the counting of lines, needs for itself: 90 MB at rest, most
// of it tables that grow with the program.
inline long bound_kb(long megabytes) {
  return (is_instrumented() ? 3 * megabytes + 150 : megabytes) * 1024;
}

}  // namespace harness
