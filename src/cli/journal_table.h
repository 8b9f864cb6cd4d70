// Calls of the journal as lines for people: when, which tool, how long, how large, and what came of it.
//
// One thread.
#pragma once

#include <boost/json/value.hpp>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <string>
#include <string_view>
#include <vector>

#include "journal/recorded_call.h"

namespace mcpivot {

std::tm local_time(std::chrono::system_clock::time_point time);
// "2026-11-18 14:05:09.123"
std::string milliseconds_text(std::chrono::system_clock::time_point time);
std::string size_text(std::uint64_t bytes);

// On one line, shortened, and without characters that would move the cursor.
std::string flat(std::string_view text);

// As deep as a message may be; null if it isn't JSON.
boost::json::value parsed(std::string_view text);

// The tool as the client called it; of other requests, the method.
std::string name_of(const RecordedCall& call);

// With the titles, or, while it is followed, line by line in columns that stay where they are.
enum class TableKind : std::uint8_t { whole, follows, next_line };
void print_calls(const std::vector<RecordedCall>& calls, bool with_client, TableKind kind);
bool has_several_clients(const std::vector<RecordedCall>& calls);

}  // namespace mcpivot
