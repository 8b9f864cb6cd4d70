// A connection to the host of a daemon, ready for HTTP: resolved, connected, through a proxy if needed, and
// with TLS if the URL says so. All knowledge of sockets and TLS is behind this interface.
//
// One thread; callbacks come from the event loop, never from within the call that requested them.
#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/url.h"
#include "link/address_rule.h"
#include "link/proxy.h"

namespace mcpivot {

class HttpSocket {
 public:
  using OnConnected = std::function<void(const std::string& trouble)>;  // empty: connected
  using OnBytes = std::function<void(const boost::system::error_code&, std::size_t)>;

  virtual ~HttpSocket() = default;
  virtual void connect(OnConnected on_connected) = 0;
  // `room` must stay valid until `on_bytes` is destroyed: closing doesn't end an operation at once.
  virtual void read_some(std::span<char> room, OnBytes on_bytes) = 0;
  // All of both, which must stay valid likewise.
  virtual void write(std::string_view head, std::string_view body, OnBytes on_bytes) = 0;
  // Whether the peer has closed it.
  virtual bool closed_by_peer() = 0;
  // The kind of address it is connected to; nothing if a proxy knows that.
  virtual std::optional<AddressKind> peer() const = 0;
  // No callback follows.
  virtual void close() = 0;
};

// Where to connect, and whom to trust there.
struct HttpOrigin {
  Url url;
  std::optional<Proxy> proxy;
  std::string cacert;     // a file with certificates to trust in addition to the system's
  bool insecure = false;  // trust anybody
  AddressRule addresses = AddressRule::anywhere();
};

// Makes connections to one origin.
class HttpDialer {
 public:
  virtual ~HttpDialer() = default;
  virtual std::shared_ptr<HttpSocket> socket() = 0;
  virtual const HttpOrigin& origin() const = 0;

  // The error says what is wrong with the certificates.
  static std::expected<std::unique_ptr<HttpDialer>, std::string> make(boost::asio::io_context& loop,
                                                                      HttpOrigin origin);
};

}  // namespace mcpivot
