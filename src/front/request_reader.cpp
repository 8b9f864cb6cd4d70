#include "front/request_reader.h"

// Beast 1.81 asserts that the end of a chunked body comes in at least five bytes. A client may send it byte
// by byte, and the parser handles that correctly.
#define BOOST_DISABLE_ASSERTS
#include <boost/beast/http/basic_parser.hpp>
// Included first, while asserts are off.
#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/field.hpp>
#include <optional>

#include "base/text.h"

namespace mcpivot {
namespace {

namespace http = boost::beast::http;
using boost::beast::error_code;

// Each is compared with those before it.
constexpr std::size_t most_headers = 256;
// A body that is announced to be large may never come.
constexpr std::size_t most_reserved = 1024 * 1024;
constexpr char tls_handshake = 0x16;

bool is_method_character(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || is_digit(c) ||
         std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
}

// "http://host/path" is the form that proxies get, and means "/path" at that host, whatever `Host` says (RFC
// 9112, 3.2.2). False: the host is invalid.
bool take_host_of_target(HttpAsk& ask) {
  const std::string start = lower(std::string_view(ask.target).substr(0, 8));
  const std::size_t scheme = start == "https://" ? 8 : start.starts_with("http://") ? 7 : 0;
  if (scheme == 0) return true;
  const std::size_t end = std::min(ask.target.find_first_of("/?", scheme), ask.target.size());
  const std::string host = ask.target.substr(scheme, end - scheme);
  if (host.empty() || host.find('@') != std::string::npos) return false;
  ask.set("Host", host);
  ask.target.erase(0, end);
  if (!ask.target.starts_with('/')) ask.target.insert(0, "/");
  return true;
}

// "GET /path HTTP/9.9"
bool names_http(std::string_view line) {
  return std::ranges::count(line, ' ') == 2 && line.substr(line.rfind(' ')).starts_with(" HTTP/");
}

}  // namespace

// Keeps the head and the body. Trailers are read and ignored.
class RequestReader::Parser final : public http::basic_parser<true> {
 public:
  Parser(HttpAsk& ask, std::size_t body_limit) : ask_(ask), most_(body_limit) {
    eager(true);
    this->body_limit(boost::none);  // we count what actually arrives
    header_limit(~std::uint32_t{0});
  }
  std::string body;
  int version = 11;

 private:
  using view = boost::beast::string_view;
  static std::string_view text(view value) { return {value.data(), value.size()}; }

  void on_request_impl(http::verb, view method, view target, int number, error_code&) override {
    version = number;
    ask_.method = text(method);
    ask_.target = text(target);
  }
  void on_response_impl(int, view, int, error_code&) override {}
  void on_field_impl(http::field, view name, view value, error_code& error) override {
    if (in_body_) return;
    if (++headers_ > most_headers) {
      error = http::error::header_limit;
      return;
    }
    ask_.add(text(name), text(value));
  }
  void on_header_impl(error_code&) override { in_body_ = true; }
  void on_body_init_impl(const boost::optional<std::uint64_t>& size, error_code&) override {
    if (size) body.reserve(std::min<std::uint64_t>(*size, most_reserved));
  }
  std::size_t on_body_impl(view piece, error_code& error) override { return add(piece, error); }
  void on_chunk_header_impl(std::uint64_t size, view, error_code& error) override {
    if (size > most_ - body.size()) error = http::error::body_limit;
  }
  std::size_t on_chunk_body_impl(std::uint64_t, view piece, error_code& error) override {
    return add(piece, error);
  }
  void on_finish_impl(error_code&) override {}

  std::size_t add(view piece, error_code& error) {
    if (piece.size() > most_ - body.size()) {
      error = http::error::body_limit;
      return 0;
    }
    body += text(piece);
    return piece.size();
  }

  HttpAsk& ask_;
  std::size_t most_;
  std::size_t headers_ = 0;
  bool in_body_ = false;
};

// A parser reads one message; its memory is reused for all.
struct RequestReader::Parsing {
  std::optional<Parser> parser;
};

RequestReader::RequestReader(Limits limits, HttpAsk from)
    : limits_(limits), ask_(std::move(from)), parsing_(std::make_unique<Parsing>()) {}

RequestReader::~RequestReader() = default;

RequestReader::Step RequestReader::read(std::string_view& bytes) {
  return in_body_ ? read_body(bytes) : read_head(bytes);
}

void RequestReader::next() {
  ask_.clear();
  parsing_->parser.reset();
  scanned_ = 0;
  in_body_ = keeps_alive_ = is_http_1_0_ = announces_body_ = expects_continue_ = false;
}

bool RequestReader::too_large() const {
  const auto length = parsing_->parser->content_length();
  return length && *length > limits_.body_bytes;
}

std::string RequestReader::take_body() {
  return std::move(parsing_->parser->body);
}

std::size_t RequestReader::body_bytes() const {
  return parsing_->parser ? parsing_->parser->body.size() : 0;
}

RequestReader::Step RequestReader::refuse(int status, std::string_view why) {
  refusal_ = plain_answer(status, why);
  refusal_.close = true;
  return Step::refused;
}

// Looks for the end of the head line by line, so that the parser gets all of it at once, and rejects what the
// parser would tolerate.
RequestReader::Step RequestReader::read_head(std::string_view& bytes) {
  while (scanned_ == 0 && bytes.starts_with("\r\n"))
    bytes.remove_prefix(2);  // some clients send one too many
  if (bytes.empty() || bytes == "\r") return Step::more;
  if (bytes.front() == tls_handshake)
    return refuse(400, "This port speaks plain HTTP. Use http:// instead of https://.");
  if (!is_method_character(bytes.front())) return refuse(400, "This isn't an HTTP request.");
  for (;;) {
    const auto end = bytes.find('\n', scanned_);
    if (end == std::string_view::npos || end >= limits_.header_bytes) {
      if (bytes.size() > limits_.header_bytes || end != std::string_view::npos)
        return refuse(431, "The request's headers are too large.");
      return Step::more;
    }
    if (end == 0 || bytes[end - 1] != '\r') return refuse(400, "The lines of a request must end in CR LF.");
    const std::string_view line = bytes.substr(scanned_, end - 1 - scanned_);
    if (scanned_ > 0 && (line.starts_with(' ') || line.starts_with('\t')))
      return refuse(400, "A header is folded over several lines, which HTTP no longer allows.");
    scanned_ = end + 1;
    if (!line.empty()) continue;
    const std::string_view head = bytes.substr(0, scanned_);
    bytes.remove_prefix(scanned_);
    return parse_head(head);
  }
}

RequestReader::Step RequestReader::parse_head(std::string_view head) {
  Parser& parser = parsing_->parser.emplace(ask_, limits_.body_bytes);
  error_code error;
  parser.put(boost::asio::buffer(head.data(), head.size()), error);
  if (error == http::error::header_limit) return refuse(431, "The request has too many headers.");
  if (error == http::error::bad_version && names_http(head.substr(0, head.find('\r'))))
    return refuse(505, "This server speaks HTTP/1.1.");
  if (error && error != http::error::need_more)
    return refuse(400, "The request can't be read: " + error.message() + ".");
  if (!parser.is_header_done()) return refuse(400, "The request can't be read.");
  return check_head();
}

RequestReader::Step RequestReader::check_head() {
  const Parser& parser = *parsing_->parser;
  is_http_1_0_ = parser.version < 11;
  keeps_alive_ = parser.keep_alive();
  announces_body_ = parser.chunked() || parser.content_length().value_or(0) > 0;
  if (ask_.repeated("host")) return refuse(400, "The request has more than one Host header.");
  if (!is_http_1_0_ && !ask_.has("host")) return refuse(400, "The request has no Host header.");
  if (!take_host_of_target(ask_)) return refuse(400, "The request's target names no host.");
  // A program that reads only one of these sees a request that ends somewhere else.
  if (ask_.has("transfer-encoding")) {
    if (is_http_1_0_ || ask_.has("content-length"))
      return refuse(400, "The request must give the length of its body in one way only.");
    if (!parser.chunked() || lower(ask_.header("transfer-encoding")) != "chunked")
      return refuse(501, "The only transfer encoding that this server accepts is \"chunked\".");
  }
  if (ask_.header("content-length").find(',') != std::string_view::npos)
    return refuse(400, "The request has more than one Content-Length.");
  if (ask_.has("expect") && !is_http_1_0_) {
    if (lower(ask_.header("expect")) != "100-continue")
      return refuse(417, "The only expectation that this server meets is \"100-continue\".");
    expects_continue_ = announces_body_;
  }
  in_body_ = true;
  return Step::head;
}

RequestReader::Step RequestReader::read_body(std::string_view& bytes) {
  Parser& parser = *parsing_->parser;
  if (parser.is_done()) return Step::request;
  error_code error;
  bytes.remove_prefix(parser.put(boost::asio::buffer(bytes.data(), bytes.size()), error));
  if (parser.is_done() && !error) return Step::request;
  if (error == http::error::body_limit) return refuse(413, "The request's body is too large.");
  if (error && error != http::error::need_more)
    return refuse(400, "The request's body can't be read: " + error.message() + ".");
  // The head of a chunk, or trailers. The parser doesn't keep them, so it has no limit of its own.
  if (bytes.size() > limits_.header_bytes) return refuse(431, "The request's chunk headers are too large.");
  return Step::more;
}

}  // namespace mcpivot
