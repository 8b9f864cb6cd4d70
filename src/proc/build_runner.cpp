#include "proc/build_runner.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>

#include "proc/utf8.h"

namespace mcpivot {
namespace {

constexpr std::chrono::milliseconds patience{500};
constexpr std::chrono::milliseconds last_output{200};
constexpr std::size_t longest_line = 500;

}  // namespace

void HeadAndTail::add(std::string_view text) {
  const std::string_view first = text.substr(0, each_ - std::min(each_, head_.size()));
  head_ += first;
  tail_ += text.substr(first.size());
  if (tail_.size() > 2 * each_) {  // now and then, not for every byte
    dropped_ += tail_.size() - each_;
    tail_.erase(0, tail_.size() - each_);
  }
}

std::string HeadAndTail::text() const {
  const std::size_t extra = tail_.size() - std::min(tail_.size(), each_);
  const std::string tail = as_utf8(std::string_view(tail_).substr(extra));
  if (dropped_ + extra == 0) return as_utf8(head_) + tail;
  return fmt::format("{}\n… [{} bytes left out: only the first and last {} are kept] …\n{}", as_utf8(head_),
                     dropped_ + extra, each_, tail);
}

BuildRunner::BuildRunner(boost::asio::io_context& loop, Guard& guard, Handlers handlers)
    : loop_(loop), guard_(guard), handlers_(std::move(handlers)), out_(loop), err_(loop), limit_(loop) {}

BuildRunner::~BuildRunner() {
  if (process_) process_->kill_now();
}

void BuildRunner::start(const std::string& shell_line, Command where, std::chrono::milliseconds limit) {
  where.argv = {"/bin/sh", "-c", shell_line};
  auto process = Process::spawn(loop_, guard_, where);
  if (!process) return finish(false, process.error());
  process_ = std::move(*process);
  ::close(process_->pipes().to_stdin);
  out_.assign(process_->pipes().from_stdout);
  err_.assign(process_->pipes().from_stderr);
  open_pipes_ = 2;
  process_->on_exit([weak = weak_from_this()](ExitStatus status) {
    auto self = weak.lock();
    if (!self) return;
    self->status_ = status;
    self->finish_when_settled();
    self->stop_waiting_for_output();
  });
  read(out_, out_buffer_);
  read(err_, err_buffer_);
  limit_.expires_after(limit);
  limit_.async_wait([weak = weak_from_this(), limit](const boost::system::error_code& error) {
    auto self = weak.lock();
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limit).count();
    if (!error && self) self->cancel(fmt::format("was stopped after {} s, its time limit", seconds));
  });
}

void BuildRunner::cancel(const std::string& why) {
  if (done_ || !process_) return;
  stopped_ = why;
  process_->end(patience);
}

void BuildRunner::read(Pipe& pipe, std::array<char, 4096>& buffer) {
  pipe.async_read_some(
      boost::asio::buffer(buffer),
      [weak = weak_from_this(), &pipe, &buffer](const boost::system::error_code& error, std::size_t count) {
        auto self = weak.lock();
        if (!self) return;
        if (error) {
          --self->open_pipes_;
          return self->finish_when_settled();
        }
        self->take({buffer.data(), count});
        self->read(pipe, buffer);
      });
}

void BuildRunner::take(std::string_view piece) {
  output_.add(piece);
  while (!piece.empty()) {
    const auto newline = piece.find('\n');
    if (line_.size() < longest_line) line_ += piece.substr(0, std::min(newline, longest_line - line_.size()));
    if (newline == std::string_view::npos) return;
    if (handlers_.on_line && !line_.empty()) handlers_.on_line(as_utf8(line_));
    line_.clear();
    piece.remove_prefix(newline + 1);
  }
}

// A daemon that the build left behind (a compiler cache, say) may hold its pipes open for ever.
void BuildRunner::stop_waiting_for_output() {
  if (done_) return;
  limit_.expires_after(last_output);
  limit_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self) return;
    self->open_pipes_ = 0;
    self->finish_when_settled();
  });
}

// It has ended and all of its output has been read.
void BuildRunner::finish_when_settled() {
  if (!status_ || open_pipes_ > 0) return;
  const bool ok = stopped_.empty() && status_->signal == 0 && status_->code == 0;
  finish(ok, stopped_.empty() ? status_->text() : stopped_);
}

void BuildRunner::finish(bool ok, std::string how) {
  if (done_) return;
  done_ = true;
  limit_.cancel();
  const auto took = std::chrono::steady_clock::now() - started_;
  const auto handler = std::move(handlers_.on_done);
  handler({ok, std::move(how), output_.text(), std::chrono::duration_cast<std::chrono::milliseconds>(took)});
}

}  // namespace mcpivot
