// Cuts what comes over a connection into HTTP/1 requests, and refuses whatever two programs could cut in
// different places: the one in front of us would let a request pass that it has never seen.
//
// It is given bytes, and knows nothing of sockets or time. One thread.
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
    more,     // there is not enough yet
    head,     // the head is there; reading on goes to the body
    request,  // all of it is there; next() comes before any further reading
    refused,  // a request that we don't accept; nothing after it can be trusted
  };

  RequestReader(Limits limits, HttpAsk from);
  ~RequestReader();
  RequestReader(const RequestReader&) = delete;
  RequestReader& operator=(const RequestReader&) = delete;

  // Takes what it has used off the beginning of `bytes`. What is left must be there again the next time, with
  // what has come meanwhile behind it.
  Step read(std::string_view& bytes);
  // Forgets this request: a new one begins.
  void next();

  // From `head` on.
  const HttpAsk& ask() const { return ask_; }
  bool keeps_alive() const { return keeps_alive_; }  // it wants the connection to stay
  bool is_http_1_0() const { return is_http_1_0_; }  // knows no chunks
  bool announces_body() const { return announces_body_; }
  bool expects_continue() const { return expects_continue_; }
  // The body won't be taken: it is announced to be larger than allowed.
  bool too_large() const;
  // At `request`.
  std::string take_body();
  // How much of it is there.
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
  std::size_t scanned_ = 0;  // of the head: whole lines before this have been looked at
  bool in_body_ = false;
  bool keeps_alive_ = false;
  bool is_http_1_0_ = false;
  bool announces_body_ = false;
  bool expects_continue_ = false;
  HttpAnswer refusal_;
};

}  // namespace mcpivot
