#include "cli/server_name.h"

#include <algorithm>
#include <filesystem>
#include <initializer_list>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::string;
using std::string_view;
using Words = std::span<const string>;
using Names = std::initializer_list<string_view>;

bool is_one_of(Names names, string_view name) {
  return std::ranges::find(names, name) != names.end();
}

// Common names of entry points; the folder says more.
const Names common_scripts{"index", "main", "__main__", "mod"};
const Names common_folders{"dist",  "build",   "src",     "out", "lib", "bin", "target", "debug",
                           "Debug", "release", "Release", "cmd", "esm", "cjs", "scripts"};
const Names script_endings{".js", ".mjs", ".cjs", ".ts",  ".mts", ".cts", ".jsx", ".tsx",
                           ".py", ".rb",  ".pl",  ".php", ".sh",  ".jar", ".dll"};
const Names interpreters{"node", "nodejs", "tsx",  "ts-node", "deno", "bun",  "ruby",  "perl",
                         "php",  "sh",     "bash", "zsh",     "dash", "java", "dotnet"};

// Options of launchers and interpreters whose value is the next word.
const Names with_value{"-r",
                       "--require",
                       "--import",
                       "--loader",
                       "--env-file",
                       "-C",
                       "-W",
                       "-X",
                       "-p",
                       "--package",
                       "--from",
                       "--with",
                       "--python",
                       "--directory",
                       "--extra",
                       "--group",
                       "--prefix",
                       "--tsconfig",
                       "--with-requirements",
                       "-cp",
                       "-classpath",
                       "--class-path",
                       "-c",
                       "--config",
                       "--index-url",
                       "--project"};
const Names with_value_in_docker{
    "-e",         "--env", "-v",      "--volume",   "--mount",  "--name", "-p",         "--publish",
    "--network",  "--net", "-w",      "--workdir",  "-u",       "--user", "--env-file", "--entrypoint",
    "--platform", "-l",    "--label", "--add-host", "--memory", "-m",     "--cpus"};

bool is_python(string_view program) {
  return program.starts_with("python") || program.starts_with("pypy");
}

string ending_of(const fs::path& file) {
  return file.extension();
}

bool is_script(const fs::path& file) {
  return is_one_of(script_endings, ending_of(file));
}

// The words from the first one that isn't an option or an option's value.
Words after_options(Words words, Names valued) {
  while (!words.empty() && words.front().starts_with('-')) {
    if (words.front() == "--") return words.subspan(1);
    const std::size_t used = is_one_of(valued, words.front()) ? 2 : 1;
    words = words.subspan(std::min(used, words.size()));
  }
  return words;
}

// The value of an option, as "--option VALUE" or "--option=VALUE"; empty: it isn't there.
string value_of(Words words, Names options) {
  for (std::size_t i = 0; i < words.size(); ++i)
    for (const string_view option : options) {
      if (words[i] == option && i + 1 < words.size()) return words[i + 1];
      if (option.starts_with("--") && words[i].starts_with(string(option) + "="))
        return words[i].substr(option.size() + 1);
    }
  return {};
}

class Namer {
 public:
  explicit Namer(const Command& command) {
    std::error_code error;
    folder_ = command.cwd.empty() ? fs::current_path(error) : fs::absolute(command.cwd, error);
  }

  // Empty: the words don't tell.
  string name(Words words) {
    if (words.empty()) return {};
    const string program = fs::path(words.front()).filename();
    const Words rest = words.subspan(1);
    if (program == "env") return name(after_variables(rest));
    if (is_one_of({"npx", "bunx", "pnpx", "uvx"}, program)) return package(rest);
    if (program == "docker" || program == "podman") return image(rest);
    if (const string launched = launcher(program, rest); !launched.empty()) return launched;
    if (is_python(program) || is_one_of(interpreters, program)) return interpreted(program, rest);
    return is_script(program) ? script(words.front()) : program;
  }

 private:
  static Words after_variables(Words words) {
    words = after_options(words, {"-u", "-C", "-S"});
    while (!words.empty() && words.front().contains('=')) words = words.subspan(1);
    return words;
  }

  // A launcher's options, and what comes after them. Some options set the folder to run in.
  std::pair<Words, Words> options(Words words, bool has_folder) {
    const Words rest = after_options(words, with_value);
    const Words before = words.first(words.size() - rest.size());
    if (const string folder = value_of(before, {"--directory", "--project", "--prefix", "-C"});
        has_folder && !folder.empty())
      folder_ /= folder;
    return {before, rest};
  }

  // Programs with a subcommand that runs something else.
  string launcher(const string& program, Words words) {
    const bool uv = program == "uv";
    words = options(words, uv || program == "npm" || program == "pnpm").second;
    if (words.empty()) return {};
    const string& task = words.front();
    const Words rest = words.subspan(1);
    if ((program == "npm" && is_one_of({"exec", "x"}, task)) || (program == "yarn" && task == "dlx") ||
        (program == "pnpm" && is_one_of({"dlx", "exec"}, task)) || (program == "bun" && task == "x") ||
        (program == "pipx" && task == "run"))
      return package(rest);
    if (uv && task == "tool" && !rest.empty() && rest.front() == "run") return package(rest.subspan(1));
    if (is_one_of({"npm", "pnpm", "yarn"}, program)) return folder_name(folder_);
    if (task == "run" && is_one_of({"uv", "poetry", "pdm", "rye", "hatch", "pipenv"}, program)) {
      const auto [before, run] = options(rest, uv);
      const bool is_module =
          std::ranges::any_of(before, [](const string& word) { return word == "-m" || word == "--module"; });
      return is_module && !run.empty() ? module(run.front()) : name(run);
    }
    if (is_one_of({"mcp", "fastmcp"}, program) && is_one_of({"run", "dev"}, task)) {
      const Words file = after_options(rest, with_value);
      return file.empty() ? string() : script(file.front().substr(0, file.front().find(':')));
    }
    if (program == "go" && task == "run") {
      const Words file = after_options(rest, {});
      return file.empty()              ? string()
             : is_script(file.front()) ? script(file.front())
                                       : in_folder(file.front());
    }
    if (program == "cargo" && task == "run") {
      const string named = value_of(rest, {"--bin", "-p", "--package", "--example"});
      return named.empty() ? folder_name(folder_) : named;
    }
    if (program == "dotnet" && task == "run") {
      const string project = value_of(rest, {"--project"});
      return project.empty() ? folder_name(folder_) : fs::path(project).stem().string();
    }
    return {};
  }

  string interpreted(const string& program, Words words) {
    if (is_one_of({"deno", "bun", "tsx"}, program) && !words.empty() &&
        is_one_of({"run", "watch"}, words.front()))
      words = words.subspan(1);
    if (program == "java")
      if (const string jar = value_of(words, {"-jar"}); !jar.empty()) return script(jar);
    for (const string& word : words) {  // those before the script
      if (!word.starts_with('-')) break;
      if (is_python(program) && word == "-m") return module(value_of(words, {"-m"}));
      const bool code = word == "-e" || word == "--eval" || (word == "-c" && program != "node");
      if (code) return program;
    }
    words = after_options(words, with_value);
    return words.empty() ? program : script(words.front());
  }

  // "@scope/notes@1.2", "notes==1.2", "notes[extra]", "git+https://host/me/notes.git"
  string package(Words words) {
    words = after_options(words, with_value);
    if (words.empty()) return {};
    string text = words.front();
    if (text.starts_with('.') || text.starts_with('/'))
      return is_script(text) ? script(text) : in_folder(text);
    const bool scoped = text.starts_with('@');
    if (const auto slash = text.rfind('/'); slash != string::npos) text.erase(0, slash + 1);
    if (const auto end = text.find_first_of("@=<>~![#"); end != string::npos && (end > 0 || scoped))
      text.erase(end);
    if (text.ends_with(".git")) text.erase(text.size() - 4);
    // What a package runner runs may itself just run something: npx tsx server.ts
    const bool runs_another = is_one_of(interpreters, text) || is_one_of({"mcp", "fastmcp"}, text);
    if (!runs_another || words.size() < 2) return text;
    std::vector<string> inner(words.begin(), words.end());
    inner.front() = text;
    return name(inner);
  }

  // "registry/me/notes:1.2"
  static string image(Words words) {
    words = after_options(words, with_value_in_docker);
    if (words.empty() || words.front() != "run") return {};
    words = after_options(words.subspan(1), with_value_in_docker);
    if (words.empty()) return {};
    string text = fs::path(words.front()).filename();
    return text.substr(0, text.find_first_of(":@"));
  }

  // "notes.main" or "notes.__main__"
  static string module(string text) {
    while (true) {
      const auto dot = text.rfind('.');
      if (dot == string::npos || dot == 0) return text;
      if (!is_one_of(common_scripts, text.substr(dot + 1))) return text.substr(dot + 1);
      text.erase(dot);
    }
  }

  string script(const fs::path& file) const {
    const string stem = is_script(file) ? file.stem() : file.filename();
    if (!is_one_of(common_scripts, stem)) return stem;
    const string around = folder_name((folder_ / file).lexically_normal().parent_path());
    return around.empty() ? stem : around;
  }

  string in_folder(const fs::path& folder) const {
    return folder_name((folder_ / folder / "").lexically_normal().parent_path());
  }

  // The first enclosing folder with a meaningful name; empty: there is none.
  static string folder_name(fs::path folder) {
    while (folder.has_relative_path() && is_one_of(common_folders, folder.filename().string()))
      folder = folder.parent_path();
    return folder.filename();
  }

  fs::path folder_;  // in which the command runs
};

}  // namespace

string server_name(const Command& command) {
  const string name = Namer(command).name(command.argv);
  return name.empty() ? fs::path(command.argv.front()).filename().string() : name;
}

}  // namespace mcpivot
