// Reads a child's stderr for as long as anybody has it open, into its server's ring, into the log, and, if
// wanted, on to our own stderr, where clients look for it. The child never waits for us, and we never wait
// for readers of our stderr.
//
// Owns the descriptor. One thread.
#pragma once

#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "base/output_ring.h"

namespace mcpivot {

class StderrReader : public std::enable_shared_from_this<StderrReader> {
 public:
  // The ring must outlive the reader, unless close() is called first.
  StderrReader(boost::asio::io_context& loop, Descriptor descriptor, std::string server, int generation,
               OutputRing& ring, bool pass_on);
  void start() { read(); }
  void close();
  // Reads what is there by now, without blocking, so that a crash report has the last lines.
  void drain();

 private:
  void read();
  void take(std::string_view piece);
  void add(const std::string& line);

  boost::asio::posix::stream_descriptor in_;
  std::string server_;
  int generation_;
  OutputRing* ring_;
  bool pass_on_;
  LineAssembler assembler_;
  std::array<char, 16 * 1024> buffer_;
};

}  // namespace mcpivot
