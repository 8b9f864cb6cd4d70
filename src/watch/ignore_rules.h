// What isn't part of a project's sources, according to its .gitignore files, so that a build's output or
// node_modules triggers nothing and is not even watched.
//
// Git's rules: a later line beats an earlier one, a deeper file a higher one, and what is in an excluded
// folder can't be re-included. Files above the watched folder count up to the top of the repository, as does
// .git/info/exclude there. A user's global excludes, and files that are tracked in spite of a rule, are not
// considered. In addition, ".git" is always ignored, and so are editors' temporary files unless a rule says
// otherwise.
//
// A folder that the user asked for by name is watched even if it is ignored: lift() returns the rules that
// would hide it, and excludes() then skips these.
//
// Paths are relative to the watched folder. One thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "glob/path_pattern.h"

namespace mcpivot {

class IgnoreRules {
 public:
  using Lifted = std::vector<std::uint32_t>;  // the numbers of rules, sorted

  // Reads the rules from above `root`, a real path; "" for none at all.
  explicit IgnoreRules(std::string root);

  // Reads the .gitignore in this folder, again if needed; "" is the root.
  void read(std::string_view folder);
  // The same from a text.
  void set(std::string_view folder, std::string_view text) { set_full(full(folder), text); }

  // Whether this path itself is excluded, given that the folder it is in isn't.
  bool excludes(std::string_view path, bool is_folder, const Lifted& lifted = {}) const;
  // The same if nothing is known about the folders it is in.
  bool ignores(std::string_view path, bool is_folder) const;

  // The rules that hide the root itself.
  Lifted lift_root() const;
  // The rules that hide this folder, or everything in it, plus those already lifted.
  Lifted lift(std::string_view folder, const Lifted& lifted) const;

 private:
  struct Rule {
    PathPattern pattern;
    bool negated;
    bool folders_only;
    bool anchored;  // else it applies to the last name of a path
    std::uint32_t number;

    bool hits(std::string_view path, bool is_folder) const;
  };
  using Rules = std::vector<Rule>;

  std::string full(std::string_view path) const;
  void set_full(const std::string& folder, std::string_view text);
  Rules parse(std::string_view text);
  bool excludes_full(std::string_view path, bool is_folder, const Lifted& lifted) const;
  void lift_full(std::string_view folder, Lifted& lifted) const;
  template <class Visit>
  void each_level(std::string_view path, Visit&& visit) const;

  std::string root_;
  std::string prefix_;                                   // from the top of the repository to the root
  Rules base_;                                           // what any .gitignore overrides
  std::map<std::string, Rules, std::less<>> by_folder_;  // relative to the top
  std::uint32_t last_number_ = 0;
};

}  // namespace mcpivot
