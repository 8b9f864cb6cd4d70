// The other side of the control socket: a connection to a running mcpivot, for a command that asks, waits for
// the answer, and ends.
//
// Blocks. One thread.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

class ControlError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The other side is gone.
class ControlEnded : public ControlError {
 public:
  using ControlError::ControlError;
};

class ControlClient {
 public:
  // To every running mcpivot of this user. One that accepts no connections is included; asking it is an
  // error.
  static std::vector<ControlClient> connect_all();

  ControlClient(ControlClient&& other) noexcept;
  ControlClient& operator=(ControlClient&& other) noexcept;
  ~ControlClient();

  // The result; an error is thrown as a ControlError. What comes before the answer is passed to
  // `on_notification`.
  using OnNotification = std::function<void(const boost::json::object& notification)>;
  boost::json::value ask(std::string_view method, const boost::json::value& params,
                         const OnNotification& on_notification = {});
  // From now on, no answer for this long is an error. Without this, or with 0, there is no limit: a build may
  // take long.
  void wait_at_most(std::chrono::milliseconds time);

 private:
  explicit ControlClient(int socket) : socket_(socket) {}
  std::string read_line();

  int socket_ = -1;  // -1: it accepted no connection
  int last_id_ = 0;
  std::string received_;
};

}  // namespace mcpivot
