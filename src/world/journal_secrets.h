// Which values of the configuration the journal must not write down.
//
// Any thread.
#pragma once

#include <vector>

#include "config/config.h"
#include "journal/redactor.h"

namespace mcpivot {

// Variables in headers are those of our own environment.
std::vector<Secret> secrets_in(const GatewayConfig& config);

}  // namespace mcpivot
