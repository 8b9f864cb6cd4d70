// The table of `mcpivot status`: a line for each server, as wide as the terminal allows, and for an mcpivot
// with many clients a line for each of them. What doesn't fit is left out, the least important column first.
//
// Plain functions. One thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

namespace mcpivot {

// "mcpivot 4242 (dev), client claude-code, in /home/me/project"
std::string instance_title(const boost::json::object& status);

// The title and the table, with line ends; without a width, as wide as needed.
std::string status_table(const boost::json::object& status, std::optional<std::size_t> width);

// A member of a status as text; "-" if it is missing.
std::string text_in(const boost::json::object& object, std::string_view key);

// The median time of a server's calls: "0.4 ms", "12 ms", "1.5 s"; "-" if there were none.
std::string p50_text(const boost::json::object& server);

// A string member of foreign JSON; empty if there is none.
std::string string_in(const boost::json::object& object, std::string_view key);

}  // namespace mcpivot
