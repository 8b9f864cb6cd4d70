// The table of `mcpivot status`: a line for each server, as wide as the terminal allows, and for an mcpivot
// with many clients a line for each of them. What does not fit is left out, the least telling column first.
//
// Plain functions. One thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

namespace mcpivot {

// "mcpivot 4242 (dev), client claude-code, in /home/me/project"
std::string instance_title(const boost::json::object& status);

// The title and the table, with line ends; as wide as need be without a width.
std::string status_table(const boost::json::object& status, std::optional<std::size_t> width);

// A member of a status as text; "-" if it is not there.
std::string text_in(const boost::json::object& object, std::string_view key);

// How long half of a server's calls take at most: "0.4 ms", "12 ms", "1.5 s"; "-" if there were none.
std::string p50_text(const boost::json::object& server);

// A string in what somebody else wrote; empty if there is none.
std::string string_in(const boost::json::object& object, std::string_view key);

}  // namespace mcpivot
