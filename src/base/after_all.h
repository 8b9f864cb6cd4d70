// One thing that is to happen when several others have.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

namespace mcpivot {

// What is returned must be called `count` times, wherever its copies are; the last call calls `done`.
inline std::function<void()> after_all(std::size_t count, std::function<void()> done) {
  return [left = std::make_shared<std::size_t>(count), done = std::move(done)] {
    if (--*left == 0) done();
  };
}

}  // namespace mcpivot
