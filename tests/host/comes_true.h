// Waits for what another thread does.
#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace host {

// False: it didn't within 20 seconds.
inline bool comes_true(const std::function<bool()>& condition) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace host
