#include "server/backend.h"

#include "server/cli_backend.h"
#include "server/http_backend.h"
#include "server/process_backend.h"

namespace mcpivot {

std::expected<std::shared_ptr<Backend>, std::string> make_backend(LinkContext& context, Guard& guard,
                                                                  const ConfigRef& config, int generation,
                                                                  StderrRing& ring,
                                                                  const Backend* predecessor) {
  if (config->cli)
    return CliBackend::make(context, guard, config, generation, ring,
                            dynamic_cast<const CliBackend*>(predecessor));
  if (config->is_daemon()) return HttpBackend::connect(context, *config);
  return ProcessBackend::spawn(context, guard, *config, generation, ring);
}

}  // namespace mcpivot
