// Accepts clients at one listening socket. When no descriptor is left, it pauses and then continues: in the
// meantime, clients wait in the kernel's queue.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>

#include "front/listening_socket.h"

namespace mcpivot {

class Acceptor : public std::enable_shared_from_this<Acceptor> {
 public:
  // The descriptor belongs to the callee, and is nonblocking.
  using OnPeer = std::function<void(int descriptor, std::string peer)>;

  Acceptor(boost::asio::io_context& loop, ListeningSocket socket, OnPeer on_peer);
  void start();
  // No handler is called after that.
  void close();

  const std::string& address() const { return socket_.address; }

 private:
  void wait();
  void accept();
  void pause(const char* why);

  ListeningSocket socket_;  // owns the file; the descriptor belongs to the next member
  boost::asio::posix::stream_descriptor descriptor_;
  boost::asio::steady_timer pause_;
  OnPeer on_peer_;
  bool refusing_ = false;  // since no client could be accepted
};

}  // namespace mcpivot
