// The skill that teaches a client's model to use mcpivot through /mcpivot. The client's folder contains only
// a link to a file that we keep, so that an update of mcpivot reaches it.
//
// One thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "install/client_files.h"

namespace mcpivot {

std::string_view skill_text();

// What was done, or would be, line by line. The error says what prevents it.
using SkillResult = std::expected<std::vector<std::string>, std::string>;
SkillResult install_skill(const Places& places, const std::string& program, bool dry_run);
SkillResult uninstall_skill(const Places& places, bool dry_run);

// Replaces the file that we keep, if there is one, with this version's text.
void refresh_kept_skill(const Places& places);

}  // namespace mcpivot
