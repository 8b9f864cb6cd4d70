// `mcpivot login` and `mcpivot logout`: signing in to a remote server by hand, also where there is no
// browser, and signing out. Whether an mcpivot runs makes no difference: all of them share the record, and
// one that waits for the user is helped, not disturbed.
//
// Blocks. One thread.
#pragma once

#include <string>

#include "config/server_config.h"

namespace mcpivot {

struct LoginCommand {
  std::string server;   // its name in a config file, or its URL
  std::string file{};   // empty: the one that mcpivot would use
  OauthConfig oauth{};  // this and the next two are for a URL
  std::string cacert{};
  bool insecure = false;
  bool no_browser = false;
};

// Each returns the exit code.
int login_command(const LoginCommand& command);
int logout_command(const LoginCommand& command);

}  // namespace mcpivot
