// The sign-ins of this process: one for each server and client, whoever uses the server, so that all its
// links wait for the same one.
//
// One thread.
#pragma once

#include <boost/asio/io_context.hpp>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "config/server_config.h"
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
  // No user is there to be asked.
  void never_ask() { may_ask_ = false; }
  // Called from the event loop with the name of a server that somebody signed in to.
  void on_signed_in(std::function<void(const std::string& server)> then) { then_ = std::move(then); }

 private:
  boost::asio::io_context& loop_;
  std::function<void(const std::string&)> then_;
  std::map<std::string, std::shared_ptr<SignInRunner>> all_;
  bool may_ask_ = true;
};

}  // namespace mcpivot
