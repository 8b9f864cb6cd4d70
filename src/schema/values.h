// JSON values as JSON Schema sees them: 1 and 1.0 are one number, the order of members doesn't matter, and a
// string's length is counted in code points.
//
// These recurse as deep as the values are: check with count_values() first.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <boost/json/value.hpp>

namespace mcpivot::schema {

bool same(const boost::json::value& one, const boost::json::value& other);
// Equal for values that are the same.
std::size_t hash_of(const boost::json::value& value);
// How many values there are in a value, itself included. Nothing: it's deeper than `deepest`.
std::optional<std::size_t> count_values(const boost::json::value& value, int deepest);

// Exact for every number of Boost.JSON.
long double number_of(const boost::json::value& number);
bool is_whole(const boost::json::value& number);
// Whether a number is a multiple of another, as they are written: 0.0075 is one of 0.0001.
bool is_multiple(const boost::json::value& number, const boost::json::value& of);

std::uint64_t count_code_points(std::string_view text);
// A value as JSON for a message, cut if it's long.
std::string shown(const boost::json::value& value);

}  // namespace mcpivot::schema
