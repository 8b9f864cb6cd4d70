// What a server said in its handshake and lists the last time, kept on disk, so that the next time a client
// need not wait for the server to start. A guess: whoever uses it corrects it when the server has spoken.
//
// One text for each server, program file and kind of client. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/server_config.h"
#include "mcp/catalog.h"
#include "server/files.h"

namespace mcpivot {

struct LastRun {
  std::string initialize_result;
  Catalog catalog;
};

class StartCache {
 public:
  // `program` is the file that the server's code is in, if known; `hello` the params of the client's
  // `initialize`.
  StartCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program,
             std::string_view hello);

  std::optional<LastRun> load() const;
  void save(std::string_view initialize_result, const Catalog& catalog) const;

 private:
  Files& files_;
  std::string name_;
};

}  // namespace mcpivot
