// A configuration as a line of a plan: "alpha=process,active,build beta=daemon,start,idle:300 bare".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "chance.h"
#include "config/config.h"

namespace simulation {

std::string draw_fleet(Chance& chance, const std::vector<std::string>& servers, bool apart);

// Throws if it contains an unknown word.
mcpivot::GatewayConfig fleet_from(std::string_view text);

}  // namespace simulation
