#include "front/http_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <iterator>
#include <set>
#include <unordered_map>
#include <utility>

#include "front/acceptor.h"
#include "front/http_connection.h"
#include "front/tls.h"
#include "log/last_resort.h"
#include "log/log.h"

namespace mcpivot {
namespace {

constexpr std::size_t read_at_once = 64 * 1024;
// Clients that are turned away stay long enough to be told so, unless there are too many.
constexpr std::size_t most_turned_away = 64;

}  // namespace

class HttpServer::Inside final : public HttpConnection::Owner, public std::enable_shared_from_this<Inside> {
 public:
  Inside(boost::asio::io_context& loop, Corks& corks, Handler& handler, const Limits& limits)
      : loop_(loop), corks_(corks), handler_(&handler), limits_(limits), room_(read_at_once) {}

  std::expected<void, std::string> use_tls(const std::string& certificate_file, const std::string& key_file) {
    auto loaded = load_certificate(certificate_file, key_file);
    if (!loaded) return std::unexpected(std::move(loaded.error()));
    tls_ = std::move(*loaded);
    certificate_file_ = certificate_file;
    key_file_ = key_file;
    return {};
  }
  std::expected<void, std::string> reload_tls() {
    if (!tls_) return std::unexpected("TLS isn't in use");
    return use_tls(certificate_file_, key_file_);
  }

  std::expected<Bound, std::string> listen(const ListenAddress& address, bool tls) {
    if (handler_ == nullptr) return std::unexpected("the server is closed");
    if (tls && !tls_) return std::unexpected("TLS needs a certificate");
    auto sockets = open_listening_sockets(address);
    if (!sockets) return std::unexpected(std::move(sockets.error()));
    Bound bound;
    for (ListeningSocket& socket : *sockets) {
      const std::uint16_t port = bound.port = socket.port;
      bound.addresses.push_back(socket.address);
      auto on_peer = [this, tls, port](int descriptor, std::string peer) {
        HttpAsk from;
        from.peer = std::move(peer);
        from.secure = tls;
        from.local_port = port;
        welcome(descriptor, from);
      };
      acceptors_.push_back(std::make_shared<Acceptor>(loop_, std::move(socket), std::move(on_peer)));
      acceptors_.back()->start();
    }
    return bound;
  }

  void welcome(int descriptor, const HttpAsk& from) {
    const bool too_many = connections() >= limits_.connections;
    if (handler_ == nullptr || (too_many && turned_away_ >= most_turned_away)) {
      ::close(descriptor);
      return;
    }
    // Otherwise the kernel tries for a quarter of an hour to reach a peer that vanished silently.
    const auto patience = static_cast<unsigned>(limits_.write_stall.count());
    ::setsockopt(descriptor, IPPROTO_TCP, TCP_USER_TIMEOUT, &patience, sizeof(patience));
    auto wire = from.secure ? tls_->wire(descriptor) : plain_wire(descriptor);
    const HttpConnection::Context context{
        .loop = loop_, .corks = corks_, .limits = limits_, .owner = *this, .room = room_};
    const auto connection =
        std::make_shared<HttpConnection>(context, ++last_connection_, descriptor, std::move(wire), from);
    connections_.emplace(connection->id(), connection);
    if (!too_many) {
      if (connections() <= limits_.connections / 2) told_full_ = false;
      return connection->start();
    }
    ++turned_away_;
    if (!std::exchange(told_full_, true))
      log_warn("rejected an HTTP client: {} are already connected", limits_.connections);
    connection->turn_away();
  }

  std::shared_ptr<HttpConnection> find(ReplyId reply) const {
    const auto found = replies_.find(reply);
    return found == replies_.end() ? nullptr : found->second;
  }

  void abort(ReplyId reply) {
    const auto connection = find(reply);
    if (!connection) return;
    replies_.erase(reply);
    connection->cut();
  }

  void stop_accepting() {
    stopping_ = true;
    for (const auto& acceptor : std::exchange(acceptors_, {})) acceptor->close();
    for (const auto& connection : all()) connection->close_if_idle();
  }

  void close() {
    handler_ = nullptr;
    stop_accepting();
    replies_.clear();
    for (const auto& connection : all()) connection->cut();
  }

  std::size_t connections() const { return connections_.size() - turned_away_; }

  // HttpConnection::Owner
  std::optional<HttpAnswer> judge(ReplyId reply, const HttpAsk& ask) override {
    if (handler_ == nullptr) return plain_answer(503, "The server is closing.");
    return handler_->judge(reply, ask);
  }
  ReplyId begin(HttpConnection& connection) override {
    const ReplyId reply{++last_reply_};
    replies_.emplace(reply, connection.shared_from_this());
    return reply;
  }
  void on_request(ReplyId reply, const HttpAsk& ask, std::string body) override {
    if (handler_ != nullptr) handler_->on_request(reply, ask, std::move(body));
  }
  void end(ReplyId reply) override { replies_.erase(reply); }
  void lose(ReplyId reply) override {
    if (replies_.erase(reply) > 0) later([reply](Handler& handler) { handler.on_gone(reply); });
  }
  void on_drained(ReplyId reply) override {
    later([this, reply](Handler& handler) {
      if (replies_.contains(reply)) handler.on_drained(reply);
    });
  }
  void on_closed(HttpConnection& connection) override {
    if (connections_.erase(connection.id()) > 0 && connection.is_turned_away()) --turned_away_;
  }
  void on_held(HttpConnection& connection, std::size_t before, std::size_t now) override {
    if (before > 0) by_held_.erase({before, connection.id()});
    if (now > 0) by_held_.emplace(now, connection.id());
    held_ = held_ - before + now;
    if (held_ <= limits_.held_bytes || std::exchange(sheds_, true)) return;
    boost::asio::post(loop_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->shed();
    });
  }
  bool is_stopping() const override { return stopping_; }

 private:
  void shed() {
    sheds_ = false;
    while (held_ > limits_.held_bytes && !by_held_.empty()) {
      const auto heaviest = *std::prev(by_held_.end());
      const auto connection = connections_.find(heaviest.second);
      if (connection == connections_.end()) break;
      const auto keep = connection->second;
      keep->shed();
    }
  }

  // Through the loop: callers are never called back from within.
  template <class Callback>
  void later(Callback callback) {
    boost::asio::post(loop_, [weak = weak_from_this(), callback = std::move(callback)] {
      const auto self = weak.lock();
      if (!self || self->handler_ == nullptr) return;
      const Cork cork(self->corks_);
      survive("HTTP client", [&] { callback(*self->handler_); });
    });
  }

  std::vector<std::shared_ptr<HttpConnection>> all() const {
    std::vector<std::shared_ptr<HttpConnection>> list;
    for (const auto& [id, connection] : connections_) list.push_back(connection);
    return list;
  }

  boost::asio::io_context& loop_;
  Corks& corks_;
  Handler* handler_;  // none: the server is closed
  Limits limits_;
  std::vector<char> room_;
  std::unique_ptr<TlsCertificate> tls_;
  std::string certificate_file_;
  std::string key_file_;
  std::vector<std::shared_ptr<Acceptor>> acceptors_;
  std::unordered_map<std::uint64_t, std::shared_ptr<HttpConnection>> connections_;
  std::unordered_map<ReplyId, std::shared_ptr<HttpConnection>> replies_;
  std::uint64_t last_connection_ = 0;
  std::uint64_t last_reply_ = 0;
  std::size_t turned_away_ = 0;                              // and not closed yet
  std::size_t held_ = 0;                                     // by all connections
  std::set<std::pair<std::size_t, std::uint64_t>> by_held_;  // connections that hold much, with their ids
  bool sheds_ = false;                                       // soon
  bool told_full_ = false;  // logged that clients are turned away; once, not for each
  bool stopping_ = false;
};

HttpServer::HttpServer(boost::asio::io_context& loop, Corks& corks, Handler& handler, const Limits& limits)
    : inside_(std::make_shared<Inside>(loop, corks, handler, limits)) {}

HttpServer::~HttpServer() {
  close();
}

std::expected<void, std::string> HttpServer::use_tls(const std::string& certificate_file,
                                                     const std::string& key_file) {
  return inside_->use_tls(certificate_file, key_file);
}

std::expected<void, std::string> HttpServer::reload_tls() {
  return inside_->reload_tls();
}

std::expected<HttpServer::Bound, std::string> HttpServer::listen(const ListenAddress& address, bool tls) {
  return inside_->listen(address, tls);
}

void HttpServer::adopt(int descriptor, std::string peer) {
  HttpAsk from;
  from.peer = std::move(peer);
  inside_->welcome(descriptor, from);
}

void HttpServer::respond(ReplyId reply, HttpAnswer answer) {
  if (const auto connection = inside_->find(reply)) connection->respond(std::move(answer));
}

void HttpServer::begin_stream(ReplyId reply, int status, std::string_view headers) {
  if (const auto connection = inside_->find(reply)) connection->begin_stream(status, headers);
}

void HttpServer::write(ReplyId reply, std::string bytes) {
  if (const auto connection = inside_->find(reply)) connection->write(std::move(bytes));
}

void HttpServer::end(ReplyId reply) {
  if (const auto connection = inside_->find(reply)) connection->end();
}

bool HttpServer::knows(ReplyId reply) const {
  return inside_->find(reply) != nullptr;
}

bool HttpServer::full(ReplyId reply) const {
  const auto connection = inside_->find(reply);
  return connection && connection->full();
}

void HttpServer::abort(ReplyId reply) {
  inside_->abort(reply);
}

void HttpServer::stop_accepting() {
  inside_->stop_accepting();
}

void HttpServer::close() {
  inside_->close();
}

std::size_t HttpServer::connections() const {
  return inside_->connections();
}

}  // namespace mcpivot
