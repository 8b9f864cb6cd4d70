// What a file looked like, to tell later whether it has changed without reading it.
//
// Plain data; any thread.
#pragma once

#include <sys/stat.h>

#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>

namespace mcpivot {

struct Stamp {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size = 0;
  std::int64_t modified = 0;  // in nanoseconds
  bool fresh = false;         // so young that a later change may leave the same timestamp

  // Nothing for a folder or a missing file. Symbolic links are not followed.
  static std::optional<Stamp> of(const std::string& path) {
    struct stat info{};
    if (::lstat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) return std::nullopt;
    return from(info);
  }

  static Stamp from(const struct stat& info) {
    // The kernel stamps files with a clock that ticks every 1 to 10 ms.
    constexpr std::int64_t tick = 20'000'000;
    const auto now = std::chrono::duration_cast<std::chrono::nanoseconds>(
        std::chrono::system_clock::now().time_since_epoch());
    const std::int64_t modified =
        std::int64_t{info.st_mtim.tv_sec} * 1'000'000'000 + std::int64_t{info.st_mtim.tv_nsec};
    return {info.st_dev, info.st_ino, info.st_size, modified, std::abs(now.count() - modified) < tick};
  }

  bool looks_like(const Stamp& other) const {
    return device == other.device && inode == other.inode && size == other.size && modified == other.modified;
  }
  // It looks the same as before and wasn't fresh then, so it has not changed since.
  bool unchanged_since(const Stamp& before) const { return looks_like(before) && !before.fresh; }
};

}  // namespace mcpivot
