// The clients of an `mcpivot serve` and their sessions, as `mcpivot status` and `mcpivot sessions` print
// them.
//
// Plain functions. One thread.
#pragma once

#include <boost/json.hpp>
#include <optional>
#include <string>

namespace mcpivot {

// Of a status; empty: it isn't about many clients.
std::string client_table(const boost::json::object& status, std::optional<std::size_t> width);

// Of the answer to `sessions`.
std::string session_table(const boost::json::object& answer, std::optional<std::size_t> width);

// A line for each instance of a server.
std::string instance_lines(const boost::json::array& instances);

}  // namespace mcpivot
