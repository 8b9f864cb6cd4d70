// Distinguishes what a build wrote from what a person changed while it ran, so that a build doesn't trigger
// the next one, but a save during a build does.
//
// The kernel does not say who wrote a file. So the rule is, for a path that changed during a build or
// right after it (the new server may write files when it starts):
//   1. It is output if it isn't text (a NUL byte near its beginning), or has the content that it had after
//      the build before.
//   2. If it has ever changed between builds, it is a source: build again. But not the fifth time in a row
//      without a change between builds, so that a build that rewrites a source does not go on forever; and,
//      right after builds, not the 21st time: those are rather saves of somebody who works fast, or else a
//      server that writes the file when it starts.
//   3. Otherwise, if its name ends like a known source's, it may be one: the same.
//   4. Otherwise, if it changed during an earlier build, or the build made it, it is output. One that was
//      there before may be somebody's edit: build again. If it was output after all, that costs one build, in
//      which rule 1 or 4 finds out.
// What rules 2 and 3 leave out could still be an edit: the caller tells the clients, one of which may have
// made it.
//
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
  static constexpr unsigned most_right_after = 20;  // and that a source may trigger right after them

  enum class Change : unsigned char {
    output,   // calls for nothing
    source,   // calls for a build
    left_out  // may be an edit, but triggered too many builds; once for each row of them
  };
  static constexpr std::size_t most_read = 1024 * 1024;  // of a file, to recognise its content

  void build_began() { ++build_; }

  // `file`: its full path.
  Change changed_during_build(const std::string& path, const std::string& file, bool existed);
  Change changed_after_build(const std::string& path, const std::string& file, bool existed);
  Change changed_between_builds(const std::string& path, bool exists);
  // It was left out, but there is another reason for a build before anybody was told.
  void is_built_now(const std::string& path);

 private:
  // Consecutive builds in which a path changed.
  struct Row {
    unsigned last = 0;
    unsigned length = 0;
    // False: this build begins another row.
    bool go_on(unsigned build) {
      const bool goes_on = last + 1 == build;
      length = goes_on ? length + 1 : 1;
      last = build;
      return goes_on;
    }
  };
  struct Path {
    bool source = false;                     // has changed between builds
    bool in_build = false;                   // has changed during a build
    bool left_out = false;                   // in this row
    Row during{};                            // of builds in which it changed,
    Row after{};                             // and of those right after which it did
    std::optional<std::uint64_t> content{};  // after the last in which it changed
  };
  Change judge(Path& known, Row& row, unsigned most, const std::string& path, const std::string& file,
               bool existed);
  Path* find(const std::string& path);

  unsigned build_ = 0;
  std::unordered_map<std::string, Path> paths_;
  std::set<std::string, std::less<>> source_endings_;
};

}  // namespace mcpivot
