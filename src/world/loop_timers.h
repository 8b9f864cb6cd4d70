// The core's alarms on the event loop: one timer of the loop for all of them. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <optional>

#include "server/timers.h"

namespace mcpivot {

class LoopTimers final : public Timers {
 public:
  explicit LoopTimers(boost::asio::io_context& loop) : timer_(loop) {}

  Time now() const override { return std::chrono::steady_clock::now(); }
  Time about_now() const override;
  Date date() const override { return std::chrono::system_clock::now(); }

 private:
  void on_next(Time due) override;

  boost::asio::steady_timer timer_;
  std::optional<Time> waits_for_;
  std::shared_ptr<bool> here_ = std::make_shared<bool>();  // gone with us
};

}  // namespace mcpivot
