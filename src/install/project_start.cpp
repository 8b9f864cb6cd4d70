#include "install/project_start.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <system_error>
#include <vector>

#include "base/files.h"
#include "install/json_edit.h"
#include "install/toml_edit.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using Kind = JsoncValue::Kind;

constexpr std::size_t longest_file = 4UL * 1024 * 1024;
constexpr int most_files = 10'000;  // of the folder that are examined

struct Proposal {
  std::string found;
  std::string name;
  std::string command;
  std::vector<std::string> args{};
  std::string build{};
  std::vector<std::string> watch{};
  std::string remark{};  // on the command
};

class Project {
 public:
  explicit Project(const std::string& folder) : folder_(folder) {}

  bool has(const std::string& name) const {
    std::error_code error;
    return fs::exists(folder_ / name, error);
  }
  bool has_file(const std::string& name) const {
    std::error_code error;
    return fs::is_regular_file(folder_ / name, error);
  }
  std::string read(const std::string& name) const {
    return read_small_file((folder_ / name).string(), longest_file).value_or("");
  }
  std::string name() const { return folder_.filename().string(); }
  // The first file, by name, with this ending.
  std::string ending(std::string_view end) const {
    std::string first;
    int left = most_files;
    std::error_code error;
    for (fs::directory_iterator at(folder_, error), stop; !error && at != stop && left-- > 0;
         at.increment(error))
      if (const std::string file = at->path().filename();
          file.ends_with(end) && (first.empty() || file < first))
        first = file;
    return first;
  }

 private:
  fs::path folder_;
};

// "a.b" below the table; empty: no such text.
std::string toml_text(const std::string& file, const std::vector<std::string>& table, std::string_view key) {
  const auto tables = parse_toml(file);
  if (!tables) return {};
  for (const TomlTable& one : *tables) {
    if (one.path != table) continue;
    for (const TomlEntry& entry : one.entries)
      if (entry.key.size() == 1 && entry.key[0] == key && entry.value.kind == Kind::string)
        return entry.value.text;
  }
  return {};
}
// The first key in a table.
std::string first_toml_key(const std::string& file, const std::vector<std::string>& table) {
  const auto tables = parse_toml(file);
  if (!tables) return {};
  for (const TomlTable& one : *tables)
    if (one.path == table && !one.entries.empty()) return one.entries.front().key.front();
  return {};
}

std::string between(std::string_view text, std::string_view open, std::string_view close) {
  const auto begin = text.find(open);
  if (begin == std::string_view::npos) return {};
  const auto rest = text.substr(begin + open.size());
  const auto end = rest.find_first_of(close);
  if (end == std::string_view::npos) return {};
  auto word = rest.substr(0, end);
  while (!word.empty() && word.front() == ' ') word.remove_prefix(1);
  while (!word.empty() && (word.back() == ' ' || word.back() == '\r')) word.remove_suffix(1);
  return std::string(word);
}

std::optional<Proposal> cargo(const Project& project) {
  if (!project.has("Cargo.toml")) return std::nullopt;
  const std::string file = project.read("Cargo.toml");
  std::string name = toml_text(file, {"bin"}, "name");
  if (name.empty()) name = toml_text(file, {"package"}, "name");
  const bool known = !name.empty();
  if (!known) name = project.name();
  return Proposal{.found = "Cargo.toml (Rust)",
                  .name = name,
                  .command = "target/debug/" + name,
                  .build = "cargo build",
                  .watch = {known ? "src/**/*.rs" : "**/src/**/*.rs", "**/Cargo.toml"},
                  .remark = known ? "" : "Cargo.toml names no package: fill in the one that is the server."};
}

std::optional<Proposal> go(const Project& project) {
  if (!project.has("go.mod")) return std::nullopt;
  std::string name = between(project.read("go.mod"), "module ", "\n");
  name = fs::path(name).filename().string();
  if (name.empty()) name = project.name();
  const std::string package = project.has("cmd/" + name) ? "./cmd/" + name : ".";
  return Proposal{.found = "go.mod (Go)",
                  .name = name,
                  .command = "bin/" + name,
                  .build = fmt::format("go build -o bin/{} {}", name, package),
                  .watch = {"**/*.go", "go.mod"}};
}

std::optional<Proposal> dotnet(const Project& project) {
  const std::string file = project.ending(".csproj");
  if (file.empty()) return std::nullopt;
  const std::string name = fs::path(file).stem().string();
  const std::string text = project.read(file);
  const std::string framework = between(text, "<TargetFramework>", "<");
  const std::string assembly = between(text, "<AssemblyName>", "<");
  return Proposal{.found = file + " (.NET)",
                  .name = name,
                  .command = "dotnet",
                  .args = {fmt::format("bin/Debug/{}/{}.dll", framework.empty() ? "net8.0" : framework,
                                       assembly.empty() ? name : assembly)},
                  .build = "dotnet build --nologo",
                  .watch = {"**/*.cs", "*.csproj"},
                  .remark = "Not \"dotnet run\": that prints to stdout, which belongs to MCP."};
}

std::string text_at(const std::optional<JsoncValue>& root, const JsonPath& path) {
  const JsoncValue* value = root ? find_value(*root, path) : nullptr;
  return value != nullptr && value->kind == Kind::string ? value->text : std::string();
}

std::optional<JsoncValue> read_json(const Project& project, const std::string& file) {
  auto root = parse_jsonc(project.read(file));
  return root ? std::optional(std::move(*root)) : std::nullopt;
}

// The tsconfig that another one extends. Empty: it can't be found.
std::string extended(const Project& project, const fs::path& folder, const std::string& name) {
  // A file next to it, or one in a package: "./base", "../base.json", "@tsconfig/node20/tsconfig.json"
  const bool own = name.starts_with('.') || name.starts_with('/');
  const fs::path file = own ? folder / name : fs::path("node_modules") / name;
  for (const fs::path& tried : {file, fs::path(file.string() + ".json"), file / "tsconfig.json"})
    if (project.has_file(tried.lexically_normal())) return tried.lexically_normal();
  return {};
}

// A folder that tsconfig.json names, from the project's folder; empty: it names none.
std::string tsconfig_folder(const Project& project, const std::string& file, const char* key, int depth = 0) {
  constexpr int most_extended = 16;  // more is a circle
  if (depth > most_extended) return {};
  const auto root = read_json(project, file);
  const fs::path folder = fs::path(file).parent_path();
  if (std::string named = text_at(root, {"compilerOptions", key}); !named.empty()) {
    if (constexpr std::string_view top = "${configDir}/"; named.starts_with(top))
      return fs::path(named.substr(top.size())).lexically_normal();
    std::string path = (folder / named / "").lexically_normal().parent_path();
    return path.empty() ? "." : path;
  }
  std::vector<std::string> bases;
  if (const JsoncValue* extends = root ? root->find("extends") : nullptr) {
    if (extends->kind == Kind::string) bases.push_back(extends->text);
    for (const JsoncValue& one : extends->elements) bases.push_back(one.text);
  }
  // If there are several, the last one wins.
  for (auto base = bases.rbegin(); base != bases.rend(); ++base) {
    const std::string found = extended(project, folder, *base);
    if (found.empty()) continue;
    if (std::string named = tsconfig_folder(project, found, key, depth + 1); !named.empty()) return named;
  }
  return {};
}

// The compiler's output for the server's source; empty: no source was found.
std::string compiled(const Project& project, const std::string& tsconfig) {
  const std::string out = tsconfig_folder(project, tsconfig, "outDir");
  std::string root = tsconfig_folder(project, tsconfig, "rootDir");
  for (const char* source : {"src/index", "src/main", "src/server", "index", "main", "server"}) {
    if (!project.has_file(source + std::string(".ts"))) continue;
    const fs::path path = source;
    if (out.empty()) return path.string() + ".js";  // next to its source
    // Without a rootDir, it is the folder that all sources have in common.
    if (root.empty()) root = path.has_parent_path() ? path.parent_path().string() : ".";
    return (fs::path(out) / path.lexically_relative(root)).lexically_normal().string() + ".js";
  }
  return out.empty() ? "" : (fs::path(out) / "index.js").lexically_normal().string();
}

// The tsconfig that the build script names, or the usual one.
std::string tsconfig_of(const Project& project, const std::string& script) {
  for (const std::string_view option : {"-p ", "--project "}) {
    const std::string named = between(script + " ", option, " &;|");
    for (const std::string& file : {named, named + "/tsconfig.json"})
      if (!named.empty() && project.has_file(file)) return fs::path(file).lexically_normal();
  }
  return "tsconfig.json";
}

std::optional<Proposal> npm(const Project& project) {
  if (!project.has("package.json")) return std::nullopt;
  const auto package = read_json(project, "package.json");
  auto text = [&](const JsonPath& path) { return text_at(package, path); };
  std::string main = text({"bin"});
  const JsoncValue* bins = package ? package->find("bin") : nullptr;
  if (bins != nullptr && !bins->members.empty()) main = bins->members.front().value.text;
  if (main.empty()) main = text({"main"});
  if (main.starts_with("./")) main.erase(0, 2);
  const std::string script = text({"scripts", "build"});
  const bool typescript = project.has("tsconfig.json");
  const std::string tsconfig = typescript ? tsconfig_of(project, script) : "";
  const std::string made = typescript ? compiled(project, tsconfig) : "";
  const std::string out = typescript ? tsconfig_folder(project, tsconfig, "outDir") : "";
  // `npm init` writes "main": "index.js" without asking; the compiler decides what there will be.
  const bool elsewhere =
      !out.empty() && out != "." && !main.starts_with(out + "/") && !project.has_file(main);
  bool known = !main.empty() && !elsewhere;
  if (!known && !made.empty()) {
    main = made;
    known = true;
  }
  if (!known && main.empty()) main = typescript ? "build/index.js" : "index.js";
  std::string name = text({"name"});
  name = fs::path(name).filename().string();  // without "@scope/"
  Proposal proposal{
      .found = typescript ? "package.json (Node, TypeScript)" : "package.json (Node)",
      .name = name.empty() ? project.name() : name,
      .command = "node",
      .args = {main},
      .remark = known ? "" : "package.json names no \"main\" or \"bin\": fill in the server's file."};
  if (!script.empty()) proposal.build = "npm run build --silent";
  if (script.empty() && typescript) proposal.build = "npx tsc";
  if (typescript) {
    proposal.watch = {"src/**/*.ts", "package.json"};
    if (!project.has("src")) proposal.watch.front() = "*.ts";
    proposal.watch.push_back(tsconfig);
  } else if (proposal.build.empty()) {
    proposal.watch = {"*.js", "*.mjs", "src/**/*.js", "src/**/*.mjs"};
  } else {
    proposal.watch = {"src/**", "package.json"};
  }
  return proposal;
}

std::optional<Proposal> python(const Project& project) {
  const bool modern = project.has("pyproject.toml");
  if (!modern && !project.has("requirements.txt") && !project.has("setup.py")) return std::nullopt;
  const std::string file = modern ? project.read("pyproject.toml") : "";
  const std::string script = first_toml_key(file, {"project", "scripts"});
  std::string name = toml_text(file, {"project"}, "name");
  if (name.empty()) name = project.name();
  Proposal proposal{.found = modern                            ? "pyproject.toml (Python)"
                             : project.has("requirements.txt") ? "requirements.txt (Python)"
                                                               : "setup.py (Python)",
                    .name = name,
                    .command = "python3",
                    .watch = {"*.py", "src/**/*.py"}};
  std::string module = name;
  std::ranges::replace(module, '-', '_');
  if (project.has(module)) proposal.watch.push_back(module + "/**/*.py");
  const bool uv = project.has("uv.lock");
  if (project.has(".venv/bin/python")) proposal.command = ".venv/bin/python";
  if (!script.empty() && uv) {
    proposal.command = "uv";
    proposal.args = {"run", script};
  } else if (!script.empty() && project.has(".venv/bin/" + script)) {
    proposal.command = ".venv/bin/" + script;
  } else if (project.has("server.py")) {
    proposal.args = {"server.py"};
  } else if (project.has("main.py")) {
    proposal.args = {"main.py"};
  } else {
    proposal.args = {"-m", module};
    proposal.remark = "Fill in the module or file that is the server.";
  }
  return proposal;
}

std::optional<Proposal> cmake(const Project& project) {
  if (!project.has("CMakeLists.txt")) return std::nullopt;
  std::string name = between(project.read("CMakeLists.txt"), "add_executable(", " \n\t)");
  const bool known = !name.empty() && !name.contains('$');
  if (!known) name = project.name();
  Proposal proposal{.found = "CMakeLists.txt (CMake)",
                    .name = name,
                    .command = "build/" + name,
                    .build = "cmake -B build && cmake --build build",
                    .watch = {"*.{c,cc,cpp,cxx,h,hh,hpp}", "CMakeLists.txt"},
                    .remark = known ? "" : "Fill in the executable that is the server."};
  // Whole folders: sources have too many endings to name them all, and generated ones are elsewhere.
  if (project.has("src")) proposal.watch = {"src/**", "CMakeLists.txt"};
  if (project.has("include")) proposal.watch.insert(proposal.watch.end() - 1, "include/**");
  return proposal;
}

std::string as_json_string(const std::string& text) {
  return json_text(json_string(text));
}

constexpr std::string_view closing =
    R"(      // More keys: "env", "cwd", "replay" (calls to repeat after each swap), "timeouts".
)";

std::string text_of(const Proposal& proposal, const std::string& others) {
  std::string text = fmt::format(
      "// The servers behind mcpivot in this project, proposed from {}.\n{}"
      "// `mcpivot check` explains this file and lists any problems;\n"
      "// `mcpivot install claude --scope project` adds it to a client.\n"
      "{{\n"
      "  \"mcpServers\": {{\n"
      "    {}: {{\n"
      "      // What is run: a server that speaks MCP over stdin and stdout. Paths are relative to this "
      "file.\n",
      proposal.found, others, as_json_string(proposal.name));
  if (!proposal.remark.empty()) text += fmt::format("      // {}\n", proposal.remark);
  text += fmt::format("      \"command\": {},\n", as_json_string(proposal.command));
  if (!proposal.args.empty())
    text += fmt::format("      \"args\": {},\n", json_text(json_strings(proposal.args)));
  if (!proposal.build.empty())
    text += fmt::format(
        "      // How it is built. If the build fails, the running server keeps serving.\n"
        "      \"build\": {},\n",
        as_json_string(proposal.build));
  text += fmt::format(
      "      // Saving one of these {}the new server; the client stays connected.\n"
      "      \"watch\": {},\n",
      proposal.build.empty() ? "switches to " : "builds and switches to ",
      json_text(json_strings(proposal.watch)));
  text +=
      "      // Its tools are in the model's context from the start.\n"
      "      \"active\": true\n";
  text += closing;
  return text + "    }\n  }\n}\n";
}

}  // namespace

std::string empty_config() {
  return "// The servers behind mcpivot, written as in a client's own file, with more keys if you like: "
         "\"build\",\n"
         "// \"watch\", \"active\" and others. `mcpivot check` explains this file and lists any problems.\n"
         "{\n"
         "  \"mcpServers\": {}\n"
         "}\n";
}

StartingConfig starting_config(const std::string& folder) {
  const Project project(folder);
  std::vector<Proposal> proposals;
  for (auto* look : {cargo, go, dotnet, npm, python, cmake})
    if (auto proposal = look(project)) proposals.push_back(std::move(*proposal));
  if (!proposals.empty()) {
    std::string others;
    for (std::size_t i = 1; i < proposals.size(); ++i)
      others += (i == 1 ? "// There is also " : " and ") + proposals[i].found;
    if (!others.empty()) others += ".\n";
    return {text_of(proposals.front(), others), proposals.front().found};
  }
  return {
      R"(// The servers behind mcpivot in this project. `mcpivot check` explains this file and lists any
// problems; `mcpivot install claude --scope project` adds it to a client.
{
  "mcpServers": {
    // A server of your own, in development: rebuilt and swapped when you save a file.
    // "dev": { "command": "./server", "build": "make", "watch": ["src/**"], "active": true },

    // An HTTP daemon, which may be restarted as often as you like.
    // "app": { "url": "http://127.0.0.1:8080/mcp" },

    // A program that describes its own tools and is run once for each call.
    // "tools": { "cli": ["./your-cli"] },
  }
}
)",
      ""};
}

}  // namespace mcpivot
