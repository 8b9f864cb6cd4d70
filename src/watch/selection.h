// Decides what of a folder is watched: what a glob asks for, less what the project ignores, except where the
// glob itself names what is ignored ("dist/**").
//
// It goes down the tree with its owner: a Scope is what is known about one folder, and is enough to decide
// about what lies in it. Paths are relative to the root. One thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "glob/glob.h"
#include "watch/ignore_rules.h"

namespace mcpivot {

class Selection {
 public:
  // For each glob the ignore rules that do not count here; nothing if it can match nothing here.
  using Scope = std::vector<std::optional<IgnoreRules::Lifted>>;

  // `root` is a real path.
  Selection(const std::string& root, std::vector<Glob> globs) : globs_(std::move(globs)), rules_(root) {}

  // Starts over with the current rules. The root's scope.
  Scope start(const std::string& root);
  // To be called for each folder, the root too, before anything in it is asked about.
  void read_rules(std::string_view folder) { rules_.read(folder); }

  // The scope of a folder that lies in a folder of the scope `parent`; nothing if nothing there is wanted.
  std::optional<Scope> enter(const Scope& parent, std::string_view folder) const;
  // Whether a file that lies in a folder of this scope is wanted.
  bool wants(const Scope& scope, std::string_view path) const;
  bool names(std::string_view path) const;

 private:
  std::vector<Glob> globs_;
  IgnoreRules rules_;
};

}  // namespace mcpivot
