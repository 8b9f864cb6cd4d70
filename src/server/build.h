// A running build: a shell command of the user's. Its output is delivered line by line; its beginning and end
// are kept.
//
// Belongs to the caller that waits for its end; if dropped, it is stopped silently. One thread.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

// When one of the sources last changed; unknown if they aren't watched.
using LastSave = std::function<std::optional<std::chrono::system_clock::time_point>()>;

class Build {
 public:
  struct Result {
    bool ok = false;  // it ended by itself with code 0
    std::string how;  // "exited with code 3", or why it was stopped or couldn't be started
    std::chrono::milliseconds took{0};
    std::string output;  // beginning and end, always UTF-8
  };
  struct Handlers {
    std::function<void(std::string_view line)> on_line;
    std::function<void(const Result&)> on_done;  // once, never from within the call that started it
  };

  virtual ~Build() = default;
  // on_done() follows. `why` continues "it …": "was stopped, because …".
  virtual void stop(const std::string& why) = 0;
};

}  // namespace mcpivot
