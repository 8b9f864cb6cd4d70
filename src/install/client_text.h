// A client's list of servers in the text of its file, in whichever format that is. Edits change nothing but
// the entry in question.
//
// Errors say where the text is invalid. Any thread.
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
  std::string fixed{};  // why it can't be removed; empty: it can
};

// An empty text has no servers.
std::expected<std::vector<ClientServer>, std::string> servers_in(const Client& client, std::string_view text);

// Whether the file has a list of servers.
bool has_list(const Client& client, std::string_view text);

// Creates the list if there is none. Replaces an entry of that name.
EditedText with_server(const Client& client, std::string_view text, std::string_view name,
                       const JsoncValue& value);
// As servers_in() found it spelled.
EditedText with_server_as_spelled(const Client& client, std::string_view text, std::string_view name,
                                  std::string_view spelling);
EditedText without_server(const Client& client, std::string_view text, std::string_view name);
// Removes the list if it is empty.
EditedText without_empty_list(const Client& client, std::string_view text);

}  // namespace mcpivot
