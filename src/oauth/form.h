// The encoding of forms and queries (application/x-www-form-urlencoded), in which OAuth says everything that
// isn't JSON.
//
// Any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace mcpivot {

// All but letters, digits and "-._~" as %XX.
std::string percent_encoded(std::string_view text);

using FormFields = std::vector<std::pair<std::string, std::string>>;

// "a=1&b=2"
std::string form_text(const FormFields& fields);

// A URL for a browser, with these fields in its query as well. On its way there it may pass a shell (WSL's
// browser is started by one): nothing is left in it that a shell reads as its own.
std::string with_query(std::string_view url, const FormFields& fields);

// Decoded, in their order. Malformed escapes are kept unchanged.
FormFields parse_form(std::string_view text);

// The value of a field that is there exactly once: if it appeared twice, two readers could disagree about its
// value.
std::optional<std::string> only_field(const FormFields& fields, std::string_view name);

}  // namespace mcpivot
