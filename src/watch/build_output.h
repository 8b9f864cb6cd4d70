// Distinguishes what a build wrote from what a person changed while it ran, so that a build doesn't trigger
// the next one, but a save during a build does.
//
// The kernel does not say who wrote a file. So the rule is, for a path that changed during a build:
//   1. It is output if it isn't text (a NUL byte near its beginning), or has the content that it had after
//      the build before.
//   2. If it has ever changed between builds, it is a source: build again. But not the fifth time in a row
//      without a change between builds, so that a build that rewrites a source does not go on forever.
//   3. If it changed during an earlier build and never between, it is output.
//   4. The first time: a file that the build made is output, unless its name ends like a known source's. One
//      that was there before may be somebody's edit: build again. If it was output after all, that costs one
//      build, in which rule 1 or 3 finds out.
// Between builds every change counts, except that known output disappears ("make clean").
//
// One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>

namespace mcpivot {

class BuildOutput {
 public:
  static constexpr std::size_t most_paths =
      256 * 1024;                               // beyond this, whatever changes in a build counts as output
  static constexpr unsigned most_in_a_row = 4;  // builds that a path may trigger from within builds
  static constexpr std::size_t most_read = 1024 * 1024;  // of a file, to recognise its content

  void build_began() { ++build_; }

  // Whether the change calls for a build. `file`: its full path.
  bool changed_during_build(const std::string& path, const std::string& file, bool existed);
  bool changed_between_builds(const std::string& path, bool exists);

 private:
  struct Path {
    bool source = false;                     // has changed between builds
    unsigned builds = 0;                     // in how many it changed
    unsigned last_build = 0;                 // the last of them
    unsigned in_a_row = 0;                   // how many up to that one, without a gap or a change between
    std::optional<std::uint64_t> content{};  // after the last of them
  };
  Path* find(const std::string& path);

  unsigned build_ = 0;
  std::unordered_map<std::string, Path> paths_;
  std::set<std::string, std::less<>> source_endings_;
};

}  // namespace mcpivot
