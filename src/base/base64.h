// Bytes as text that may stand in headers, URLs and names of files: base64url without padding (RFC 4648,
// section 5).
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

std::string base64url(std::string_view bytes);

// Only what base64url() makes of some bytes: with other characters, padding or bits left over it is nothing,
// so no two texts mean the same.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace mcpivot
