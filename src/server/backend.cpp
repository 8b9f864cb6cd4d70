#include "server/backend.h"

#include "server/process_backend.h"

namespace mcpivot {

std::expected<std::shared_ptr<Backend>, std::string> make_backend(LinkContext& context, Guard& guard,
                                                                  const ServerConfig& config, int generation,
                                                                  StderrRing& ring) {
  return ProcessBackend::spawn(context, guard, config, generation, ring);
}

}  // namespace mcpivot
