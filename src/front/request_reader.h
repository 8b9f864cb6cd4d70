// Splits the bytes of a connection into HTTP/1 requests, and refuses whatever two programs could split
// differently: a proxy in front of us would let through a request that it has never seen.
//
// It is given bytes, and knows nothing about sockets or time. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "front/http_message.h"

namespace mcpivot {

class RequestReader {
 public:
  struct Limits {
    std::size_t header_bytes;
    std::size_t body_bytes;
  };
  enum class Step : std::uint8_t {
    more,     // incomplete so far
    head,     // the head is complete; the next read goes on with the body
    request,  // it is complete; call next() before reading on
    refused,  // a request that we don't accept; nothing after it can be trusted
  };

  RequestReader(Limits limits, HttpAsk from);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Removes what it has used from the beginning of `bytes`. The rest must be passed again the next time,
  // followed by what has arrived since.
  Step read(std::string_view& bytes);
  // Forgets this request: a new one begins.
  void next();

  // From `head` on.
  const HttpAsk& ask() const { return ask_; }
  bool keeps_alive() const { return keeps_alive_; }  // the client wants to keep the connection
  bool is_http_1_0() const { return is_http_1_0_; }  // which has no chunks
  bool announces_body() const { return announces_body_; }
  bool expects_continue() const { return expects_continue_; }
  // The body won't be accepted: it is announced to be larger than allowed.
  bool too_large() const;
  // At `request`.
  std::string take_body();
  // How much of it has arrived.
  std::size_t body_bytes() const;
  // At `refused`.
  const HttpAnswer& refusal() const { return refusal_; }

 private:
  class Parser;
  struct Parsing;

  Step refuse(int status, std::string_view why);
  Step read_head(std::string_view& bytes);
  Step parse_head(std::string_view head);
  Step check_head();
  Step read_body(std::string_view& bytes);

  Limits limits_;
  HttpAsk ask_;
  std::unique_ptr<Parsing> parsing_;
  std::size_t scanned_ = 0;  // of the head: complete lines before this have been checked
  bool in_body_ = false;
  bool keeps_alive_ = false;
  bool is_http_1_0_ = false;
  bool announces_body_ = false;
  bool expects_continue_ = false;
  HttpAnswer refusal_;
};

}  // namespace mcpivot
