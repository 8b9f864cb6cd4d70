// One connection of an HTTP client: requests are read one after the other, and each is answered before the
// next is looked at.
//
// While an answer is awaited, the connection still reads, so that a client that closes it is noticed at once.
// What is to be written waits for the end of the turn and leaves in one write.
//
// One thread. Whoever owns it is told from the event loop, never from within a call to respond(), write(),
// end() or abort().
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
    virtual std::optional<HttpAnswer> judge(const HttpAsk& ask) = 0;
    // A request is there. `connection` answers it under this id.
    virtual ReplyId begin(HttpConnection& connection) = 0;
    virtual void on_request(ReplyId reply, const HttpAsk& ask, std::string body) = 0;
    // The answer has come to its end, and the id is no longer known.
    virtual void end(ReplyId reply) = 0;
    // It will never come to its end: the client is gone. The id is no longer known.
    virtual void lose(ReplyId reply) = 0;
    virtual void on_drained(ReplyId reply) = 0;
    // It holds so many bytes, of what its client has sent or is to read; about.
    virtual void on_held(HttpConnection& connection, std::size_t before, std::size_t now) = 0;
    // The connection is closed. Nothing else is said of it.
    virtual void on_closed(HttpConnection& connection) = 0;
    // Connections that have answered are to be closed.
    virtual bool is_stopping() const = 0;

   protected:
    ~Owner() = default;
  };
  struct Context {
    boost::asio::io_context& loop;
    Corks& corks;
    const HttpLimits& limits;
    Owner& owner;
    std::span<char> room;  // to read into; used only within one turn, so one serves all connections
  };

  // Owns the descriptor, which must not block. `from` tells where the client is.
  HttpConnection(const Context& context, std::uint64_t id, int descriptor, std::unique_ptr<Wire> wire,
                 const HttpAsk& from);

  std::uint64_t id() const { return id_; }
  void start();
  // In place of start(): there are too many.
  void turn_away();
  bool is_turned_away() const { return turned_away_; }

  // What is said to the request that is being answered.
  void respond(HttpAnswer answer);
  void begin_stream(int status, std::string_view headers);
  void write(std::string bytes);
  void end();
  bool full() const;

  // Closes it now, and tells nobody.
  void cut();
  void close_if_idle();
  // Closes it now: all connections hold too much, and this one the most.
  void shed();
  // Corkable
  void flush() override;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State : std::uint8_t {
    handshake,
    head,  // of the next request, of which there may be nothing yet
    body,
    answering,  // the answer has not begun,
    streaming,  // or not ended
    writing,    // it has ended, and most of it waits to be written
    lingering,  // we have said all; the peer may still be talking
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
  std::string in_;  // what has come and has not been used
  Outbox out_;
  State state_ = State::handshake;
  ReplyId reply_ = ReplyId::none;
  Clock::time_point since_;       // this state, or this request, began
  Clock::time_point last_read_;   // something came
  Clock::time_point last_write_;  // something was taken, or began to wait
  Clock::time_point timer_at_ = Clock::time_point::max();
  std::size_t held_ = 0;  // as the owner knows it
  bool first_ = true;     // nothing has been asked yet
  bool stale_ = false;    // what the reader knows is of the last request
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
  bool read_needs_write_ = false;  // TLS has its own mind
  bool write_needs_read_ = false;
};

}  // namespace mcpivot
