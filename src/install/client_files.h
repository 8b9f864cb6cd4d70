// The clients that mcpivot can be installed in: where each keeps its list of MCP servers, and how that is
// written. One table, so that a new client is a few lines.
//
// Any thread, if the lookup of variables allows it.
#pragma once

#include <cstdint>
#include <expected>
#include <span>
#include <string>
#include <string_view>

#include "config/variables.h"

namespace mcpivot {

enum class Scope : std::uint8_t { user, project };
std::string_view scope_text(Scope scope);

enum class FileFormat : std::uint8_t { json, toml };

// What ${NAME} or $NAME in a server's texts means to the client.
enum class Filling : std::uint8_t { none, braces, braces_and_dollar };

// Where a user and a project keep their things.
struct Places {
  Variable variable{};
  std::string folder{};  // of the project; absolute; empty: it no longer exists

  std::string home() const;         // empty: there is none
  std::string config_home() const;  // $XDG_CONFIG_HOME or ~/.config
  std::string data_home() const;    // $XDG_DATA_HOME or ~/.local/share
  std::string folder_of(const char* variable, std::string_view otherwise) const;  // otherwise: below home
};

// Of this process.
Places places_here();

// The error when a project's folder is needed and there is none.
constexpr std::string_view no_folder =
    "the current folder no longer exists; change to another one and try again";

struct Client {
  std::string_view name;   // on our command line
  std::string_view title;  // for people
  FileFormat format;
  std::string_view key;  // of the servers
  std::string (*user_file)(const Places&);
  std::string_view project_file;  // in the project's folder; empty: it has none
  // How that file, which teams commit, names the project's mcpivot.json: with the client's own variable for
  // the open folder if it has one, otherwise relative to the working folder in which it starts servers.
  std::string_view project_config;
  std::string_view program;                   // that shows it is installed; empty: has none
  std::string (*user_folder)(const Places&);  // also shows that it is installed
  Filling filling;
  bool says_type;         // "type": "stdio" is written
  std::string_view next;  // what makes it see a change
};

std::span<const Client> clients();
const Client* find_client(std::string_view name);

// The error says why there is none.
std::expected<std::string, std::string> client_file(const Client& client, Scope scope, const Places& places);

// Whether it seems to be installed on this machine.
bool is_there(const Client& client, const Places& places);

}  // namespace mcpivot
