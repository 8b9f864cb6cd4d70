// The table of keys, for editors (a JSON Schema) and for people (the reference in docs/configuration.md).
// Both are in the repository; a test compares them with these.
//
// Any thread.
#pragma once

#include <string>

namespace mcpivot {

// The text of docs/mcpivot.schema.json.
std::string config_schema();

// The tables of docs/configuration.md.
std::string key_reference();

}  // namespace mcpivot
