// How verbose a legacy server's log is. It has one level for all that it says, which lasts; in the modern era
// each request names its own. So the server is set to the most verbose level that a request ever asked for,
// and what is too verbose for a request is sorted out on the way back.
//
// One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "bridge/bridge.h"

namespace mcpivot {

// Greater is more severe. Nothing: it isn't one of the protocol's levels.
std::optional<int> log_level(std::string_view json_string);

class LogLevels {
 public:
  explicit LogLevels(Bridge::Ends& ends) : ends_(ends) {}

  // The server says that it logs.
  void allow() { allowed_ = true; }
  // A request that will be sent next wants messages from this level on (as JSON text).
  void want(std::string_view level);
  // Somebody else sets the server's level.
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
