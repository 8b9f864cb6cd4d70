#include "server/known_eras.h"

#include <utility>

namespace mcpivot {

void KnownEras::recall(const ServerConfig& config) {
  futile_ = false;
  kept_.reset();
  eras_ = EraCache(files_, config, files_.program_of(config.command)).load();
}

void KnownEras::learn(Eras now, const ServerConfig& config, const std::optional<FileFacts>& file) {
  eras_ = std::move(now);
  if (kept_ == eras_ && looks_the_same(file, file_)) return;
  EraCache(files_, config, file).save(eras_);
  kept_ = eras_;
  file_ = file;
}

}  // namespace mcpivot
