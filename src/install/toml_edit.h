// Changes the tables of MCP servers, [mcp_servers.NAME], in a TOML file of another program, such as Codex.
// Every other byte stays. The whole file is parsed, so that nothing within a string or a list is mistaken for
// a table; what isn't understood is refused rather than damaged.
//
// Values are the same tree as for JSON: dates are strings, numbers keep their spelling. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "config/jsonc.h"

namespace mcpivot {

struct TomlEntry {
  std::vector<std::string> key{};
  JsoncValue value{};
};

// A header and what follows it. The first table of a file has no header, and may be empty.
struct TomlTable {
  std::vector<std::string> path{};
  bool is_list = false;  // [[path]]
  unsigned line = 1;
  std::size_t begin = 0;  // of the header's line
  std::size_t end = 0;    // after the line of the last entry; comments below it don't count
  std::vector<TomlEntry> entries{};
};

std::expected<std::vector<TomlTable>, JsoncError> parse_toml(std::string_view text);

struct TomlServer {
  std::string name{};
  JsoncValue value{};
  std::string text{};  // as in the file: all of its tables, without the last line end
  unsigned line = 1;
  std::string fixed{};  // why it can't be removed; empty: it can
};

// The servers in the tables below [KEY]. The error says what is invalid or not understood, with its line.
std::expected<std::vector<TomlServer>, std::string> toml_servers(std::string_view text, std::string_view key);

// Appends tables after an empty line; a file without a final line end still has none.
std::string append_toml(std::string_view text, std::string_view tables);

// Removes all tables of a server, and the empty line before each: undoes append_toml() to the
// byte.
std::expected<std::string, std::string> remove_toml_server(std::string_view text, std::string_view key,
                                                           std::string_view name);

// In double quotes.
std::string toml_string(std::string_view text);
// A part of a table's name: bare if that is possible.
std::string toml_key(std::string_view text);

}  // namespace mcpivot
