// Ignore files, compared with reading them again for each path: the last rule that matches counts, everything
// in an ignored folder is ignored, and a rule that was lifted no longer hides anything.
#include <algorithm>
#include <optional>

#include "fuzz.h"
#include "glob/path_pattern.h"
#include "watch/ignore_rules.h"

namespace {

using namespace mcpivot;
using fuzz::check;

std::optional<bool> last_word(std::string_view text, std::string_view path, bool is_folder) {
  std::optional<bool> ignored;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string line(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.ends_with('\r')) line.pop_back();
    while (line.ends_with(' ') && !line.ends_with("\\ ")) line.pop_back();
    if (line.empty() || line[0] == '#') continue;
    const bool negated = line[0] == '!';
    if (negated) line.erase(0, 1);
    const bool folders_only = line.ends_with('/');
    if (folders_only) line.pop_back();
    const auto pattern = PathPattern::compile(line);
    if (!pattern || (folders_only && !is_folder)) continue;
    const bool anchored = line.find('/') != std::string::npos;
    const std::string_view seen = anchored ? path : path.substr(path.rfind('/') + 1);
    if (pattern->matches(seen)) ignored = !negated;
  }
  return ignored;
}

std::string_view folder_of(std::string_view path) {
  const auto slash = path.rfind('/');
  return slash == std::string_view::npos ? "" : path.substr(0, slash);
}

struct File {
  std::string folder;
  std::string text;
};

// Whether it, or a folder that contains it, is excluded. Editors' temporary files are not checked here.
bool ignored(const std::vector<File>& files, std::string_view path, bool is_folder) {
  if (path.empty()) return false;
  if (ignored(files, folder_of(path), true)) return true;
  if (path.substr(path.rfind('/') + 1) == ".git") return true;
  for (std::string_view folder = path; !folder.empty();) {
    folder = folder_of(folder);
    for (const File& file : files) {
      if (file.folder != folder) continue;
      const auto word = last_word(file.text, path.substr(folder.empty() ? 0 : folder.size() + 1), is_folder);
      if (word) return *word;
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data,
                          size);  // a path, then the root's file, a line of "====" and that of its folder
  std::string path(input.settings);
  while (path.find("//") != std::string::npos) path.erase(path.find("//"), 1);
  if (path.starts_with('/')) path.erase(0, 1);
  if (path.ends_with('/')) path.pop_back();
  if (path.empty()) return 0;
  const auto between = input.text.find("====\n");
  std::vector<File> files{{"", std::string(input.text.substr(0, between))}};
  const std::string folder(path.substr(0, std::min(path.find('/'), path.size())));
  if (between != std::string_view::npos)
    files.push_back({folder, std::string(input.text.substr(between + 5))});

  IgnoreRules rules("");
  const IgnoreRules none("");
  for (const File& file : files) rules.set(file.folder, file.text);
  const bool litter = none.ignores(path, false) || none.ignores(path, true);
  for (const bool is_folder : {false, true}) {
    if (!litter)
      check(rules.ignores(path, is_folder) == ignored(files, path, is_folder),
            "the last rule that hits counts");
  }
  const auto lifted = rules.lift(path, {});
  check(std::ranges::is_sorted(lifted), "lifted rules are sorted");
  if (path.substr(path.rfind('/') + 1) != ".git")
    check(!rules.excludes(path, true, lifted), "what is lifted hides nothing more");
  return 0;
}
