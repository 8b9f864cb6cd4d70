#include "clitools/program_run.h"

#include <fmt/format.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "proc/utf8.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t longest_tail = 4 * 1024;
// Something that left the process group may hold the pipes open for ever: wait no longer for last words.
constexpr milliseconds last_words{200};
constexpr int most_waits = 25;

}  // namespace

ProgramRun::ProgramRun(boost::asio::io_context& loop, Guard& guard, std::shared_ptr<CapturedOutput> output,
                       Handlers handlers)
    : loop_(loop),
      guard_(guard),
      handlers_(std::move(handlers)),
      output_(std::move(output)),
      in_(loop),
      out_(loop),
      err_(loop),
      timer_(loop) {}

ProgramRun::~ProgramRun() {
  if (process_) process_->kill_now();
}

void ProgramRun::start(Plan plan) {
  auto process = Process::spawn(loop_, guard_, plan.command);
  if (!process) {
    boost::asio::post(loop_, [weak = weak_from_this(), why = process.error()] {
      if (auto self = weak.lock()) self->finish({.ok = false, .started = false, .how = why});
    });
    return;
  }
  process_ = std::move(*process);
  in_.assign(process_->pipes().to_stdin);
  out_.assign(process_->pipes().from_stdout);
  err_.assign(process_->pipes().from_stderr);
  open_pipes_ = 2;
  process_->on_exit([weak = weak_from_this()](ExitStatus status) {
    auto self = weak.lock();
    if (!self) return;
    self->status_ = status;
    self->wait_for_last_output();
    self->finish_when_settled();
  });
  input_ = std::move(plan.input);
  write_input();
  read(out_, out_buffer_, &ProgramRun::take_output);
  read(err_, err_buffer_, &ProgramRun::take_stderr);
  timer_.expires_after(plan.time_limit);
  timer_.async_wait([weak = weak_from_this(), limit = plan.time_limit,
                     name = plan.limit_name](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self) return;
    self->stop(fmt::format("was stopped after {:.3g} s, its time limit{}{}{}",
                           static_cast<double>(limit.count()) / 1000, name.empty() ? "" : " (", name,
                           name.empty() ? "" : ")"));
  });
}

void ProgramRun::stop(const std::string& why, milliseconds patience) {
  if (done_ || !process_ || !stopped_.empty()) return;
  stopped_ = why;
  process_->terminate(patience);
}

void ProgramRun::write_input() {
  if (written_ == input_.size()) {
    in_.close();
    input_ = {};
    return;
  }
  in_.async_write_some(boost::asio::buffer(input_.data() + written_, input_.size() - written_),
                       [weak = weak_from_this()](const boost::system::error_code& error, std::size_t count) {
                         auto self = weak.lock();
                         if (!self || !self->in_.is_open()) return;
                         // A program need not read its stdin.
                         self->written_ = error ? self->input_.size() : self->written_ + count;
                         self->write_input();
                       });
}

void ProgramRun::read(Pipe& pipe, Buffer& buffer, void (ProgramRun::*take)(std::string_view)) {
  pipe.async_read_some(boost::asio::buffer(buffer),
                       [weak = weak_from_this(), &pipe, &buffer, take](const boost::system::error_code& error,
                                                                       std::size_t count) {
                         auto self = weak.lock();
                         if (!self || self->done_) return;
                         if (error) {
                           --self->open_pipes_;
                           return self->finish_when_settled();
                         }
                         ((*self).*take)({buffer.data(), count});
                         self->read(pipe, buffer, take);
                       });
}

void ProgramRun::take_output(std::string_view piece) {
  if (output_->flooded()) return;
  output_->add(piece);
  if (output_->flooded())
    stop(fmt::format("was stopped, because it had printed more than {} bytes", CapturedOutput::most_kept));
}

void ProgramRun::take_stderr(std::string_view piece) {
  stderr_size_ += piece.size();
  stderr_tail_ += piece;
  if (stderr_tail_.size() > 2 * longest_tail) stderr_tail_.erase(0, stderr_tail_.size() - longest_tail);
  lines_.feed(piece, [this](const std::string& line) { add_stderr_line(line); });
}

void ProgramRun::add_stderr_line(const std::string& line) {
  if (handlers_.on_stderr_line) handlers_.on_stderr_line(as_utf8(line));
}

void ProgramRun::wait_for_last_output() {
  heard_ = output_->size() + stderr_size_;
  timer_.expires_after(last_words);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    if (error || !self || self->done_) return;
    const bool talks = self->heard_ != self->output_->size() + self->stderr_size_;
    if (talks && self->stopped_.empty() && ++self->waits_ < most_waits) return self->wait_for_last_output();
    self->open_pipes_ = 0;
    self->finish_when_settled();
  });
}

// It has ended and all of its output has been read.
void ProgramRun::finish_when_settled() {
  if (!status_ || open_pipes_ > 0) return;
  lines_.rest([this](const std::string& line) { add_stderr_line(line); });
  std::string_view tail = stderr_tail_;
  if (tail.size() > longest_tail) tail.remove_prefix(tail.size() - longest_tail);
  if (tail.size() < stderr_size_) tail.remove_prefix(std::min(tail.find('\n') + 1, tail.size()));
  finish({.ok = stopped_.empty() && status_->signal == 0 && status_->code == 0,
          .started = true,
          .how = stopped_.empty() ? status_->text() : stopped_,
          .stderr_tail = as_utf8(tail)});
}

void ProgramRun::finish(Result result) {
  if (done_) return;
  done_ = true;
  timer_.cancel();
  for (Pipe* pipe : {&in_, &out_, &err_})
    if (pipe->is_open()) pipe->close();
  result.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started_);
  const auto keep = shared_from_this();  // whoever is told lets go of us
  const auto on_done = std::move(handlers_.on_done);
  handlers_ = {};
  on_done(result);
}

}  // namespace mcpivot
