// Runs something once several other things are done.
//
// One thread: the count isn't atomic.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace mcpivot {

// Call the returned function, or copies of it, `count` times: the last call runs `done`.
inline std::function<void()> after_all(std::size_t count, std::function<void()> done) {
  return [left = std::make_shared<std::size_t>(count), done = std::move(done)] {
    if (--*left == 0) done();
  };
}

}  // namespace mcpivot
