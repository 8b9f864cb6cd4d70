// A client's list of servers in the text of its file, in whichever format that is. Nothing but the entry
// that is meant changes.
//
// Errors say where the text breaks. Any thread.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "install/client_files.h"
#include "install/json_edit.h"

namespace mcpivot {

struct ClientServer {
  std::string name{};
  JsoncValue value{};
  std::string text{};   // as the file spells it
  std::string fixed{};  // why it cannot be taken out; empty: it can
};

// A text with nothing in it has no servers.
std::expected<std::vector<ClientServer>, std::string> servers_in(const Client& client, std::string_view text);

// Whether the file has the place where servers stand.
bool has_list(const Client& client, std::string_view text);

// Makes the list if there is none. An entry of that name is replaced.
EditedText with_server(const Client& client, std::string_view text, std::string_view name,
                       const JsoncValue& value);
// As servers_in() found it spelled.
EditedText with_server_as_spelled(const Client& client, std::string_view text, std::string_view name,
                                  std::string_view spelling);
EditedText without_server(const Client& client, std::string_view text, std::string_view name);
// Takes the list out if nothing is in it.
EditedText without_empty_list(const Client& client, std::string_view text);

}  // namespace mcpivot
