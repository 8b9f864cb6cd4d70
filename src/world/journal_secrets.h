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

// Adds these to what is `known` already: a server that runs with an older configuration may still print its
// secrets. When they become many, the oldest are forgotten.
void add_secrets(std::vector<Secret>& known, std::vector<Secret> newer);

}  // namespace mcpivot
