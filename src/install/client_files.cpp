#include "install/client_files.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code error;
  return !path.empty() && fs::exists(path, error);
}

constexpr std::array all_clients{
    Client{
        .name = "claude",
        .title = "Claude Code",
        .format = FileFormat::json,
        .key = "mcpServers",
        .user_file = [](const Places& at) { return at.folder_of("CLAUDE_CONFIG_DIR", "") + "/.claude.json"; },
        .project_file = ".mcp.json",
        .project_config = "mcpivot.json",
        .program = "claude",
        .user_folder = [](const Places& at) { return at.folder_of("CLAUDE_CONFIG_DIR", "/.claude"); },
        .filling = Filling::braces,
        .says_type = true,
        .next = "Start a new session and check it with /mcp."},
    Client{.name = "cursor",
           .title = "Cursor",
           .format = FileFormat::json,
           .key = "mcpServers",
           .user_file = [](const Places& at) { return at.home() + "/.cursor/mcp.json"; },
           .project_file = ".cursor/mcp.json",
           .project_config = "${workspaceFolder}/mcpivot.json",
           .program = "cursor",
           .user_folder = [](const Places& at) { return at.home() + "/.cursor"; },
           .filling = Filling::braces,
           .says_type = false,
           .next = "Enable it in Cursor's settings under MCP, if it isn't."},
    Client{.name = "vscode",
           .title = "VS Code",
           .format = FileFormat::json,
           .key = "servers",
           .user_file = [](const Places& at) { return at.config_home() + "/Code/User/mcp.json"; },
           .project_file = ".vscode/mcp.json",
           .project_config = "${workspaceFolder}/mcpivot.json",
           .program = "code",
           .user_folder = [](const Places& at) { return at.config_home() + "/Code"; },
           .filling = Filling::braces,
           .says_type = true,
           .next = "Start it with the command \"MCP: List Servers\"."},
    Client{
        .name = "codex",
        .title = "Codex",
        .format = FileFormat::toml,
        .key = "mcp_servers",
        .user_file = [](const Places& at) { return at.folder_of("CODEX_HOME", "/.codex") + "/config.toml"; },
        .project_file = ".codex/config.toml",
        .project_config = "mcpivot.json",
        .program = "codex",
        .user_folder = [](const Places& at) { return at.folder_of("CODEX_HOME", "/.codex"); },
        .filling = Filling::none,
        .says_type = false,
        .next = "Start a new session and check it with /mcp."},
    Client{
        .name = "gemini",
        .title = "Gemini CLI",
        .format = FileFormat::json,
        .key = "mcpServers",
        .user_file =
            [](const Places& at) { return at.folder_of("GEMINI_CLI_HOME", "") + "/.gemini/settings.json"; },
        .project_file = ".gemini/settings.json",
        .project_config = "mcpivot.json",
        .program = "gemini",
        .user_folder = [](const Places& at) { return at.folder_of("GEMINI_CLI_HOME", "") + "/.gemini"; },
        .filling = Filling::braces_and_dollar,
        .says_type = false,
        .next = "Start a new session and check it with /mcp."},
    Client{
        .name = "claude-desktop",
        .title = "Claude Desktop",
        .format = FileFormat::json,
        .key = "mcpServers",
        .user_file = [](const Places& at) { return at.config_home() + "/Claude/claude_desktop_config.json"; },
        .project_file = "",
        .project_config = "",
        .program = "claude-desktop",
        .user_folder = [](const Places& at) { return at.config_home() + "/Claude"; },
        .filling = Filling::none,
        .says_type = false,
        .next = "Restart Claude Desktop."},
};

bool in_path(std::string_view program, const Places& places) {
  const char* path = places.variable("PATH");
  std::string_view rest = path == nullptr ? "" : path;
  while (!rest.empty()) {
    const auto colon = std::min(rest.find(':'), rest.size());
    const std::string file = fmt::format("{}/{}", rest.substr(0, colon), program);
    if (colon > 0 && ::access(file.c_str(), X_OK) == 0) return true;
    rest.remove_prefix(std::min(colon + 1, rest.size()));
  }
  return false;
}

}  // namespace

std::string_view scope_text(Scope scope) {
  return scope == Scope::user ? "user" : "project";
}

Places places_here() {
  std::error_code error;
  return {.variable = own_variable, .folder = fs::current_path(error).string()};
}

std::string Places::home() const {
  const char* path = variable("HOME");
  return path == nullptr ? "" : path;
}
std::string Places::folder_of(const char* name, std::string_view otherwise) const {
  const char* path = variable(name);
  if (path != nullptr && *path == '/') return path;
  return home() + std::string(otherwise);
}
std::string Places::config_home() const {
  return folder_of("XDG_CONFIG_HOME", "/.config");
}
std::string Places::data_home() const {
  return folder_of("XDG_DATA_HOME", "/.local/share");
}

std::span<const Client> clients() {
  return all_clients;
}

const Client* find_client(std::string_view name) {
  const auto found = std::ranges::find(all_clients, name, &Client::name);
  return found == all_clients.end() ? nullptr : &*found;
}

std::expected<std::string, std::string> client_file(const Client& client, Scope scope, const Places& places) {
  if (scope == Scope::project) {
    if (client.project_file.empty())
      return std::unexpected(fmt::format("{} has no project scope; leave out --scope project", client.title));
    if (places.folder.empty()) return std::unexpected(std::string(no_folder));
    return places.folder + "/" + std::string(client.project_file);
  }
  if (places.home().empty()) return std::unexpected("HOME is not set, so your files can't be found; set it");
  return client.user_file(places);
}

bool is_there(const Client& client, const Places& places) {
  if (places.home().empty()) return false;
  return exists(client.user_file(places)) || exists(client.user_folder(places)) ||
         in_path(client.program, places);
}

}  // namespace mcpivot
