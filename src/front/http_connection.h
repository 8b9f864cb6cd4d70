// One connection of an HTTP client: requests are read one after the other, and each is answered before the
// next is read.
//
// While an answer is awaited, the connection still reads, so that a client that closes it is noticed at once.
// Output waits for the end of the turn and leaves in one write.
//
// One thread. The owner is called from the event loop, never from within a call to respond(), write(), end()
// or abort().
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "front/http_limits.h"
#include "front/http_message.h"
#include "front/request_reader.h"
#include "front/wire.h"
#include "link/cork.h"
#include "link/outbox.h"

namespace mcpivot {

class HttpConnection final : public Corkable, public std::enable_shared_from_this<HttpConnection> {
 public:
  class Owner {
   public:
    // The head of a request has arrived. `connection` answers it under this id.
    virtual ReplyId begin(HttpConnection& connection) = 0;
    virtual std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) = 0;
    virtual void on_request(ReplyId reply, const HttpAsk& ask, std::string body) = 0;
    // The answer is complete, and the id is no longer known.
    virtual void end(ReplyId reply) = 0;
    // The answer will never be complete: the client is gone. The id is no longer known.
    virtual void lose(ReplyId reply) = 0;
    virtual void on_drained(ReplyId reply) = 0;
    // About how many bytes it holds of what its client has sent or has yet to read.
    virtual void on_held(HttpConnection& connection, std::size_t before, std::size_t now) = 0;
    // The connection is closed. No other call follows.
    virtual void on_closed(HttpConnection& connection) = 0;
    // Whether connections are to be closed once they have answered.
    virtual bool is_stopping() const = 0;

   protected:
    ~Owner() = default;
  };
  struct Context {
    boost::asio::io_context& loop;
    Corks& corks;
    const HttpLimits& limits;
    Owner& owner;
    std::span<char> room;  // to read into; used only within one turn, so all connections share it
  };

  // Owns the descriptor, which must be nonblocking. `from` says where the client is.
  HttpConnection(const Context& context, std::uint64_t id, int descriptor, std::unique_ptr<Wire> wire,
                 const HttpAsk& from);

  std::uint64_t id() const { return id_; }
  void start();
  // Instead of start(): there are too many.
  void turn_away();
  bool is_turned_away() const { return turned_away_; }

  // The answer to the current request. If its body hasn't arrived yet, the rest isn't read.
  void respond(HttpAnswer answer);
  void begin_stream(int status, std::string_view headers);
  void write(std::string bytes);
  void end();
  bool full() const;

  // Closes it now, without telling anybody.
  void cut();
  void close_if_idle();
  // Closes it now: all connections together hold too much, and this one the most.
  void shed();
  // Corkable
  void flush() override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t {
    handshake,
    head,  // of the next request, which may not have begun
    body,
    answering,  // the answer has not begun,
    streaming,  // or not ended
    writing,    // it has ended, and is still being written
    lingering,  // we have sent everything; the peer may still be sending
    closed,
  };

  bool has_reply() const { return state_ == State::answering || state_ == State::streaming; }
  bool wants_to_read() const;
  void wait_to_read();
  void wait_to_write();
  void guarded(const std::function<void()>& step);

  void shake_hands();
  void on_readable();
  void on_bytes(std::string_view bytes);
  void on_end_of_input(bool broken);
  void read_requests();
  void on_head();
  void on_request();

  void refuse(HttpAnswer answer);
  void put(HttpAnswer answer);
  void end_answer();
  void next_request();
  void finish();
  void lose(const char* why);
  void drop();
  void reset_by_us();
  void flush_later();
  void settle();
  void tell_held();

  Clock::time_point deadline() const;
  void set_timer();
  void on_deadline();

  Context context_;
  std::uint64_t id_;
  boost::asio::posix::stream_descriptor socket_;
  std::unique_ptr<Wire> wire_;
  boost::asio::steady_timer timer_;
  RequestReader reader_;
  std::string peer_;
  std::string in_;  // received, but not used yet
  Outbox out_;
  State state_ = State::handshake;
  ReplyId reply_ = ReplyId::none;
  Clock::time_point since_;       // when this state, or this request, began
  Clock::time_point last_read_;   // when something last arrived
  Clock::time_point last_write_;  // when something was last written, or began to wait
  Clock::time_point timer_at_ = Clock::time_point::max();
  std::size_t held_ = 0;  // as reported to the owner
  bool first_ = true;     // there was no request yet
  bool stale_ = false;    // the reader still has the last request
  bool turned_away_ = false;
  bool close_after_ = false;  // this answer
  bool bodiless_ = false;     // this answer: HEAD, or a status without one
  bool chunked_ = false;
  bool was_full_ = false;
  bool peer_ended_ = false;
  bool reading_requests_ = false;
  bool read_waits_ = false;
  bool write_waits_ = false;
  bool flush_waits_ = false;
  bool read_needs_write_ = false;  // as TLS may require
  bool write_needs_read_ = false;
};

}  // namespace mcpivot
