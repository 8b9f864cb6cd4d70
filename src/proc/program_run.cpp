#include "proc/program_run.h"

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <stdexcept>

#include "base/descriptor.h"
#include "log/last_resort.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds silence{200};       // after this, no more output is expected
constexpr milliseconds last_words{5'000};  // for something that left its group and still writes

}  // namespace

ProgramRun::ProgramRun(boost::asio::io_context& loop, Guard& guard)
    : loop_(loop), guard_(guard), in_(loop), out_(loop), err_(loop), timer_(loop) {}

ProgramRun::~ProgramRun() {
  if (process_) process_->kill_now();
}

void ProgramRun::start(Plan plan) {
  plan_ = std::move(plan);
  try {
    launch();
  } catch (const std::exception& error) {
    if (process_) process_->kill_now();
    boost::asio::post(loop_, [weak = weak_from_this(), why = std::string(error.what())] {
      if (auto self = weak.lock()) self->finish({.started = false, .how = why});
    });
  }
}

void ProgramRun::launch() {
  auto process = Process::spawn(loop_, guard_, plan_.command);
  if (!process) throw std::runtime_error(process.error());
  process_ = std::move(*process);
  auto [to_stdin, from_stdout, from_stderr] = process_->take_pipes();
  assign(in_, std::move(to_stdin));
  assign(out_, std::move(from_stdout));
  assign(err_, std::move(from_stderr));
  open_pipes_ = 2;
  process_->on_exit([weak = weak_from_this()](ExitStatus status) {
    auto self = weak.lock();
    if (!self) return;
    self->status_ = status;
    self->wait_for_last_words(last_words);
    self->finish_when_settled();
  });
  write_input();
  read(out_, out_buffer_, &ProgramRun::on_stdout);
  read(err_, err_buffer_, &ProgramRun::on_stderr);
  timer_.expires_after(plan_.time_limit);
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    auto self = weak.lock();
    // It may have ended just as the time was up.
    if (!error && self && !self->status_) self->stop(self->plan_.over_limit);
  });
}

void ProgramRun::stop(const std::string& why, milliseconds patience) {
  if (done_ || !process_ || !stopped_.empty()) return;
  stopped_ = why;
  process_->terminate(patience);
}

void ProgramRun::write_input() {
  const auto rest = boost::asio::buffer(plan_.input) + written_;
  if (rest.size() == 0) {
    in_.close();
    std::string().swap(plan_.input);
    return;
  }
  in_.async_write_some(rest,
                       [weak = weak_from_this()](const boost::system::error_code& error, std::size_t count) {
                         auto self = weak.lock();
                         if (!self || !self->in_.is_open()) return;
                         // A program need not read its stdin.
                         self->written_ = error ? self->plan_.input.size() : self->written_ + count;
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
                         self->heard_ += count;
                         survive("program output", [&] { ((*self).*take)({buffer.data(), count}); });
                         self->read(pipe, buffer, take);
                       });
}

// Something that left the process group (a compiler cache, say) may hold the pipes open forever.
void ProgramRun::wait_for_last_words(milliseconds longest) {
  timer_.expires_after(silence);
  timer_.async_wait(
      [weak = weak_from_this(), heard = heard_, longest](const boost::system::error_code& error) {
        auto self = weak.lock();
        if (error || !self || self->done_) return;
        const bool talks = self->heard_ != heard;
        if (talks && self->stopped_.empty() && longest > silence)
          return self->wait_for_last_words(longest - silence);
        self->open_pipes_ = 0;
        self->finish_when_settled();
      });
}

// It has ended and all of its output has been read.
void ProgramRun::finish_when_settled() {
  if (!status_ || open_pipes_ > 0) return;
  finish({.ok = stopped_.empty() && status_->signal == 0 && status_->code == 0,
          .how = stopped_.empty() ? status_->text() : stopped_});
}

void ProgramRun::finish(Result result) {
  if (done_) return;
  done_ = true;
  timer_.cancel();
  for (Pipe* pipe : {&in_, &out_, &err_})
    if (pipe->is_open()) pipe->close();
  result.took = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started_);
  const auto keep = shared_from_this();  // the callee may drop us
  on_end(result);
}

}  // namespace mcpivot
