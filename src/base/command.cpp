#include "base/command.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <map>
#include <string_view>

#include "base/contains.h"

extern char** environ;  // NOLINT(readability-redundant-declaration): POSIX requires the program to declare it

namespace mcpivot {
namespace {

// The program's path. Not left to execvp, so that the search uses the PATH that the child gets, and the error
// can say where we looked.
std::expected<std::string, std::string> find_program(const std::string& name,
                                                     const std::vector<std::string>& environment) {
  if (name.find('/') != std::string::npos) return name;
  std::string_view folders = "/usr/local/bin:/usr/bin:/bin";
  for (const std::string_view variable : environment)
    if (variable.starts_with("PATH=")) folders = variable.substr(5);
  while (true) {
    const auto colon = folders.find(':');
    const std::string_view folder = folders.substr(0, colon);
    std::string candidate = (folder.empty() ? "." : std::string(folder)) + "/" + name;
    struct stat info{};
    if (::stat(candidate.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
        ::access(candidate.c_str(), X_OK) == 0)
      return candidate;
    if (colon == std::string_view::npos) break;
    folders.remove_prefix(colon + 1);
  }
  return std::unexpected("cannot start '" + name + "': no such program in PATH");
}

constexpr std::array<std::string_view, 11> needed_by_all{
    "PATH", "HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "SHELL", "TERM", "TMPDIR", "TZ", "USER"};

}  // namespace

std::expected<std::string, std::string> find_program(const Command& command) {
  return find_program(command.argv.at(0), environment_of(command));
}

std::vector<std::string> environment_of(const Command& command) {
  std::map<std::string, std::string> values;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const auto equals = text.find('=');
    if (equals != std::string_view::npos &&
        (!command.own_env_only || contains(needed_by_all, text.substr(0, equals))))
      values[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  for (const auto& [key, value] : command.env) values[key] = value;
  std::vector<std::string> variables;
  variables.reserve(values.size());
  for (const auto& [key, value] : values) variables.push_back(key + "=" + value);
  return variables;
}

}  // namespace mcpivot
