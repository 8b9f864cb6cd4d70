// What is known of the connection with a daemon over the whole life of mcpivot: for the status, and for the
// notice that says how long the daemon was away.
//
// Plain data; one thread.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/clock.h"
#include "server/backend.h"

namespace mcpivot {

class ConnectionRecord {
 public:
  struct Absence {
    std::chrono::milliseconds length;
    std::string why;  // follows "it"
  };

  explicit ConnectionRecord(const Clock& clock) : clock_(clock), since_(clock.now()) {}

  // A try to connect failed; an established connection was lost; there is one (again). The latter returns for
  // how long there was none, if there was one before.
  void failed(const std::string& why);
  void lost(const std::string& why);
  std::optional<Absence> made();

  void describe(const Backend::Describe& line) const;
  // For how long it has been away; 0 if it is there.
  std::chrono::milliseconds away() const;

 private:
  const Clock& clock_;
  bool connected_ = false;
  bool ever_ = false;
  Clock::Time since_;
  std::string why_;  // it is away
  std::string last_error_;
  Clock::Time last_error_at_{};
  int connections_ = 0;
};

}  // namespace mcpivot
