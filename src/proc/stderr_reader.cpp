#include "proc/stderr_reader.h"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>

#include "log/log.h"

namespace mcpivot {
StderrReader::StderrReader(boost::asio::io_context& loop, int descriptor, std::string server,
                           StderrRing& ring)
    : in_(loop, descriptor), server_(std::move(server)), ring_(&ring) {
  in_.non_blocking(true);
}

void StderrReader::read() {
  in_.async_read_some(boost::asio::buffer(buffer_),
                      [self = shared_from_this()](const boost::system::error_code& error, std::size_t count) {
                        if (error) return;
                        self->take({self->buffer_.data(), count});
                        self->read();
                      });
}

void StderrReader::take(std::string_view piece) {
  write_to_stderr(piece);
  if (ring_ == nullptr) return;
  const std::uint64_t before = ring_->total();
  ring_->feed(piece);
  const std::size_t fresh = std::min<std::size_t>(ring_->total() - before, ring_->lines().size());
  for (std::size_t i = ring_->lines().size() - fresh; i < ring_->lines().size(); ++i)
    log_info("{} stderr: {}", server_, ring_->lines()[i]);
}

void StderrReader::drain() {
  std::array<char, 16 * 1024> last;
  ssize_t count = 0;
  while (in_.is_open() && (count = ::read(in_.native_handle(), last.data(), last.size())) > 0)
    take({last.data(), static_cast<std::size_t>(count)});
}

void StderrReader::close() {
  ring_ = nullptr;
  in_.close();
}

}  // namespace mcpivot
