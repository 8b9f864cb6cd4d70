// Whether a descriptor for which a wait has ended is really ready.
//
// Asio keeps a record of each descriptor, and gives it to the next one when that is closed. An event that it
// had fetched for the old one then reaches the new one. A read or a write finds nothing to do and waits on; a
// mere wait believes it, and takes a process that has just begun for dead, or a pipe for closed. Whoever
// waits must therefore look, and wait again.
//
// Any thread.
#pragma once

#include <poll.h>

#include <boost/asio/posix/stream_descriptor.hpp>

namespace mcpivot {

inline bool is_ready(boost::asio::posix::stream_descriptor& descriptor,
                     boost::asio::posix::stream_descriptor::wait_type what) {
  const bool read = what == boost::asio::posix::stream_descriptor::wait_read;
  pollfd look{
      .fd = descriptor.native_handle(), .events = static_cast<short>(read ? POLLIN : 0), .revents = 0};
  return ::poll(&look, 1, 0) > 0;  // errors are reported unasked
}

}  // namespace mcpivot
