// Whether a descriptor is really ready when a wait for it has ended.
//
// Asio keeps a record of each descriptor, and reuses it for the next one when the descriptor is closed. An
// event that it had fetched for the old one then reaches the new one. A read or a write finds nothing to do
// and goes on waiting; a plain wait believes the event, and takes a process that has just started for dead,
// or a pipe for closed. So after a wait, check, and wait again if needed.
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
  return ::poll(&look, 1, 0) > 0;  // poll always reports errors
}

}  // namespace mcpivot
