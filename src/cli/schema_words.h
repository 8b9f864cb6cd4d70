// What a tool's input schema says about each argument, as far as people need it at a terminal: its types in
// words, and whether it is required.
//
// Only what most tools use is understood (types, enums, alternatives, local references); the server checks
// the rest. Plain functions. Any thread.
#pragma once

#include <boost/json.hpp>
#include <set>
#include <string>
#include <string_view>

namespace mcpivot {

// The schema that a local reference ("#/$defs/Mode") points to, or else the schema itself.
const boost::json::value& resolved(const boost::json::value& schema, const boost::json::object& root);

// The JSON types that a value may have ("string", "integer", …); empty: any, or unknown.
std::set<std::string> types_of(const boost::json::value& schema, const boost::json::object& root);

// "integer", "array of strings", "\"fast\" or \"slow\"", "string or null"
std::string type_text(const boost::json::value& schema, const boost::json::object& root);

// The arguments that a schema names; null if it names none.
const boost::json::object* properties_of(const boost::json::object& schema);

// The schema of an argument; null if the schema doesn't name it.
const boost::json::value* property_of(const boost::json::object& input_schema, std::string_view key);

}  // namespace mcpivot
