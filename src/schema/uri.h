// References between schemas are URIs, resolved against the "$id" of the schema that they are in (RFC 3986).
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

namespace mcpivot::schema {

// The reference without its fragment, made absolute as far as the base is.
std::string resolve_uri(std::string_view base, std::string_view reference);
// What comes after "#", with "%24" and the like decoded.
std::string fragment_of(std::string_view reference);

}  // namespace mcpivot::schema
