// The main program: a client on our stdin and stdout, or many over HTTP, with servers behind us, until a
// client or a signal ends it.
//
// One thread, the main one.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "config/config.h"
#include "log/log.h"

namespace mcpivot {

// For clients that connect over HTTP.
struct ServeOptions {
  std::vector<std::string> listens;
  std::string certificate;
  std::string key;
  std::string public_url;
  std::vector<std::string> hosts;
  std::vector<std::string> origins;
  std::vector<std::string> trusted_proxies;
  std::string token_file;
  std::string oauth_issuer;
  std::string audience;
  bool no_auth = false;
  std::string session_key_file;
  std::chrono::milliseconds session_idle{std::chrono::minutes(10)};
  Sharing sharing = Sharing::per_client;  // of servers whose entry doesn't say
  std::size_t max_instances = 256;        // of servers that aren't shared
  std::chrono::milliseconds drain{std::chrono::seconds(10)};
};

struct Options {
  LogOptions log;
  GatewayConfig gateway;
  std::optional<ServeOptions> serve;  // not given: one client, on stdin and stdout
};

// To a proxy, SIGHUP means reload from its first moment on: main() blocks it before anything else, and run()
// unblocks it when it can be handled. Other commands end with their terminal.
void hold_reload_signal(bool held);

// Returns the exit code.
int run(const Options& options);

}  // namespace mcpivot
