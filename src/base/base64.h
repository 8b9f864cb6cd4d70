// Bytes as text that is safe in headers, URLs and file names: base64url without padding (RFC 4648, section
// 5).
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

std::string base64url(std::string_view bytes);

// Accepts only what base64url() produces. Other characters, padding or leftover bits yield nothing, so no two
// texts decode to the same bytes.
std::optional<std::string> from_base64url(std::string_view text);

}  // namespace mcpivot
