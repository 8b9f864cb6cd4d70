#include "bridge/make_bridge.h"

#include <string>

#include "bridge/legacy_facade.h"
#include "bridge/modern_facade.h"

namespace mcpivot {

std::unique_ptr<Bridge> make_bridge(Era server, Bridge::Ends& ends, const Clock& clock,
                                    std::string_view hello, std::string_view initialize_result, bool shared) {
  if (server == Era::modern) return std::make_unique<LegacyFacade>(ends, std::string(hello));
  auto facade = std::make_unique<ModernFacade>(ends, clock, std::string(initialize_result));
  if (shared) facade->share();
  return facade;
}

}  // namespace mcpivot
