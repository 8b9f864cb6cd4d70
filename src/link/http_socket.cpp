#include "link/http_socket.h"

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <deque>

#include "link/name_lookup.h"

namespace mcpivot {
namespace {

namespace asio = boost::asio;
namespace ssl = boost::asio::ssl;
using asio::ip::tcp;
using boost::system::error_code;

// For one address, from the first packet to the end of the TLS handshake; less if there are others to try.
constexpr std::chrono::seconds connect_patience{10};
constexpr std::chrono::seconds connect_patience_of_many{3};
// A peer that vanishes silently is noticed after idle + count * interval = 25 s.
constexpr int keep_alive_idle = 10;
constexpr int keep_alive_interval = 5;
constexpr int keep_alive_count = 3;
constexpr unsigned unacknowledged_ms = 25'000;
constexpr std::size_t longest_proxy_answer = 8 * 1024;

void set_options(tcp::socket& socket) {
  auto set = [&](int level, int name, auto value) {
    ::setsockopt(socket.native_handle(), level, name, &value, sizeof(value));  // best effort
  };
  set(SOL_SOCKET, SO_KEEPALIVE, 1);
  set(IPPROTO_TCP, TCP_KEEPIDLE, keep_alive_idle);
  set(IPPROTO_TCP, TCP_KEEPINTVL, keep_alive_interval);
  set(IPPROTO_TCP, TCP_KEEPCNT, keep_alive_count);
  set(IPPROTO_TCP, TCP_USER_TIMEOUT, unacknowledged_ms);
  set(IPPROTO_TCP, TCP_NODELAY, 1);
}

class Socket final : public HttpSocket, public std::enable_shared_from_this<Socket> {
 public:
  Socket(asio::io_context& loop, const HttpOrigin& origin, ssl::context* tls)
      : loop_(loop), origin_(origin), tcp_(loop), timer_(loop), tls_context_(tls) {}

  void connect(OnConnected on_connected) override {
    on_connected_ = std::move(on_connected);
    const Url& to = origin_.proxy ? origin_.proxy->url : origin_.url;
    error_code error;
    // A proxy resolves names for us, and where it connects is its affair; but we can check a literal address.
    if (origin_.proxy) {
      const auto behind = asio::ip::make_address(origin_.url.host, error);
      if (!error && !origin_.addresses.allows(kind_of(behind))) return give_up(forbidden(behind));
    }
    const auto address = asio::ip::make_address(to.host, error);
    if (!error) {
      endpoints_ = {{address, to.port}};
    } else if (to.host == "localhost" ||
               to.host.ends_with(".localhost")) {  // by definition; no lookup needed
      endpoints_ = {{asio::ip::address_v4::loopback(), to.port}, {asio::ip::address_v6::loopback(), to.port}};
    } else {
      NameLookup::of(loop_).look_up(
          to.host, to.port, [weak = weak_from_this()](const error_code& failed, const auto& found) {
            const auto self = weak.lock();
            if (!self || self->closed_) return;
            if (failed) return self->give_up("its name can't be resolved: " + failed.message());
            self->endpoints_.assign(found.begin(), found.end());
            self->try_next("its name has no address");
          });
      return;
    }
    try_next({});
  }

  void read_some(std::span<char> room, OnBytes on_bytes) override {
    auto handler = [self = shared_from_this(), on_bytes = std::move(on_bytes)](const error_code& error,
                                                                               std::size_t count) {
      if (!self->closed_) on_bytes(error, count);
    };
    const auto buffer = asio::buffer(room.data(), room.size());
    if (tls_) {
      tls_->async_read_some(buffer, std::move(handler));
    } else {
      tcp_.async_read_some(buffer, std::move(handler));
    }
  }

  void write(std::string_view head, std::string_view body, OnBytes on_bytes) override {
    auto handler = [self = shared_from_this(), on_bytes = std::move(on_bytes)](const error_code& error,
                                                                               std::size_t count) {
      if (!self->closed_) on_bytes(error, count);
    };
    const std::array buffers{asio::buffer(head), asio::buffer(body)};
    if (tls_) {
      asio::async_write(*tls_, buffers, std::move(handler));
    } else {
      asio::async_write(tcp_, buffers, std::move(handler));
    }
  }

  bool closed_by_peer() override {
    char byte = 0;
    const ssize_t count = ::recv(tcp_.native_handle(), &byte, 1, MSG_PEEK | MSG_DONTWAIT);
    return count == 0 || (count < 0 && errno != EAGAIN && errno != EINTR);
  }

  std::optional<AddressKind> peer() const override { return peer_; }

  void close() override {
    closed_ = true;
    on_connected_ = nullptr;
    timer_.cancel();
    error_code ignored;
    tcp_.close(ignored);
  }

 private:
  void try_next(const std::string& trouble) {
    if (endpoints_.empty()) return give_up(trouble);
    const tcp::endpoint endpoint = endpoints_.front();
    endpoints_.pop_front();
    if (!origin_.proxy && !origin_.addresses.allows(kind_of(endpoint.address())))
      return try_next(forbidden(endpoint.address()));
    error_code error;
    tcp_.close(error);
    tcp_.open(endpoint.protocol(), error);
    if (error) return try_next(error.message());
    set_options(tcp_);
    timer_.expires_after(endpoints_.empty() ? connect_patience : connect_patience_of_many);
    timer_.async_wait([weak = weak_from_this()](const error_code& stopped) {
      auto self = weak.lock();
      if (stopped || !self || self->closed_) return;
      // It has connected, or given up, or tries the next address: time was up at the same moment.
      if (!self->on_connected_ || self->timer_.expiry() > std::chrono::steady_clock::now()) return;
      self->late_ = true;
      error_code ignored;
      self->tcp_.close(ignored);  // pending operations fail now
    });
    tcp_.async_connect(endpoint, [self = shared_from_this()](const error_code& failed) {
      if (self->closed_) return;
      if (failed) return self->try_next(self->reason(failed));
      self->on_tcp();
    });
  }

  std::string reason(const error_code& error) {
    if (std::exchange(late_, false)) return "it took too long to connect";
    return error.message();
  }

  static std::string forbidden(const asio::ip::address& address) {
    return "mcpivot doesn't connect to " + address.to_string() + ": it is " +
           std::string(name_of(kind_of(address))) +
           ", because the server that named it has no such address itself";
  }

  void on_tcp() {
    error_code error;
    const auto peer = tcp_.remote_endpoint(error);
    if (!error && !origin_.proxy) peer_ = kind_of(peer.address());
    if (origin_.proxy && origin_.url.tls) {
      open_tunnel();
    } else if (origin_.url.tls) {
      shake_hands();
    } else {
      connected();
    }
  }

  void open_tunnel() {
    const std::string host =
        origin_.url.host.find(':') == std::string::npos ? origin_.url.host : "[" + origin_.url.host + "]";
    const std::string to = host + ":" + std::to_string(origin_.url.port);
    tunnel_ = "CONNECT " + to + " HTTP/1.1\r\nHost: " + to + "\r\n";
    if (!origin_.proxy->authorization.empty())
      tunnel_ += "Proxy-Authorization: " + origin_.proxy->authorization + "\r\n";
    tunnel_ += "\r\n";
    asio::async_write(
        tcp_, asio::buffer(tunnel_), [self = shared_from_this()](const error_code& error, std::size_t) {
          if (self->closed_) return;
          if (error) return self->give_up("the proxy: " + self->reason(error));
          self->tunnel_.clear();
          asio::async_read_until(self->tcp_, asio::dynamic_buffer(self->tunnel_, longest_proxy_answer),
                                 "\r\n\r\n", [self](const error_code& failed, std::size_t) {
                                   if (self->closed_) return;
                                   if (failed) return self->give_up("the proxy: " + self->reason(failed));
                                   self->on_tunnel();
                                 });
        });
  }

  void on_tunnel() {
    const std::string line = tunnel_.substr(0, tunnel_.find_first_of("\r\n"));
    if (!line.starts_with("HTTP/1.") || line.size() < 12 || line[9] != '2')
      return give_up("the proxy " + origin_.proxy->url.origin() + " refused: " + line.substr(0, 100));
    shake_hands();
  }

  void shake_hands() {
    tls_.emplace(tcp_, *tls_context_);
    SSL* native = tls_->native_handle();
    const std::string& host = origin_.url.host;
    error_code error;
    asio::ip::make_address(host, error);
    if (error) {
      // SSL_set_tlsext_host_name() without its cast.
      ::SSL_ctrl(native, SSL_CTRL_SET_TLSEXT_HOSTNAME, TLSEXT_NAMETYPE_host_name,
                 const_cast<char*>(host.c_str()));
      ::SSL_set1_host(native, host.c_str());
    } else {
      ::X509_VERIFY_PARAM_set1_ip_asc(::SSL_get0_param(native), host.c_str());
    }
    tls_->async_handshake(ssl::stream_base::client, [self = shared_from_this()](const error_code& failed) {
      if (self->closed_) return;
      if (failed) return self->give_up(self->tls_trouble(failed));
      self->connected();
    });
  }

  std::string tls_trouble(const error_code& error) {
    const long verdict = ::SSL_get_verify_result(tls_->native_handle());
    if (verdict != X509_V_OK && !origin_.insecure)
      return std::string("its certificate does not verify: ") + ::X509_verify_cert_error_string(verdict) +
             " (trust its authority with --cacert FILE; --insecure trusts anyone)";
    return "the TLS handshake failed: " + reason(error);
  }

  void connected() {
    timer_.cancel();
    std::exchange(on_connected_, nullptr)({});
  }

  void give_up(const std::string& trouble) {
    timer_.cancel();
    // Through the loop: connect() must not call back from within.
    asio::post(tcp_.get_executor(), [self = shared_from_this(), trouble] {
      if (!self->closed_) std::exchange(self->on_connected_, nullptr)(trouble);
    });
  }

  asio::io_context& loop_;
  const HttpOrigin& origin_;
  std::optional<AddressKind> peer_;
  tcp::socket tcp_;
  asio::steady_timer timer_;
  ssl::context* tls_context_;
  std::optional<ssl::stream<tcp::socket&>> tls_;
  std::deque<tcp::endpoint> endpoints_;  // still to be tried
  OnConnected on_connected_;
  std::string tunnel_;  // the request to the proxy, and its answer
  bool late_ = false;
  bool closed_ = false;
};

class Dialer final : public HttpDialer {
 public:
  Dialer(asio::io_context& loop, HttpOrigin origin) : loop_(loop), origin_(std::move(origin)) {}

  std::string set_up_tls() {
    tls_.emplace(ssl::context::tls_client);
    error_code error;
    tls_->set_default_verify_paths(error);
    if (!origin_.cacert.empty()) {
      tls_->load_verify_file(origin_.cacert, error);
      if (error)
        return "there is no readable certificate in '" + origin_.cacert + "' (--cacert): " + error.message();
    }
    tls_->set_verify_mode(origin_.insecure ? ssl::verify_none : ssl::verify_peer, error);
    ::SSL_CTX_set_min_proto_version(tls_->native_handle(), TLS1_2_VERSION);
    return {};
  }

  std::shared_ptr<HttpSocket> socket() override {
    return std::make_shared<Socket>(loop_, origin_, tls_ ? &*tls_ : nullptr);
  }
  const HttpOrigin& origin() const override { return origin_; }

 private:
  asio::io_context& loop_;
  HttpOrigin origin_;
  std::optional<ssl::context> tls_;
};

}  // namespace

std::expected<std::unique_ptr<HttpDialer>, std::string> HttpDialer::make(asio::io_context& loop,
                                                                         HttpOrigin origin) {
  auto dialer = std::make_unique<Dialer>(loop, std::move(origin));
  if (dialer->origin().url.tls)
    if (std::string trouble = dialer->set_up_tls(); !trouble.empty())
      return std::unexpected(std::move(trouble));
  return dialer;
}

}  // namespace mcpivot
