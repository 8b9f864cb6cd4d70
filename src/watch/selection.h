// Decides what to watch in a folder: what a glob selects, minus what the project ignores, except where the
// glob itself names something ignored ("dist/**").
//
// Its owner walks down the tree with it: a Scope is what is known about one folder, and is enough to decide
// about its content. Paths are relative to the root. One thread.
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
  // For each glob, the ignore rules that don't count here; nothing if the glob can't match anything here.
  using Scope = std::vector<std::optional<IgnoreRules::Lifted>>;

  // `root` is a real path.
  Selection(const std::string& root, std::vector<Glob> globs) : globs_(std::move(globs)), rules_(root) {}

  // Starts over with the current rules. The root's scope.
  Scope start(const std::string& root);
  // Must be called for each folder, including the root, before anything in it is asked about.
  void read_rules(std::string_view folder) { rules_.read(folder); }

  // The scope of a folder within a folder of the scope `parent`; nothing if nothing in it is wanted.
  std::optional<Scope> enter(const Scope& parent, std::string_view folder) const;
  // Whether a file in a folder of this scope is wanted.
  bool wants(const Scope& scope, std::string_view path) const;
  bool names(std::string_view path) const;

 private:
  std::vector<Glob> globs_;
  IgnoreRules rules_;
};

}  // namespace mcpivot
