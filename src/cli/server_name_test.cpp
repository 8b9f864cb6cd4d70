#include "cli/server_name.h"

#include <gtest/gtest.h>

#include <sstream>
#include <string>

namespace mcpivot {
namespace {

// The name derived from a command line in a folder; the words are separated by spaces.
std::string named(const std::string& line, const std::string& folder = "/home/me/weather") {
  Command command{.argv = {}, .cwd = folder, .env = {}};
  std::istringstream words(line);
  for (std::string word; words >> word;) command.argv.push_back(word);
  return server_name(command);
}

TEST(ServerName, is_the_file_name_of_a_program) {
  EXPECT_EQ(named("/usr/bin/notes-server --stdio"), "notes-server");
  EXPECT_EQ(named("target/debug/server"), "server");
  EXPECT_EQ(named("./notes.py"), "notes");
}

TEST(ServerName, is_that_of_the_script_not_of_its_interpreter) {
  EXPECT_EQ(named("node notes.js"), "notes");
  EXPECT_EQ(named("node server.mjs"), "server");
  EXPECT_EQ(named("/usr/bin/node --enable-source-maps --import tsx tools/notes.mjs --x"), "notes");
  EXPECT_EQ(named("python3 -u notes.py"), "notes");
  EXPECT_EQ(named(".venv/bin/python3.12 -m notes"), "notes");
  EXPECT_EQ(named("python -m notes.__main__"), "notes");
  EXPECT_EQ(named("deno run -A notes.ts"), "notes");
  EXPECT_EQ(named("java -Xmx1g -jar build/libs/notes.jar"), "notes");
  EXPECT_EQ(named("dotnet bin/Debug/net8.0/Notes.dll"), "Notes");
  EXPECT_EQ(named("env DEBUG=1 node notes.js"), "notes");
  EXPECT_EQ(named("go run ./cmd/notes"), "notes");
  EXPECT_EQ(named("cargo run --quiet --bin notes"), "notes");
}

TEST(ServerName, is_that_of_the_project_folder_if_the_script_has_a_generic_name) {
  EXPECT_EQ(named("node build/index.js"), "weather");
  EXPECT_EQ(named("node /opt/notes/dist/src/main.js"), "notes");
  EXPECT_EQ(named("node node_modules/@modelcontextprotocol/server-everything/dist/index.js"),
            "server-everything");
  EXPECT_EQ(named("python main.py"), "weather");
  EXPECT_EQ(named("go run ."), "weather");
  EXPECT_EQ(named("cargo run"), "weather");
  EXPECT_EQ(named("npm start"), "weather");
  EXPECT_EQ(named("node index.js", "/"), "index");
}

TEST(ServerName, is_that_of_the_package_not_of_its_launcher) {
  EXPECT_EQ(named("npx -y @modelcontextprotocol/server-memory"), "server-memory");
  EXPECT_EQ(named("npx -y @me/notes@1.2.3 --flag"), "notes");
  EXPECT_EQ(named("npx --package @me/all notes"), "notes");
  EXPECT_EQ(named("npx tsx src/notes.ts"), "notes");
  EXPECT_EQ(named("npx tsx watch src/index.ts"), "weather");
  EXPECT_EQ(named("npm exec -- notes"), "notes");
  EXPECT_EQ(named("pnpm dlx notes@latest"), "notes");
  EXPECT_EQ(named("bunx notes"), "notes");
  EXPECT_EQ(named("uvx mcp-server-git --repository x"), "mcp-server-git");
  EXPECT_EQ(named("uvx --from git+https://example.com/me/notes.git notes-server"), "notes-server");
  EXPECT_EQ(named("uvx notes[all]==1.0"), "notes");
  EXPECT_EQ(named("uv run notes.py"), "notes");
  EXPECT_EQ(named("uv run --with mcp mcp run notes.py"), "notes");
  EXPECT_EQ(named("uv run fastmcp run main.py:app"), "weather");
  EXPECT_EQ(named("uv --directory /opt/notes run main.py"), "notes");
  EXPECT_EQ(named("uv run -m notes.main"), "notes");
  EXPECT_EQ(named("uv tool run notes"), "notes");
  EXPECT_EQ(named("poetry run notes"), "notes");
  EXPECT_EQ(named("docker run -i --rm -e KEY ghcr.io/me/notes:1.2"), "notes");
}

TEST(ServerName, falls_back_to_the_program) {
  EXPECT_EQ(named("node"), "node");
  EXPECT_EQ(named("node -e 1"), "node");
  EXPECT_EQ(named("sh -c exec"), "sh");
  EXPECT_EQ(named("npx"), "npx");
  EXPECT_EQ(named("env"), "env");
}

}  // namespace
}  // namespace mcpivot
