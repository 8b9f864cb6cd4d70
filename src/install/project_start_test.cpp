// Each proposal is parsed by mcpivot itself: it must be a valid configuration.
#include "install/project_start.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>

#include "config/config_file.h"
#include "host/temporary_directory.h"

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

class ProjectStart : public testing::Test {
 protected:
  // The single server that is proposed.
  ServerConfig proposed() {
    start_ = starting_config(folder_.path());
    const auto config = read_config(start_.text, folder_.path(), [](const char*) { return nullptr; });
    for (const Problem& problem : config.problems) ADD_FAILURE() << problem.words << "\n" << start_.text;
    EXPECT_EQ(config.gateway.servers.size(), 1U) << start_.text;
    if (config.gateway.servers.empty()) return {};
    EXPECT_LE(longest_line(), 110U);
    return config.gateway.servers.front().server;
  }
  std::size_t longest_line() const {
    std::size_t longest = 0;
    std::istringstream lines(start_.text);
    for (std::string line; std::getline(lines, line);) longest = std::max(longest, line.size());
    return longest;
  }
  std::string in_folder(std::string_view name) const { return folder_ / name; }

  host::TemporaryDirectory folder_;
  StartingConfig start_;
};

TEST_F(ProjectStart, rust) {
  folder_.write("Cargo.toml", "[package]\nname = \"notes\"\n");
  const ServerConfig server = proposed();
  EXPECT_EQ(server.name, "notes");
  EXPECT_THAT(server.command.argv, ElementsAre(in_folder("target/debug/notes")));
  EXPECT_EQ(server.build, "cargo build");
  EXPECT_THAT(server.watch, ElementsAre("src/**/*.rs", "**/Cargo.toml"));
  EXPECT_EQ(start_.found, "Cargo.toml (Rust)");
  folder_.write("Cargo.toml", "[[bin]]\nname = \"serve\"\n[package]\nname = \"notes\"\n");
  EXPECT_EQ(proposed().name, "serve");
  folder_.write("Cargo.toml", "[workspace]\nmembers = []\n");
  proposed();
  EXPECT_THAT(start_.text, HasSubstr("names no package"));
}

TEST_F(ProjectStart, node) {
  folder_.write("package.json", R"({"name": "@me/notes", "bin": {"notes": "./build/cli.js"},
                                    "scripts": {"build": "tsc"}})");
  folder_.write("tsconfig.json", "{}");
  const ServerConfig server = proposed();
  EXPECT_EQ(server.name, "notes");
  EXPECT_THAT(server.command.argv, ElementsAre("node", "build/cli.js"));
  EXPECT_EQ(server.build, "npm run build --silent");
  EXPECT_THAT(server.watch, ElementsAre("*.ts", "package.json", "tsconfig.json"));
  folder_.remove("tsconfig.json");
  folder_.write("package.json", R"({"main": "server.js"})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "server.js"));
  EXPECT_THAT(proposed().build, IsEmpty());
}

TEST_F(ProjectStart, typescript_is_run_from_where_the_compiler_puts_it) {
  folder_.write("package.json", R"({"name": "notes"})");
  folder_.write("src/index.ts", "");
  folder_.write("tsconfig.json", R"({
    // the compiler's
    "compilerOptions": { /* here */ "outDir": "./dist/", },
  })");
  const ServerConfig server = proposed();
  EXPECT_THAT(server.command.argv, ElementsAre("node", "dist/index.js"));
  EXPECT_EQ(server.build, "npx tsc");
  EXPECT_THAT(server.watch, ElementsAre("src/**/*.ts", "package.json", "tsconfig.json"));
  EXPECT_THAT(start_.text, testing::Not(HasSubstr("fill in the server's file")));

  folder_.write("tsconfig.json", R"({"compilerOptions": {"outDir": "out", "rootDir": "."}})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "out/src/index.js"));
  folder_.write("tsconfig.json", "{}");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "src/index.js")) << "it is next to its source";
}

TEST_F(ProjectStart, an_out_dir_is_found_in_the_files_that_a_tsconfig_extends) {
  folder_.write("package.json", R"({"name": "notes", "scripts": {"build": "tsc -p config/build.json"}})");
  folder_.write("src/main.ts", "");
  folder_.write("tsconfig.json", R"({"compilerOptions": {"outDir": "unused"}})");
  folder_.write("config/build.json", R"({"extends": ["@tsconfig/node20", "./shared/base"]})");
  folder_.write("config/shared/base.json",
                R"({"compilerOptions": {"outDir": "../../made"} /* from here */})");
  folder_.write("node_modules/@tsconfig/node20/tsconfig.json",
                R"({"compilerOptions": {"outDir": "theirs"}})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "made/main.js"));
  folder_.write("config/shared/base.json", R"({"extends": "../build.json"})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "node_modules/@tsconfig/node20/theirs/main.js"))
      << "a circle ends";
}

TEST_F(ProjectStart, a_default_main_of_npm_init_is_ignored_for_a_typescript_project) {
  folder_.write("package.json", R"({"name": "notes", "main": "index.js"})");
  folder_.write("src/index.ts", "");
  folder_.write("tsconfig.json", R"({"compilerOptions": {"outDir": "dist"}})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "dist/index.js"));
  folder_.write("package.json", R"({"name": "notes", "main": "dist/start.js"})");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "dist/start.js"));
  folder_.write("package.json", R"({"name": "notes", "main": "start.js"})");
  folder_.write("start.js", "");
  EXPECT_THAT(proposed().command.argv, ElementsAre("node", "start.js")) << "it is there";
}

TEST_F(ProjectStart, go) {
  folder_.write("go.mod", "module example.com/me/notes\r\n\r\ngo 1.22\r\n");
  folder_.folder("cmd/notes");
  const ServerConfig server = proposed();
  EXPECT_THAT(server.command.argv, ElementsAre(in_folder("bin/notes")));
  EXPECT_EQ(server.build, "go build -o bin/notes ./cmd/notes");
}

TEST_F(ProjectStart, dotnet) {
  folder_.write("Notes.csproj",
                "<Project><PropertyGroup><TargetFramework>net9.0</TargetFramework></PropertyGroup>");
  const ServerConfig server = proposed();
  EXPECT_THAT(server.command.argv, ElementsAre("dotnet", "bin/Debug/net9.0/Notes.dll"));
  EXPECT_EQ(server.build, "dotnet build --nologo");
}

TEST_F(ProjectStart, python) {
  folder_.write("pyproject.toml",
                "[project]\nname = \"my-notes\"\n[project.scripts]\nnotes = \"my_notes:main\"\n");
  EXPECT_THAT(proposed().command.argv, ElementsAre("python3", "-m", "my_notes"));
  folder_.write("uv.lock", "");
  EXPECT_THAT(proposed().command.argv, ElementsAre("uv", "run", "notes"));
  folder_.remove("pyproject.toml");
  folder_.write("requirements.txt", "mcp\n");
  folder_.write("server.py", "");
  EXPECT_THAT(proposed().command.argv, ElementsAre("python3", "server.py"));
}

TEST_F(ProjectStart, cmake) {
  folder_.write("CMakeLists.txt", "project(x)\nadd_executable(notes main.cpp)\n");
  const ServerConfig server = proposed();
  EXPECT_THAT(server.command.argv, ElementsAre(in_folder("build/notes")));
  EXPECT_EQ(server.build, "cmake -B build && cmake --build build");
  EXPECT_THAT(server.watch, ElementsAre("*.{c,cc,cpp,cxx,h,hh,hpp}", "CMakeLists.txt"));
  folder_.folder("src");
  EXPECT_THAT(proposed().watch, ElementsAre("src/**", "CMakeLists.txt"));
  folder_.folder("include");
  EXPECT_THAT(proposed().watch, ElementsAre("src/**", "include/**", "CMakeLists.txt"));
}

TEST_F(ProjectStart, with_several_candidates_one_is_proposed_and_the_others_named) {
  folder_.write("CMakeLists.txt", "add_executable(notes main.cpp)\n");
  folder_.write("package.json", "{ broken");
  proposed();
  EXPECT_EQ(start_.found, "package.json (Node)");
  EXPECT_THAT(start_.text, HasSubstr("// There is also CMakeLists.txt (CMake).\n"));
}

TEST_F(ProjectStart, an_unknown_project_gets_examples) {
  const StartingConfig start = starting_config(folder_.path());
  EXPECT_THAT(start.found, IsEmpty());
  EXPECT_FALSE(read_config(start.text, folder_.path(), [](const char*) { return nullptr; }).has_errors());
  EXPECT_FALSE(read_config(empty_config(), folder_.path(), [](const char*) { return nullptr; }).has_errors());
}

}  // namespace
}  // namespace mcpivot
