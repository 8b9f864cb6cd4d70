#include "link/pipe_link.h"

#include <fcntl.h>
#include <sys/ioctl.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <cerrno>
#include <cstring>

#include "base/is_ready.h"
#include "log/last_resort.h"

namespace mcpivot {
namespace {

constexpr std::chrono::seconds large_buffer_kept{1};

// A larger pipe takes a large message in fewer pieces, with fewer wake-ups. Best effort: not every descriptor
// is a pipe, and the system limits how much an unprivileged user may ask for.
void enlarge_pipe(int descriptor) {
  ::fcntl(descriptor, F_SETPIPE_SZ, 1024 * 1024);
}

}  // namespace

PipeLink::PipeLink(LinkContext& context, std::string peer, Ends ends, std::size_t limit)
    : context_(context),
      peer_(std::move(peer)),
      in_(context.loop),
      out_(context.loop),
      trim_timer_(context.loop),
      reader_(limit) {
  enlarge_pipe(ends.in.get());
  enlarge_pipe(ends.out.get());
  assign(in_, std::move(ends.in));
  assign(out_, std::move(ends.out));
  in_.non_blocking(true);
  out_.non_blocking(true);
}

void PipeLink::start(Handler& handler) {
  handler_ = &handler;
  watch_reader();
  read();
}

// The far end of a pipe may be closed while we have nothing to write.
void PipeLink::watch_reader() {
  out_.async_wait(out_.wait_error, [weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self || !self->out_.is_open()) return;
    if (!is_ready(self->out_, self->out_.wait_error)) return self->watch_reader();
    self->break_off("closed its end of the pipe");
  });
}

void PipeLink::resume() {
  if (!paused_) return;
  paused_ = false;
  ++signs_of_life_;
  // Through the loop: resume() is called from within another link's write, and delivering here would recurse.
  boost::asio::post(context_.loop, [self = shared_from_this()] {
    survive(self->peer_, [&] { self->deliver(); });
    self->read();
  });
}

void PipeLink::read() {
  if (reading_ || paused_ || ended_ || handler_ == nullptr) return;
  auto room = reader_.writable();
  reading_ = true;
  in_.async_read_some(boost::asio::buffer(room.data(), room.size()),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t count) {
                        self->on_read(error, count);
                      });
}

void PipeLink::on_read(const boost::system::error_code& error, std::size_t count) {
  reading_ = false;
  if (handler_ == nullptr) return;
  if (error == boost::asio::error::operation_aborted) {  // by trim_later()
    reader_.trim();
    return read();
  }
  if (error) {
    if (auto event = reader_.rest()) survive(peer_, [&] { dispatch(*event); });
    end(error == boost::asio::error::eof ? "closed" : error.message());
    return;
  }
  ++signs_of_life_;
  survive(peer_, [&] {
    reader_.commit(count);
    if (reader_.oversized()) trim_later();
    if (deliver() > 1) context_.core.yield();
  });
  read();
}

// Frees the memory of large messages when none has come for a while. The pending read uses that memory, so it
// is cancelled and started again.
void PipeLink::trim_later() {
  trim_timer_.expires_after(large_buffer_kept);
  trim_timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (!error && self && self->in_.is_open()) self->in_.cancel();
  });
}

// Returns how many messages there were.
int PipeLink::deliver() {
  if (handler_ == nullptr) return 0;
  const Cork cork(context_.corks);
  int count = 0;
  while (!paused_ && handler_ != nullptr) {
    auto event = reader_.next();
    if (!event) break;
    survive(peer_, [&] { dispatch(*event); });
    ++count;
  }
  return count;
}

void PipeLink::dispatch(const LineReader::Event& event) {
  if (const auto* skim = std::get_if<Skim>(&event)) {
    handler_->on_oversize(*skim, reader_.limit());
    return;
  }
  const std::string_view line = std::get<LineReader::Line>(event).text;
  if (is_batch(line)) {
    handler_->on_batch(line);
  } else if (auto message = read_message(line)) {
    message->buffer = reader_.buffer();
    handler_->on_message(*message);
  } else {
    handler_->on_unreadable(line, message.error());
  }
}

// What is sent to a peer that reads no more counts as sent, but will never be read.
bool PipeLink::writable() {
  if (out_.is_open() && !finishing_) return true;
  ++position_;
  return false;
}

void PipeLink::send(const Message& message, std::span<const Edit> edits) {
  if (!writable()) return;
  const std::size_t before = outbox_.bytes();
  outbox_.add(message, edits);
  position_ += outbox_.bytes() - before;
  sent();
}

void PipeLink::send(std::string_view line) {
  if (!writable()) return;
  outbox_.add(line);
  position_ += line.size() + 1;
  sent();
}

void PipeLink::sent() {
  was_full_ = was_full_ || full();
  if (writing_waits_ || flush_waiting_) return;
  if (context_.corks.held()) {
    flush_waiting_ = true;
    context_.corks.flush_later(shared_from_this());
  } else {
    flush();
  }
}

void PipeLink::flush() {
  flush_waiting_ = false;
  std::array<iovec, 64> pieces;
  while (!outbox_.empty() && out_.is_open()) {
    const std::size_t count = outbox_.gather(pieces);
    const ssize_t written = ::writev(out_.native_handle(), pieces.data(), static_cast<int>(count));
    if (written >= 0) {
      outbox_.consume(static_cast<std::size_t>(written));
    } else if (errno == EAGAIN) {
      if (writing_waits_) return;
      writing_waits_ = true;
      out_.async_wait(out_.wait_write, [self = shared_from_this()](const boost::system::error_code& error) {
        self->writing_waits_ = false;
        if (!error) self->flush();
      });
      break;
    } else if (errno != EINTR) {
      return break_off(std::strerror(errno));
    }
  }
  if (was_full_ && outbox_.bytes() <= low_water) {
    was_full_ = false;
    if (handler_ != nullptr) handler_->on_writable();
  }
  if (finishing_ && outbox_.empty()) finish();
}

void PipeLink::break_off(const std::string& why) {
  if (!out_.is_open()) return;
  taken_before_break_ = taken_by_peer();
  outbox_ = Outbox();
  out_.close();
  // Through the loop: the code that was sending something isn't called from within.
  boost::asio::post(context_.loop, [weak = weak_from_this(), why] {
    const auto self = weak.lock();
    if (self && self->handler_ != nullptr) survive(self->peer_, [&] { self->handler_->on_broken(why); });
  });
}

std::uint64_t PipeLink::taken_by_peer() const {
  if (!out_.is_open()) return taken_before_break_;
  int unread = 0;
  // Also works on the writing end of a pipe, even when nobody has the other end open any more.
  if (::ioctl(const_cast<PipeLink*>(this)->out_.native_handle(), FIONREAD, &unread) != 0) unread = 0;
  return position_ - outbox_.bytes() - static_cast<std::uint64_t>(unread);
}

void PipeLink::finish() {
  finishing_ = true;
  if (outbox_.empty() && out_.is_open()) {
    taken_before_break_ = position_;  // it may still read what is in the pipe, unnoticed
    out_.close();
  }
}

void PipeLink::end(std::string_view why) {
  if (ended_) return;
  ended_ = true;
  if (handler_ != nullptr) handler_->on_end(why);
}

void PipeLink::close() {
  handler_ = nullptr;
  trim_timer_.cancel();
  in_.close();
  if (out_.is_open()) taken_before_break_ = position_ - outbox_.bytes();
  out_.close();
}

}  // namespace mcpivot
