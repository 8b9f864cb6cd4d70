#include "world/script_files.h"

#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <string_view>

#include "base/files.h"
#include "server/executable.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

struct Language {
  std::string_view interpreter;  // a part of its name
  std::string_view endings;      // of its files
};
constexpr std::array languages{Language{"python", "py"},
                               Language{"node", "js,mjs,cjs,ts,mts,cts"},
                               Language{"deno", "js,mjs,cjs,ts,mts,cts"},
                               Language{"bun", "js,mjs,cjs,ts,mts,cts"},
                               Language{"tsx", "js,mjs,cjs,ts,mts,cts"},
                               Language{"ruby", "rb"},
                               Language{"php", "php"},
                               Language{"perl", "pl,pm"},
                               Language{"zsh", "zsh,sh"},
                               Language{"bash", "sh,bash"},
                               Language{"sh", "sh,bash"}};

std::string first_line(const fs::path& file) {
  const std::string text = read_beginning(file, 200);
  return text.substr(0, text.find('\n'));
}

// By the file's name, or else by its interpreter.
std::string_view endings_of(const fs::path& script, std::string_view runs) {
  const std::string ending = script.extension();
  for (const Language& language : languages)
    if (ending.size() > 1 &&
        fmt::format(",{},", language.endings).find(fmt::format(",{},", ending.substr(1))) !=
            std::string::npos)
      return language.endings;
  for (const Language& language : languages)
    if (runs.find(language.interpreter) != std::string_view::npos) return language.endings;
  return {};
}

std::string escaped(const std::string& name) {
  std::string text;
  for (const char c : name) {
    if (std::string_view(R"(*?[]{}\!,)").find(c) != std::string_view::npos) text += '\\';
    text += c;
  }
  return text;
}

}  // namespace

std::optional<ScriptFiles> script_files(const Command& command) {
  const std::string named = own_file(command);
  if (named.empty()) return std::nullopt;
  std::error_code error;
  const fs::path script = fs::weakly_canonical(named, error);  // a link's own folder doesn't matter
  if (error) return std::nullopt;
  const auto program = find_program(command);
  const bool is_program = program && in_folder(command, *program) == fs::path(named);
  const std::string line = first_line(script);
  if (is_program && !line.starts_with("#!")) return std::nullopt;
  ScriptFiles files{.folder = script.parent_path(), .globs = {escaped(script.filename())}};
  std::string endings(endings_of(script, is_program ? std::string_view(line) : command.argv[0]));
  if (endings.find(',') != std::string::npos) endings = "{" + endings + "}";
  if (!endings.empty()) files.globs.insert(files.globs.end(), {"*." + endings, "*/*." + endings});
  return files;
}

}  // namespace mcpivot
