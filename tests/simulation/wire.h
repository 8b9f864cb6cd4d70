// A link whose other end is simulated: lines travel in virtual time, in pieces and with delays that chance
// decides; the peer can stop reading, and be gone with what it hasn't read.
//
// The core has one end (mcpivot::Link), the peer the other. Never calls the core from within one of its
// calls.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <string_view>

#include "chance.h"
#include "rpc/link.h"
#include "virtual_time.h"

namespace simulation {

class Wire final : public mcpivot::Link, public std::enable_shared_from_this<Wire> {
 public:
  class Peer {
   public:
    virtual ~Peer() = default;
    // A line from the core has arrived.
    virtual void hear(std::string_view line) = 0;
    // The core sends nothing more.
    virtual void hear_end() = 0;
    // The core is being given this message; and it has just sent this line, which is still on its way.
    virtual void given(const mcpivot::Message&) {}
    virtual void taken() {}  // it has done what it does about that
    virtual void sent(std::string_view) {}
    // Everything that the peer had sent before it left has been given to the core, or nobody wants it.
    virtual void emptied() {}
  };

  Wire(VirtualTime& time, std::uint64_t seed, std::size_t limit, Peer& peer)
      : time_(time), chance_(seed), limit_(limit), peer_(&peer) {}

  // The core's side.
  void start(Handler& handler);
  void send(const mcpivot::Message& message, std::span<const mcpivot::Edit> edits) override;
  void send(std::string_view line) override;
  bool full() const override { return waiting_bytes_ > high_water; }
  bool overflows() const override { return waiting_bytes_ > overflow; }
  std::uint64_t position() const override { return position_; }
  bool reached(std::uint64_t position) const override { return position <= taken_; }
  void pause() override { paused_ = true; }
  void resume() override;
  void finish() override;
  void close() override;

  // The peer's side.
  void say(std::string line);
  void stop_reading() { reading_ = false; }
  void read_again();
  bool reads() const { return reading_; }
  // It is gone: it reads nothing more, and once everything it sent has been delivered, emptied() is called.
  void leave();
  // No one may call the peer anymore.
  void forget_peer() { peer_ = nullptr; }
  std::size_t waiting_bytes() const { return waiting_bytes_; }

  // The most that may wait in an outbox in this simulation: full(), and everything that one event may cause.
  static constexpr std::size_t high_water = 32 * 1024;
  static constexpr std::size_t overflow = 30 * high_water;

 private:
  static constexpr std::size_t low_water = 8 * 1024;

  Micros delay();
  void transfer_later();
  void transfer();
  void deliver_later();
  void deliver();
  void give(std::string_view line);

  VirtualTime& time_;
  Chance chance_;
  std::size_t limit_;
  Peer* peer_;
  Handler* handler_ = nullptr;
  std::deque<std::string> to_peer_;
  std::deque<std::string> to_core_;
  std::size_t waiting_bytes_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t taken_ = 0;
  bool transferring_ = false;  // it is on the agenda
  bool delivering_ = false;
  bool paused_ = false;
  bool reading_ = true;
  bool gone_ = false;       // the peer
  bool finishing_ = false;  // the core
  bool ended_ = false;      // and the peer knows
  bool was_full_ = false;
};

}  // namespace simulation
