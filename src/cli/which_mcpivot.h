// Which of the running mcpivots a command is for: the one that was named, else the one of the current folder,
// else the only one.
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

// The running mcpivots that fit a wish, and what they say of themselves.
struct Found {
  std::vector<ControlClient> clients{};
  std::vector<boost::json::object> states{};
  std::size_t elsewhere = 0;  // how many more fit, but belong to other folders
};

Found look_around(const ControlWish& wish);

// Why nobody was found.
std::string nobody(const ControlWish& wish);

// The one that a command is for. Throws a ControlError that says what to do if that isn't clear. If several
// belong to the folder alike, the newest is taken, and stderr says so.
ControlClient the_one(const ControlWish& wish);

// Those of them that belong to this folder, by number: they run in it, or their configuration is in it, or in
// a folder above it; the nearest such folder counts. What is above all projects (the root, the home folder)
// counts only for itself.
std::vector<std::size_t> of_folder(const std::vector<boost::json::object>& states,
                                   const std::filesystem::path& here, const std::filesystem::path& home);

}  // namespace mcpivot
