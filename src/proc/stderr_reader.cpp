#include "proc/stderr_reader.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>

#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {
StderrReader::StderrReader(boost::asio::io_context& loop, Descriptor descriptor, std::string server,
                           int generation, OutputRing& ring, bool pass_on)
    : in_(loop), server_(std::move(server)), generation_(generation), ring_(&ring), pass_on_(pass_on) {
  assign(in_, std::move(descriptor));
  in_.non_blocking(true);
}

void StderrReader::read() {
  in_.async_read_some(boost::asio::buffer(buffer_),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t count) {
                        if (error) return;
                        survive(self->server_, [&] { self->take({self->buffer_.data(), count}); });
                        self->read();
                      });
}

void StderrReader::take(std::string_view piece) {
  if (pass_on_) write_to_stderr(piece);
  assembler_.feed(piece, [this](const std::string& line) { add(line); });
}

void StderrReader::add(const std::string& line) {
  if (ring_ != nullptr) ring_->add(generation_, line);
  log_info("{} stderr: {}", server_, line);
}

// Something that left the process group may still be writing: what is there by now fits into the pipe.
void StderrReader::drain() {
  if (!in_.is_open()) return;
  constexpr int usual_capacity = 64 * 1024;
  const int capacity = ::fcntl(in_.native_handle(), F_GETPIPE_SZ);
  auto left = static_cast<std::size_t>(capacity > 0 ? capacity : usual_capacity);
  std::array<char, 16 * 1024> last;
  ssize_t count = 0;
  while (left > 0 && (count = ::read(in_.native_handle(), last.data(), std::min(left, last.size()))) > 0) {
    take({last.data(), static_cast<std::size_t>(count)});
    left -= static_cast<std::size_t>(count);
  }
  assembler_.rest([this](const std::string& line) { add(line); });
}

void StderrReader::close() {
  ring_ = nullptr;
  in_.close();
}

}  // namespace mcpivot
