// The command-line descriptions of the commands other than the proxy itself: install, uninstall, init,
// doctor, and those that talk to a running mcpivot. What they do is elsewhere; this keeps CLI11's header,
// which costs some five seconds per file, out of there.
//
// One thread.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace mcpivot {

// Each adds subcommands. Once the command line is parsed, the result says what to do if one of them was
// given, and is empty otherwise.
std::function<std::function<int()>()> add_install_commands(CLI::App& app);
std::function<std::function<int()>()> add_doctor_command(CLI::App& app);
// `command`: what follows "--", once the command line is parsed.
std::function<std::function<int()>()> add_replay_command(CLI::App& app,
                                                         const std::vector<std::string>& command);
std::function<std::function<int()>()> add_journal_command(CLI::App& app);
std::function<std::function<int()>()> add_login_commands(CLI::App& app);
std::function<std::function<int()>()> add_control_commands(CLI::App& app);

}  // namespace mcpivot
