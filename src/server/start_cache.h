// A server's last handshake and lists, and which protocol eras it accepted, kept on disk, so that the next
// time a client needn't wait for the server to start. A guess, to be corrected when the server has
// answered.
//
// One entry per server, program file and kind of client, and one for new kinds of clients, which get only
// mcpivot's own handshake; the eras are the same for every client.
//
// With several clients, one may read what another has left. So only what a server listed right after its
// handshake is kept, before its client has told it anything else, and only for clients with the same hello:
// their own instance would have listed the same. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "config/server_config.h"
#include "mcp/catalog.h"
#include "mcp/era.h"
#include "server/files.h"

namespace mcpivot {

struct LastRun {
  std::string initialize_result;
  Catalog catalog;
};

class StartCache {
 public:
  // `program` is the file with the server's code, if known; `hello` the params of the client's
  // `initialize`.
  StartCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program,
             std::string_view hello, Era era);

  std::optional<LastRun> load() const { return load(name_); }
  // What the last client of any kind was told.
  std::optional<LastRun> load_anyones() const { return load(anyones_name_); }
  void save(std::string_view initialize_result, const Catalog& catalog) const;

 private:
  std::optional<LastRun> load(const std::string& name) const;

  Files& files_;
  std::string name_;
  std::string anyones_name_;  // empty: clients are kept apart
};

// Which eras a server accepts, as far as it has been asked.
struct Eras {
  std::optional<bool> legacy;
  std::optional<bool> modern;
  std::string discovered{};  // its answer to `server/discover`, as JSON text

  std::optional<bool>& of(Era era) { return era == Era::modern ? modern : legacy; }
  bool refuses(Era era) const { return (era == Era::modern ? modern : legacy) == false; }
  bool operator==(const Eras&) const = default;
};

class EraCache {
 public:
  EraCache(Files& files, const ServerConfig& config, const std::optional<FileFacts>& program);
  Eras load() const;
  void save(const Eras& eras) const;

 private:
  Files& files_;
  std::string name_;
  bool for_many_;  // an answer to one client is not for the others
};

}  // namespace mcpivot
