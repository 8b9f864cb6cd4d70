// One HTTP request for one document, within bounds: metadata, keys, tokens. The author of the URL isn't
// trusted, so the answer has a size and a time limit, a redirect is an error and not followed, plain HTTP
// goes to this machine only, and the address that is connected to must be one that the rule allows.
//
// Errors are sentences without a secret in them: the URL is shown without its query. The owner may be
// destroyed at any time; no callback follows then.
//
// One thread; callbacks come from the event loop, never from within fetch().
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/environment.h"
#include "base/url.h"
#include "link/address_rule.h"

namespace mcpivot {

struct FetchRequest {
  Url url;
  std::string_view method = "GET";  // a literal: "GET" or "POST"
  std::string accept = "application/json";
  std::string content_type{};
  std::string body{};
  std::string headers{};  // more of them, each with its line end
  AddressRule addresses = AddressRule::anywhere();
  bool head_only = false;  // the body isn't wanted: a redirect or a stream is an answer, too
};

struct FetchAnswer {
  int status = 0;
  std::string content_type;  // in small letters, without parameters
  std::string body;
  std::string www_authenticate;
  std::string location{};           // of a redirect
  std::optional<AddressKind> from;  // nothing: a proxy was in between

  bool ok() const { return status / 100 == 2; }
};

class Fetcher {
 public:
  struct Options {
    std::string cacert{};           // a file with certificates to trust besides the system's
    std::optional<Url> insecure{};  // trust anybody, at this origin alone
    std::size_t most_bytes = 1024 * 1024;
    std::chrono::milliseconds patience{20'000};
    Variable variable = own_variable;  // for proxies
  };
  using Then = std::function<void(std::expected<FetchAnswer, std::string>)>;

  Fetcher(boost::asio::io_context& loop, Options options);
  ~Fetcher() { close(); }
  Fetcher(const Fetcher&) = delete;
  Fetcher& operator=(const Fetcher&) = delete;

  // Any status but a redirect is an answer, unless the head alone is wanted.
  void fetch(FetchRequest request, Then then);
  // Ends everything; no callback follows.
  void close();

 private:
  class Fetch;
  boost::asio::io_context& loop_;
  Options options_;
  std::vector<std::shared_ptr<Fetch>> running_;
};

}  // namespace mcpivot
