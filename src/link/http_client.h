// Speaks HTTP/1.1 to one origin over a few connections that are kept open: each exchange has one to itself
// while it lasts, and then leaves it to the next. Exchanges begin in the order in which they were
// requested.
//
// It doesn't follow redirects and knows nothing about MCP. The owner must call close() before it destroys it.
//
// One thread; exchanges are called from the event loop, except for on_begun(), which may be called from
// within send().
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "link/http_socket.h"

namespace mcpivot {

struct HttpHead {
  int status = 0;
  std::string reason;        // "Not Found"
  std::string content_type;  // in lower case, without parameters
  std::string session_id;    // Mcp-Session-Id
  std::string location;
  std::string www_authenticate;     // several are joined with commas
  std::optional<AddressKind> from;  // where the peer of this connection is; nothing: a proxy was in between
};

struct HttpFailure {
  enum Kind : std::uint8_t {
    unreachable,  // no connection could be made
    unsent,       // the connection was gone before anything was written to it
    broken,       // the connection ended before the answer did
    nonsense,     // what came wasn't HTTP, or was too long
    late,         // there was no answer in time
  } kind;
  std::string text;
};

// Learns the outcome of a request. on_done() or on_failed() is the last call.
class HttpExchange {
 public:
  virtual ~HttpExchange() = default;
  // It is being written: from now on, the peer may have seen it.
  virtual void on_begun() {}
  virtual void on_head(const HttpHead& head) = 0;
  virtual void on_body(std::string_view piece) = 0;
  virtual void on_done() = 0;
  virtual void on_failed(const HttpFailure& failure) = 0;
};

struct HttpRequest {
  std::string_view method;  // a literal
  std::string target;
  std::string headers;                      // more of them, each with its line end
  std::shared_ptr<const std::string> body;  // shared with what may have to send it again; null: none
  std::chrono::milliseconds patience{0};    // until the head of the answer arrives; 0: no limit
  bool brief = false;                       // won't take long, and needn't queue behind exchanges that do
  bool standing = false;  // its answer is an endless stream, so it gets a connection that doesn't count

  std::size_t body_size() const { return body ? body->size() : 0; }
};

class HttpClient {
 public:
  // `headers` go with every request, each with its line end.
  HttpClient(boost::asio::io_context& loop, std::unique_ptr<HttpDialer> dialer, std::string headers);
  ~HttpClient();

  void send(HttpRequest request, std::shared_ptr<HttpExchange> exchange);
  // No answer is wanted any more: the connection is closed if the request has been written. No callback
  // follows.
  void cancel(const HttpExchange& exchange);
  // It must end within this time, or it fails. 0: no limit after all.
  void hurry(const HttpExchange& exchange, std::chrono::milliseconds patience);
  // Opens a connection to see whether that works. `trouble` is empty if it does.
  void probe(std::function<void(const std::string& trouble)> then);

  // While paused, nothing is read; what has been read is still delivered.
  void pause() { paused_ = true; }
  void resume();

  // What waits to be written, in bytes.
  std::size_t waiting_bytes() const { return waiting_bytes_; }
  std::size_t connections() const { return connections_.size(); }
  const HttpDialer& dialer() const { return *dialer_; }
  // Ends everything; no callback follows.
  void close();

 private:
  class Connection;
  struct Waiting {
    HttpRequest request;
    std::shared_ptr<HttpExchange> exchange;
    bool urgent() const { return request.brief || request.standing; }
  };

  void dispatch();
  std::size_t put_aside() const;
  bool may_open(bool urgent) const;
  void open(std::function<void(const std::string&)> probe);
  void on_opened(const std::shared_ptr<Connection>& connection, const std::string& trouble);
  void on_free(const std::shared_ptr<Connection>& connection);
  void remove(const std::shared_ptr<Connection>& connection);
  void close_idle_later();

  boost::asio::io_context& loop_;
  std::unique_ptr<HttpDialer> dialer_;
  std::string headers_;
  std::string target_prefix_;  // for a proxy, which must be told the whole address
  std::deque<Waiting> waiting_;
  std::vector<std::shared_ptr<Connection>> connections_;
  std::size_t waiting_bytes_ = 0;
  boost::asio::steady_timer idle_timer_;
  std::shared_ptr<bool> alive_ =
      std::make_shared<bool>(true);  // for handlers that are still queued when we are destroyed
  bool idle_timer_runs_ = false;
  bool paused_ = false;
  bool closed_ = false;
};

}  // namespace mcpivot
