// Which protocol eras a server accepts, as far as it has been asked, in this run of mcpivot or in the last
// one; and so which era is tried next.
//
// One thread.
#pragma once

#include <optional>

#include "config/server_config.h"
#include "server/files.h"
#include "server/start_cache.h"

namespace mcpivot {

class KnownEras {
 public:
  explicit KnownEras(Files& files) : files_(files) {}

  // A configuration is new: only what an earlier run knew of its program counts.
  void recall(const ServerConfig& config);
  // The server has shown this. `file`: its program. Across builds, it is assumed to stay the same.
  void learn(Eras now, const ServerConfig& config, const std::optional<FileFacts>& file);
  // It seems to, but that isn't worth keeping yet; or it may be another program by now.
  void assume(Era era, bool accepts) { eras_.of(era) = accepts; }
  void doubt(Era era) { eras_.of(era) = std::nullopt; }
  // The last start failed in both eras: the next one tries only one of them, and the one after that both.
  // What a caller waits for is tried in both.
  void set_futile(bool futile) { futile_ = futile; }
  bool futile() const { return futile_; }

  const Eras& get() const { return eras_; }
  bool accepts(Era era) const { return (era == Era::modern ? eras_.modern : eras_.legacy) == true; }
  // The client's own, unless the server is known not to accept it.
  Era first_for(Era client) const {
    return eras_.refuses(client) && !eras_.refuses(other(client)) ? other(client) : client;
  }

 private:
  Files& files_;
  Eras eras_;
  std::optional<Eras> kept_;       // what this run has written for the next ones
  std::optional<FileFacts> file_;  // and for which program
  bool futile_ = false;
};

}  // namespace mcpivot
