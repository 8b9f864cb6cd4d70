#include "server/connection_record.h"

#include <fmt/format.h>

#include <utility>

#include "base/without_queries.h"
#include "log/log.h"
#include "server/crash_report.h"

namespace mcpivot {

void ConnectionRecord::failed(const std::string& why) {
  note_error(why);
  if (state_ != State::refused) return;
  state_ = connections_ > 0 ? State::away : State::never_there;
  why_ = "could not be reached";
}

// It was there a moment ago, whatever happens next.
void ConnectionRecord::refused(const std::string& why) {
  note_error(why);
  state_ = State::refused;
  since_ = clock_.now();
}

void ConnectionRecord::note_error(const std::string& why) {
  // What is to be opened to sign in is said elsewhere, while it can be opened.
  std::string shown = without_queries(why);
  if (shown != last_error_ || is_there()) log_warn("no connection: {}", shown);  // once, not at each attempt
  last_error_ = std::move(shown);
  last_error_at_ = clock_.now();
}

void ConnectionRecord::lost(const std::string& why) {
  if (is_there()) since_ = clock_.now();
  if (state_ != State::never_there) state_ = State::away;
  why_ = why;
  last_error_ = "it " + why;
  last_error_at_ = clock_.now();
}

void ConnectionRecord::forgotten() {
  state_ = State::forgotten;
}

ConnectionRecord::Arrival ConnectionRecord::made() {
  Arrival arrival{.forgotten = state_ == State::forgotten};
  if (state_ == State::away) arrival.absence = Absence{clock_.since(since_), why_};
  if (!is_there()) since_ = clock_.now();
  state_ = State::connected;
  ++connections_;
  return arrival;
}

std::chrono::milliseconds ConnectionRecord::away() const {
  return is_there() ? std::chrono::milliseconds(0) : clock_.since(since_);
}

void ConnectionRecord::describe(const Backend::Describe& line) const {
  const std::string since = duration_text(clock_.since(since_));
  line("connection", state_ == State::refused
                         ? fmt::format("refused by the server {} ago", since)
                         : fmt::format("{} for {}", is_there() ? "connected" : "away", since));
  if (!last_error_.empty())
    line("last error", fmt::format("{} ({} ago)", last_error_, duration_text(clock_.since(last_error_at_))));
  line("reconnects", std::to_string(connections_ > 0 ? connections_ - 1 : 0));
}

}  // namespace mcpivot
