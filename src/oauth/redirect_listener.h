// Where the user's browser comes back to after a sign-in: a tiny HTTP server on 127.0.0.1 that takes one kind
// of request, GET /callback, hands on its query and answers with a plain page.
//
// Any program on this machine can connect, and web pages can send the browser there, so SignIn checks what
// arrives. Nothing of it is echoed. Only a few connections are accepted at a time, none for long, and idle
// ones make room for others.
//
// When its owner destroys it, connections that have sent nothing are closed. Answers that are being written
// are finished; until then, the loop has work. One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstdint>
#include <expected>
#include <functional>
#include <memory>
#include <string>

#include "oauth/form.h"

namespace mcpivot {

class RedirectListener {
 public:
  // Answers with a page. To be called once.
  using Reply = std::function<void(bool ok, const std::string& text)>;
  using OnRedirect = std::function<void(FormFields fields, Reply reply)>;

  // The error says why the port can't be had. `must_be_it`: no other port will do.
  static std::expected<std::unique_ptr<RedirectListener>, std::string> open(boost::asio::io_context& loop,
                                                                            std::uint16_t port,
                                                                            bool must_be_it,
                                                                            OnRedirect on_redirect);
  ~RedirectListener();

  const std::string& redirect_uri() const;

 private:
  class Visit;
  class Acceptor;
  explicit RedirectListener(std::shared_ptr<Acceptor> acceptor);
  std::shared_ptr<Acceptor> acceptor_;
};

}  // namespace mcpivot
