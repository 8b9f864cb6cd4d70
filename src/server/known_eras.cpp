#include "server/known_eras.h"

#include <utility>

namespace mcpivot {

void KnownEras::recall(const ServerConfig& config) {
  futile_ = false;
  file_ = files_.program_of(config.command);
  eras_ = EraCache(files_, config, file_).load();
}

void KnownEras::learn(Eras now, const ServerConfig& config, const std::optional<FileFacts>& file) {
  const Eras before = std::exchange(eras_, std::move(now));
  const bool is_kept = eras_ == before && looks_the_same(file, file_);
  file_ = file;
  if (!is_kept) EraCache(files_, config, file_).save(eras_);
}

}  // namespace mcpivot
