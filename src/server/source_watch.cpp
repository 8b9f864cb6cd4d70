#include "server/source_watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "log/log.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// Programs that run a file that they are given, as far as their names go.
constexpr std::array interpreters{"node", "nodejs", "deno", "bun", "tsx", "python", "ruby",
                                  "perl", "php",    "bash", "sh",  "zsh", "dash"};
// Programs that find something to run by themselves; what, we cannot know.
constexpr std::array launchers{"npx",    "npm",    "pnpm", "yarn",   "uvx", "uv", "pipx",
                               "docker", "podman", "java", "dotnet", "env", "go", "cargo"};

bool is_one_of(const auto& names, const std::string& program) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return program == name || (program.starts_with(name) &&
                               program.find_first_not_of("0123456789.", name.size()) == std::string::npos);
  });
}

fs::path in_folder(const Command& command, const fs::path& path) {
  return fs::absolute(command.cwd.empty() ? path : fs::path(command.cwd) / path);
}

std::string list_of(const std::vector<std::string>& paths) {
  if (paths.size() == 1) return paths.front();
  return fmt::format("{} and {} more", paths.front(), paths.size() - 1);
}

}  // namespace

std::string own_file(const Command& command) {
  if (command.argv.empty()) return {};
  const std::string program = fs::path(command.argv.front()).filename();
  if (is_one_of(launchers, program)) return {};
  if (!is_one_of(interpreters, program)) {
    const auto found = find_program(command);
    return found ? in_folder(command, *found).string() : std::string();
  }
  for (std::size_t i = 1; i < command.argv.size(); ++i) {
    if (command.argv[i] == "-c" || command.argv[i] == "-e" || command.argv[i] == "-m") return {};
    if (command.argv[i].starts_with('-')) continue;
    const fs::path script = in_folder(command, command.argv[i]);
    std::error_code error;
    if (fs::is_regular_file(script, error)) return script;
  }
  return {};
}

SourceWatch::SourceWatch(boost::asio::io_context& loop, const ServerConfig& config, OnChange on_change) {
  auto on_problem = [name = config.name](const std::string& problem) { log_warn("{}: {}", name, problem); };
  if (!config.watch.empty()) {
    std::vector<Glob> globs;
    for (const std::string& pattern : config.watch) {
      auto glob = Glob::compile(pattern);
      if (glob) {
        globs.push_back(std::move(*glob));
      } else {
        on_problem(glob.error());
      }
    }
    files_ = std::make_unique<FileWatcher>(
        loop, in_folder(config.command, ".").lexically_normal().string(), std::move(globs),
        FileWatcher::Options(),
        [name = config.name, on_change](const std::vector<std::string>& changed) {
          log_info("{}: changed: {}", name, list_of(changed));
          on_change("after a change of " + list_of(changed));
        },
        on_problem);
    return;
  }
  const std::string file = own_file(config.command);
  if (file.empty()) return;
  executable_ = std::make_unique<ExecutableWatcher>(
      loop, file, ExecutableWatcher::Options(), [file, on_change] { on_change(file + " was replaced"); },
      on_problem);
}

void SourceWatch::reload_begins() {
  if (files_) files_->begin_build();
}

void SourceWatch::reload_ends() {
  if (files_) files_->end_build();
}

}  // namespace mcpivot
