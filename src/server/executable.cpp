#include "server/executable.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <string_view>

#include "base/duration_text.h"
#include "base/files.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

// Programs that run a file given as an argument.
constexpr std::array interpreters{"node", "nodejs", "deno", "bun", "tsx", "python", "ruby",
                                  "perl", "php",    "bash", "sh",  "zsh", "dash"};
// Programs that find out themselves what to run; we can't know what.
constexpr std::array launchers{"npx",    "npm",    "pnpm", "yarn",   "uvx", "uv", "pipx",
                               "docker", "podman", "java", "dotnet", "env", "go", "cargo"};

bool is_one_of(const auto& names, const std::string& program) {
  return std::ranges::any_of(names, [&](std::string_view name) {
    return program == name || (program.starts_with(name) &&
                               program.find_first_not_of("0123456789.", name.size()) == std::string::npos);
  });
}

// What is installed there doesn't belong to the user alone.
constexpr std::array system_folders{"/usr",   "/bin", "/sbin", "/lib", "/lib32",
                                    "/lib64", "/opt", "/snap", "/nix"};

bool is_inside(const fs::path& path, const fs::path& folder) {
  return std::ranges::mismatch(folder, path).in1 == folder.end();
}

std::string size_text(off_t bytes) {
  if (bytes < 1000) return fmt::format("{} bytes", bytes);
  if (bytes < 1'000'000) return fmt::format("{:.0f} kB", static_cast<double>(bytes) / 1e3);
  return fmt::format("{:.1f} MB", static_cast<double>(bytes) / 1e6);
}

}  // namespace

fs::path in_folder(const Command& command, const fs::path& path) {
  return absolute_path(command.cwd.empty() ? path : fs::path(command.cwd) / path).lexically_normal();
}

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

std::chrono::system_clock::time_point FileFacts::modified() const {
  return std::chrono::system_clock::time_point(
      std::chrono::duration_cast<std::chrono::system_clock::duration>(
          std::chrono::nanoseconds(stamp.modified)));
}

std::string FileFacts::text(std::chrono::system_clock::time_point now) const {
  const auto age = std::chrono::duration_cast<std::chrono::milliseconds>(now - modified());
  return fmt::format("{}, {}, {} {} ago", path, size_text(stamp.size), is_binary ? "built" : "saved",
                     duration_text(std::max(age, std::chrono::milliseconds(0))));
}

std::optional<FileFacts> look_at(const std::string& path) {
  struct stat info{};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return std::nullopt;
  return FileFacts{path, Stamp::from(info),
                   read_beginning(path, 4) ==
                       "\x7f"
                       "ELF"};
}

bool looks_the_same(const std::optional<FileFacts>& now, const std::optional<FileFacts>& before) {
  if (!now) return true;
  return before && now->path == before->path && now->stamp.looks_like(before->stamp);
}

std::optional<FileFacts> stoppable_program(const Command& command) {
  if (command.argv.empty()) return std::nullopt;  // a daemon
  const auto found = find_program(command);
  if (!found) return std::nullopt;
  std::error_code error;
  const fs::path program = fs::canonical(in_folder(command, *found), error);
  const std::string name = program.filename();
  if (error || is_one_of(interpreters, name) || is_one_of(launchers, name)) return std::nullopt;
  if (std::ranges::any_of(system_folders, [&](const char* folder) { return is_inside(program, folder); }))
    return std::nullopt;
  if (::access(program.c_str(), W_OK) != 0) return std::nullopt;
  auto facts = look_at(program);
  // If the server is mcpivot itself, that would end us and the mcpivot that started us.
  const auto ours = look_at("/proc/self/exe");
  if (facts && ours && facts->stamp.inode == ours->stamp.inode && facts->stamp.device == ours->stamp.device)
    return std::nullopt;
  return facts;
}

}  // namespace mcpivot
