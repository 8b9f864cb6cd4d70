// What is known about the connection to a daemon over mcpivot's whole run: for the status, and for the notice
// that says how long the daemon was away.
//
// Plain data; one thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/backend.h"

namespace mcpivot {

class ConnectionRecord {
 public:
  struct Absence {
    std::chrono::milliseconds length;
    std::string why;  // continues "it …"
  };

  struct Arrival {
    std::optional<Absence> absence{};  // if there was a connection before
    bool forgotten = false;            // the daemon was there all the time, but forgot our session
  };

  explicit ConnectionRecord(const Clock& clock) : clock_(clock), since_(clock.now()) {}

  // An attempt to connect failed; the daemon is there, but refused us; an established connection was lost;
  // the daemon forgot our session; there is a connection (again).
  void failed(const std::string& why);
  void refused(const std::string& why);
  void lost(const std::string& why);
  void forgotten();
  Arrival made();

  void describe(const Backend::Describe& line) const;
  // For how long it has been away; 0 if it is there.
  std::chrono::milliseconds away() const;

 private:
  enum class State : std::uint8_t { never_there, connected, forgotten, away, refused };
  void note_error(const std::string& why);
  bool is_there() const { return state_ == State::connected || state_ == State::forgotten; }

  const Clock& clock_;
  State state_ = State::never_there;
  Clock::Time since_;
  std::string why_;  // why it is away
  std::string last_error_;
  Clock::Time last_error_at_{};
  int connections_ = 0;
};

}  // namespace mcpivot
