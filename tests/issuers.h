// For tests of `mcpivot serve --oauth-issuer`: a small authorization server that publishes metadata and keys,
// counts who asks for them, and signs whatever a test wants signed. It runs in a thread of the test.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "harness.h"
#include "host/signing_key.h"

namespace harness {

class Issuer {
 public:
  Issuer();
  ~Issuer() { stop(); }
  Issuer(const Issuer&) = delete;
  Issuer& operator=(const Issuer&) = delete;

  const std::string& url() const { return url_; }
  std::string keys_path() const { return "/keys"; }
  const SigningKey& key() const { return key_; }

  void put(const std::string& path, const std::string& body, int status = 200);
  // How often that path was requested; empty: any path.
  int asked(const std::string& path = {}) const;
  // While it is held, no request is answered.
  void hold(bool held);
  void stop();
  void start();

  // Claims that are valid for this audience, some of them replaced; null removes one.
  std::string claims(const boost::json::object& others = {}) const;
  std::string token(const boost::json::object& others = {}) const { return key_.token(claims(others)); }

  static constexpr const char* audience = "https://pivot.example/mcp";

 private:
  void serve();
  void answer(int connection);

  SigningKey key_{SigningKey::Kind::p256, "k1"};
  int port_;
  std::string url_;
  int listener_ = -1;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool held_ = false;
  bool stops_ = false;
  std::map<std::string, std::pair<int, std::string>> documents_;
  std::map<std::string, int> asked_;
  std::thread thread_;
};

// Seconds since 1970.
std::int64_t epoch_now();

}  // namespace harness
