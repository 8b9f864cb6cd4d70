// Changes the tables of MCP servers, [mcp_servers.NAME], in a TOML file that belongs to somebody else, as
// Codex has one. Every other byte stays. The whole file is read, so that nothing within a string or a list is
// mistaken for a table; what is not understood is refused rather than damaged.
//
// Values come as the tree that JSON gives: dates are strings, numbers keep their spelling. Any thread.
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

// A header and what stands below it. The first table of a file has no header, and perhaps nothing in it.
struct TomlTable {
  std::vector<std::string> path{};
  bool is_list = false;  // [[path]]
  unsigned line = 1;
  std::size_t begin = 0;  // of the header's line
  std::size_t end = 0;    // behind the line of the last entry; comments below it belong to nobody
  std::vector<TomlEntry> entries{};
};

std::expected<std::vector<TomlTable>, JsoncError> parse_toml(std::string_view text);

struct TomlServer {
  std::string name{};
  JsoncValue value{};
  std::string text{};  // as the file spells it: all of its tables, without a line end behind the last
  unsigned line = 1;
  std::string fixed{};  // why it cannot be taken out; empty: it can
};

// The servers in the tables below [KEY]. The error says, with its line, what is broken or not understood.
std::expected<std::vector<TomlServer>, std::string> toml_servers(std::string_view text, std::string_view key);

// Puts tables at the end, behind an empty line; a file that ends without a line end still does.
std::string append_toml(std::string_view text, std::string_view tables);

// Takes out all tables of a server, and the empty line before each. What append_toml() put there is gone to
// the byte.
std::expected<std::string, std::string> remove_toml_server(std::string_view text, std::string_view key,
                                                           std::string_view name);

// In double quotes.
std::string toml_string(std::string_view text);
// A part of a table's name: bare if that is possible.
std::string toml_key(std::string_view text);

}  // namespace mcpivot
