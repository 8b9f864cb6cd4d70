#include "bridge/make_bridge.h"

#include <string>

#include "bridge/legacy_facade.h"

namespace mcpivot {

std::unique_ptr<Bridge> make_bridge(Era server, Bridge::Ends& ends, const Clock&, std::string_view hello) {
  if (server == Era::modern) return std::make_unique<LegacyFacade>(ends, std::string(hello));
  return nullptr;
}

}  // namespace mcpivot
