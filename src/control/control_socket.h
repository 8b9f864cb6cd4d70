// The socket for people: a running mcpivot can be queried and controlled from any terminal of the same
// user.
//
// The protocol is JSON-RPC, one message per line, as everywhere else: our own `status`, `logs`,
// `sessions` and `sessions/end`; `tools/list` and `tools/call` for the tools of all servers and the
// control tools.
//
// With one client, a terminal sees and controls what that client has. With many, what all of them have; but
// tools that are called by hand run in instances of the terminals' own, which end when the last terminal
// disconnects.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/steady_timer.hpp>
#include <expected>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>

#include "gateway/crowd.h"
#include "gateway/gateway.h"
#include "link/pipe_link.h"

namespace mcpivot {

class ControlSocket {
 public:
  // The references must outlive the socket.
  ControlSocket(LinkContext& context, World& world, Clients& clients, Desk& desk, std::string name);
  // With many clients.
  ControlSocket(LinkContext& context, World& world, Clients& clients, Gateway& gateway, Crowd& crowd,
                std::string name);
  ~ControlSocket();
  ControlSocket(const ControlSocket&) = delete;
  ControlSocket& operator=(const ControlSocket&) = delete;

  // The configuration file, if there is one: a terminal command in its folder means this mcpivot.
  void set_configuration_file(std::string file) { configuration_file_ = std::move(file); }

  // Switches the journal on or off; what it returns is the session that is being written, or why there is
  // none.
  using SetJournal = std::function<std::expected<std::string, std::string>(bool on)>;
  void set_journal(SetJournal set) { set_journal_ = std::move(set); }

  // mcpivot also works without the socket; the log says why there is none.
  void open();

 private:
  class Visitor;
  // What terminals see and control.
  struct Seat {
    Desk& desk;
    ControlTools tools;
  };
  using Acceptor = boost::asio::local::stream_protocol::acceptor;

  void accept();
  void accept_later(const std::string& why);
  void welcome(boost::asio::local::stream_protocol::socket socket);

  ControlSocket(LinkContext& context, World& world, Clients& clients, std::string name);
  Seat& seat();
  void leave_seat();
  std::string label(ClientId client) const;

  LinkContext& context_;
  World& world_;
  Clients& clients_;
  std::string name_;  // of this mcpivot, to distinguish it from others
  std::string configuration_file_;
  SetJournal set_journal_;
  Gateway* gateway_ = nullptr;  // with many clients; also those below
  Crowd* crowd_ = nullptr;
  std::optional<Seat> seat_;  // with many clients, while a terminal is connected
  Acceptor acceptor_;
  boost::asio::steady_timer pause_;  // after a terminal couldn't be accepted
  bool refusing_ = false;            // none was accepted since
  std::string path_;
  std::list<std::shared_ptr<Visitor>> visitors_;
};

}  // namespace mcpivot
