#include "server/connection_record.h"

#include <fmt/format.h>

#include "log/log.h"
#include "server/crash_report.h"

namespace mcpivot {

void ConnectionRecord::failed(const std::string& why) {
  if (why != last_error_ || connected_) log_warn("no connection: {}", why);  // once, not at each try
  last_error_ = why;
  last_error_at_ = clock_.now();
}

void ConnectionRecord::lost(const std::string& why) {
  if (connected_) since_ = clock_.now();
  connected_ = false;
  why_ = why;
  last_error_ = "it " + why;
  last_error_at_ = clock_.now();
}

std::optional<ConnectionRecord::Absence> ConnectionRecord::made() {
  std::optional<Absence> absence;
  if (ever_ && !connected_) absence = Absence{clock_.since(since_), why_};
  if (!connected_) since_ = clock_.now();
  connected_ = ever_ = true;
  ++connections_;
  return absence;
}

std::chrono::milliseconds ConnectionRecord::away() const {
  return connected_ ? std::chrono::milliseconds(0) : clock_.since(since_);
}

void ConnectionRecord::describe(const Backend::Describe& line) const {
  line("connection",
       fmt::format("{} for {}", connected_ ? "connected" : "away", duration_text(clock_.since(since_))));
  if (!last_error_.empty())
    line("last error", fmt::format("{} ({} ago)", last_error_, duration_text(clock_.since(last_error_at_))));
  line("reconnects", std::to_string(connections_ > 0 ? connections_ - 1 : 0));
}

}  // namespace mcpivot
