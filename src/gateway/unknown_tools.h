// Tools of servers of which nothing is known, because they can't be started or reject mcpivot: they can't be
// listed or found, but it would be wrong to say that they don't exist.
//
// One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "gateway/routes.h"
#include "server/instance.h"

namespace mcpivot {

// The server that this name begins with, if it rejects mcpivot and nothing is known about its tools: a call
// makes mcpivot try again, and gets the reason at once.
std::optional<Routes::Target> behind_refusal(const Members& members, std::string_view tool);

// Why a server isn't ready, in one short line.
std::string brief_trouble(const Instance& server);

}  // namespace mcpivot
