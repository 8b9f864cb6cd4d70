// A link over two file descriptors, one message per line: the client's stdin and stdout, or a child's pipes.
//
// Reads go through the event loop. Writes are tried at once, and only what the kernel doesn't take waits for
// the loop: in a proxy nearly every write succeeds, and the detour would cost more than the write.
//
// The link owns the descriptors that it is given. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "link/core_yielder.h"
#include "link/cork.h"
#include "link/outbox.h"
#include "rpc/line_reader.h"
#include "rpc/link.h"

namespace mcpivot {

// What the links of one event loop share.
struct LinkContext {
  boost::asio::io_context& loop;
  Corks corks{};
  CoreYielder core{};
};

class PipeLink final : public Link, public Corkable, public std::enable_shared_from_this<PipeLink> {
 public:
  struct Ends {
    Descriptor in;
    Descriptor out;
  };
  // `peer` names the other side for the log. Messages over `limit` bytes are not delivered but reported.
  PipeLink(LinkContext& context, std::string peer, Ends ends, std::size_t limit);

  // From now on the handler is called, until close().
  void start(Handler& handler);

  void send(const Message& message, std::span<const Edit> edits) override;
  void send(std::string_view line) override;
  bool full() const override { return outbox_.bytes() > high_water; }
  bool overflows() const override { return outbox_.bytes() > overflow; }
  void pause() override { paused_ = true; }
  bool paused() const { return paused_; }
  void resume() override;
  void finish() override;
  void close() override;
  void flush() override;

  // Whether everything sent has been written; and how many bytes haven't.
  bool drained() const { return outbox_.empty(); }
  std::size_t unsent() const { return outbox_.bytes(); }

  // In bytes. What a peer has not read from the pipe when it dies, it has never seen.
  std::uint64_t position() const override { return position_; }
  bool reached(std::uint64_t position) const override { return position <= taken_by_peer(); }
  // Changes whenever something has arrived, or reading was resumed.
  std::uint64_t signs_of_life() const { return signs_of_life_; }

 private:
  // When more than this waits, the peer is too slow: stop feeding it. Below the other mark: go on.
  static constexpr std::size_t high_water = 1024 * 1024;
  static constexpr std::size_t overflow = 64 * high_water;
  static constexpr std::size_t low_water = 256 * 1024;

  std::uint64_t taken_by_peer() const;
  void watch_reader();
  void read();
  void on_read(const boost::system::error_code& error, std::size_t count);
  void trim_later();
  int deliver();
  void dispatch(const LineReader::Event& event);
  bool writable();
  void sent();
  void end(std::string_view why);
  void break_off(const std::string& why);

  LinkContext& context_;
  std::string peer_;
  boost::asio::posix::stream_descriptor in_;
  boost::asio::posix::stream_descriptor out_;
  boost::asio::steady_timer trim_timer_;
  LineReader reader_;
  Outbox outbox_;
  Handler* handler_ = nullptr;
  bool reading_ = false;
  bool paused_ = false;
  bool ended_ = false;          // on_end() has been called
  bool flush_waiting_ = false;  // a cork holds it
  bool writing_waits_ = false;  // the kernel's buffer is full
  bool was_full_ = false;
  bool finishing_ = false;
  std::uint64_t position_ = 0;
  std::uint64_t signs_of_life_ = 0;
  std::uint64_t taken_before_break_ = 0;  // once the pipe is broken
};

}  // namespace mcpivot
