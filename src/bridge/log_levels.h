// How verbose a legacy server's log is. It has one lasting level for everything; in the modern era each
// request names its own. So the server is set to the most verbose level that any request asked for, and what
// is too verbose for a request is filtered out on the way back.
//
// One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bridge/bridge.h"

namespace mcpivot {

// Higher is more severe. Nothing: it isn't one of the protocol's levels.
std::optional<int> log_level(std::string_view json_string);

class LogLevels {
 public:
  explicit LogLevels(Bridge::Ends& ends) : ends_(ends) {}

  // The server has the logging capability.
  void allow() { allowed_ = true; }
  // The next request wants messages from this level up (as JSON text).
  void want(std::string_view level);
  // The server's level is set elsewhere.
  void set_elsewhere(std::string_view level) { set_ = log_level(level); }

 private:
  Bridge::Ends& ends_;
  bool allowed_ = false;
  std::optional<int> set_;
  int sent_ = 0;
};

// A log message as a line for people: [level] logger: text.
std::string log_line_of(const Message& notification);

}  // namespace mcpivot
