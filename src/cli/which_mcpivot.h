// Which running mcpivot a command is for: the one that was named, else the one of the current folder, else
// the only one.
//
// Blocks while it asks them. One thread.
#pragma once

#include <boost/json.hpp>
#include <filesystem>
#include <string>
#include <vector>

#include "cli/control_command.h"
#include "control/control_client.h"

namespace mcpivot {

// The running mcpivots that fit a wish, and their status.
struct Found {
  std::vector<ControlClient> clients{};
  std::vector<boost::json::object> states{};
  std::size_t elsewhere = 0;  // how many more fit, but belong to other folders
};

Found look_around(const ControlWish& wish);

// Why none was found.
std::string nobody(const ControlWish& wish);

// The one that a command is for. Throws a ControlError that says what to do if it is ambiguous. If several
// belong equally to the folder, the newest is used, and stderr says so.
ControlClient the_one(const ControlWish& wish);

// The indices of those that belong to this folder: they run in it, or their configuration is in it, or in a
// folder above it; the nearest such folder counts. The root and the home folder, above all projects, count
// only for themselves.
std::vector<std::size_t> of_folder(const std::vector<boost::json::object>& states,
                                   const std::filesystem::path& here, const std::filesystem::path& home);

}  // namespace mcpivot
