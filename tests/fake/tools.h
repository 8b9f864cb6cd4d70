// The fake server's tools: a table of names to small functions, so that a test can make it do something by
// calling it.
#pragma once

#include <boost/json.hpp>
#include <functional>
#include <string>

#include "options.h"
#include "server.h"

namespace fake {

// The entries of tools/list; `mutations` tools named mutant_1, mutant_2, … come last.
boost::json::array describe_tools(const Options& options, int mutations);

// False if there is no such tool; else calls `before` and executes the call.
bool run_tool(Server& server, const std::string& name, const Call& call, const std::function<void()>& before);

// Forks a process that sleeps forever in this process group and holds all pipes open. Returns its pid.
pid_t fork_sleeper(bool stubborn);

}  // namespace fake
