// Accepts clients over HTTP/1.1 and passes on their requests: it handles connections, framing, TLS, limits
// and back-pressure, but not what a request means.
//
// Only ids are exchanged with the code that answers. An id whose client is gone, or whose answer has ended,
// is no longer known; calls that use it do nothing.
//
// One thread. The handler is called from the event loop, never from within a call to the server. SIGPIPE must
// be ignored.
#pragma once

#include <boost/asio/io_context.hpp>
#include <cstddef>
#include <cstdint>
#include <expected>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "front/http_limits.h"
#include "front/http_message.h"
#include "front/listen_address.h"
#include "link/cork.h"

namespace mcpivot {

class HttpServer {
 public:
  class Handler {
   public:
    virtual ~Handler() = default;
    // The head of a request has arrived, and its body has not been read. An answer refuses it; if a body was
    // announced, the connection is closed after that answer. Otherwise the request may be answered at any
    // time from now on, and has on_request() or on_gone() called with the same id, unless it was answered
    // before.
    virtual std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) = 0;
    virtual void on_request(ReplyId reply, const HttpAsk& ask, std::string body) = 0;
    // The client closed the connection, or its side of it, before the end of the answer; or it was
    // disconnected because it doesn't read, or doesn't send its whole request. Called once.
    virtual void on_gone(ReplyId reply) = 0;
    // A stream that was full has room again.
    virtual void on_drained(ReplyId reply) = 0;
  };
  using Limits = HttpLimits;
  struct Bound {
    std::uint16_t port = 0;                // the real one; 0 for a Unix socket
    std::vector<std::string> addresses{};  // "127.0.0.1:7420"; localhost has two
  };

  // The references must outlive the server. While a cork is held, answers wait for it to be pulled.
  HttpServer(boost::asio::io_context& loop, Corks& corks, Handler& handler, const Limits& limits = {});
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // The certificate (with its chain) and key, for listeners that want TLS. The error says what is wrong.
  std::expected<void, std::string> use_tls(const std::string& certificate_file, const std::string& key_file);
  // Reads the same files again, for new connections. If that fails, the old certificate stays.
  std::expected<void, std::string> reload_tls();

  // May be called more than once. The error says what to do.
  std::expected<Bound, std::string> listen(const ListenAddress& address, bool tls = false);
  // Takes over a connection that was accepted elsewhere, with its descriptor.
  void adopt(int descriptor, std::string peer);

  // The whole answer, and its end.
  void respond(ReplyId reply, HttpAnswer answer);
  // Or piece by piece, of unknown length.
  void begin_stream(ReplyId reply, int status, std::string_view headers);
  void write(ReplyId reply, std::string bytes);
  void end(ReplyId reply);
  // Whether it still waits for its answer, or for the rest of it.
  bool knows(ReplyId reply) const;
  // More than limits.stream_bytes are waiting for this client. on_drained() follows.
  bool full(ReplyId reply) const;
  // Closes the connection in the middle of the answer; on_gone() is not called for it.
  void abort(ReplyId reply);

  // No new connections are accepted. Idle ones are closed, the others once they have been answered.
  void stop_accepting();
  // Ends everything now; unwritten output is lost. No handler is called after that.
  void close();

  // Connections that count against the limit. One that has been answered and is being closed counts until the
  // client has closed it too, or limits.linger has passed.
  std::size_t connections() const;

 private:
  class Inside;
  std::shared_ptr<Inside> inside_;
};

}  // namespace mcpivot
