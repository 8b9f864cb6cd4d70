// `mcpivot doctor`: looks for what goes wrong in practice, and says what to do about each finding: the
// configuration, each server's start, the system's limits for watching files, clients that name mcpivot
// wrongly.
#pragma once

#include <functional>
#include <memory>
#include <string>

namespace CLI {
class App;
}

namespace mcpivot {

// Adds the subcommand. Once the command line is parsed, the result says what to do if it was given, and is
// empty otherwise.
std::function<std::function<int()>()> add_doctor_command(CLI::App& app);

// The exit code: 0 if all is well, 1 if something is not.
int doctor(const std::string& config_file);

}  // namespace mcpivot
