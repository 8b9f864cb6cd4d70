// Changes one member of an object in a JSON text that belongs to another program. Every other byte stays:
// comments, odd spacing, trailing commas. What is added is formatted like its surroundings, and removing it
// again restores the previous text.
//
// A path leads from the outermost object to the one to change; an empty path means the outermost itself.
// Errors read as a sentence and name the key. Any thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/jsonc.h"

namespace mcpivot {

using JsonPath = std::vector<std::string>;
using EditedText = std::expected<std::string, std::string>;

enum class JsonLayout : std::uint8_t {
  as_is,    // the value's own spelling
  fitting,  // on several lines if the text around it is
};

// After the last member. It is an error if there is one of that name.
EditedText insert_member(std::string_view text, const JsonPath& path, std::string_view key,
                         std::string_view value, JsonLayout layout);

// Gives a member another value.
EditedText replace_member(std::string_view text, const JsonPath& path, std::string_view key,
                          std::string_view value, JsonLayout layout);

// It is an error if the name is missing or appears twice.
EditedText remove_member(std::string_view text, const JsonPath& path, std::string_view key);

// The value at a path; null: there is none.
const JsoncValue* find_value(const JsoncValue& root, const JsonPath& path);

// On one line.
std::string json_text(const JsoncValue& value);
// On several lines, each but the first indented by `indent`, plus `unit` for each level.
std::string json_text(const JsoncValue& value, const std::string& indent, const std::string& unit,
                      std::string_view newline = "\n");

// Whether they mean the same: the order of members doesn't matter.
bool same_value(const JsoncValue& one, const JsoncValue& other);

// Small values, for what is written.
JsoncValue json_string(std::string text);
JsoncValue json_strings(const std::vector<std::string>& texts);

}  // namespace mcpivot
