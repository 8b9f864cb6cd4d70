// The door for people: a socket on which a running mcpivot can be asked and steered from any terminal of the
// same user.
//
// What is spoken there is JSON-RPC, a line a message, like everywhere else: `status` and `logs` of our own,
// `tools/list` and `tools/call` for the tools of all servers and the control tools.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <memory>
#include <string>

#include "gateway/desk.h"
#include "link/pipe_link.h"

namespace mcpivot {

class ControlSocket {
 public:
  // All of them must outlive the socket.
  ControlSocket(LinkContext& context, World& world, Clients& clients, Desk& desk, std::string name);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // Without a socket mcpivot works all the same; the log says why there is none.
  void open();

 private:
  class Visitor;
  using Acceptor = boost::asio::local::stream_protocol::acceptor;

  void accept();
  void accept_later(const std::string& why);
  void welcome(boost::asio::local::stream_protocol::socket socket);

  LinkContext& context_;
  Clients& clients_;
  Desk& desk_;
  std::string name_;  // of this mcpivot, to tell it from others
  ControlTools tools_;
  Acceptor acceptor_;
  boost::asio::steady_timer pause_;  // after a terminal could not be let in
  bool refusing_ = false;            // since then, none was
  std::string path_;
  std::list<std::shared_ptr<Visitor>> visitors_;
};

}  // namespace mcpivot
