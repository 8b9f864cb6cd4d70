// Files for output that is too long for an answer. They are in a folder of their own that only the user can
// read; the newest few are kept, and all are deleted with this object.
//
// One thread.
#pragma once

#include <deque>
#include <expected>
#include <string>
#include <string_view>

namespace mcpivot {

class KeptFiles {
 public:
  static constexpr std::size_t most_files = 16;

  KeptFiles() = default;
  ~KeptFiles();
  KeptFiles(const KeptFiles&) = delete;
  KeptFiles& operator=(const KeptFiles&) = delete;

  struct File {
    int descriptor;  // open for writing; the caller closes it
    std::string path;
  };
  // `name` becomes part of the file's name. The error says why there is none.
  std::expected<File, std::string> create(std::string_view name);

 private:
  std::string folder_;
  std::deque<std::string> paths_;
  int count_ = 0;
};

}  // namespace mcpivot
