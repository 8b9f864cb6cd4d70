// A lock that one mcpivot at a time can hold, for what two of them must not do at once: start a daemon, sign
// in, or build. It is released when its holder ends, even if that is killed.
//
// One thread.
#pragma once

#include <cstdint>
#include <string>

namespace mcpivot {

class LockFile {
 public:
  explicit LockFile(std::string path) : path_(std::move(path)) {}
  ~LockFile() { release(); }
  LockFile(const LockFile&) = delete;
  LockFile& operator=(const LockFile&) = delete;

  enum class Taken : std::uint8_t { yes, by_another, impossible };
  // Without waiting. `impossible`: the file can't be created, and errno says why.
  Taken take();
  void release();

  const std::string& path() const { return path_; }
  // Of the file, which may be written to; -1 if it isn't held.
  int descriptor() const { return descriptor_; }

 private:
  std::string path_;
  int descriptor_ = -1;
};

}  // namespace mcpivot
