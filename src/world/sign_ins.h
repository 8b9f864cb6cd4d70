// The sign-ins of this process: one for each server and client, no matter who uses the server, so that all
// its links wait for the same one.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "config/config.h"
#include "oauth/sign_in_runner.h"

namespace mcpivot {

// What a sign-in to this server needs; nothing if its credentials are configured, or its address is wrong.
std::optional<SignInRunner::Options> sign_in_options(const ServerConfig& config);

class SignIns {
 public:
  explicit SignIns(boost::asio::io_context& loop) : loop_(loop) {}

  // Null: the server's credentials are configured, and no sign-in starts.
  std::shared_ptr<SignInRunner> of(const ServerConfig& config);
  // In a line, for people; empty: there is nothing to tell.
  std::string describe(const ServerConfig& config);
  // The address that the user should open now to sign in; empty: there is none, or clients must not know it.
  std::string address(const ServerConfig& config);
  // From now on, no user can be asked.
  void never_ask() { may_ask_ = false; }
  // Called from the event loop when a user has signed in to a server, or a sign-in that users were shown has
  // failed: then `trouble` says why.
  using OnOver = std::function<void(const std::string& server, const std::string& trouble)>;
  void on_over(OnOver then) { then_ = std::move(then); }
  // The configuration has changed: sign-ins to other servers end.
  void keep_only(const std::vector<ServerEntry>& servers);
  // Before mcpivot ends: an answer with new tokens that comes too late would be a sign-in that is lost.
  void settle(std::chrono::milliseconds patience, const std::function<void()>& done);

 private:
  boost::asio::io_context& loop_;
  OnOver then_;
  std::map<std::string, std::shared_ptr<SignInRunner>> all_;
  std::vector<std::shared_ptr<SignInRunner>> replaced_;  // that have yet to settle
  bool may_ask_ = true;
};

}  // namespace mcpivot
