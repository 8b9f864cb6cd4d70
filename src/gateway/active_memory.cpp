#include "gateway/active_memory.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "log/log.h"
#include "proc/user_folders.h"
#include "watch/absolute_path.h"
#include "watch/content_hash.h"

namespace mcpivot {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t most_bytes = 1024 * 1024;  // no list of names comes near
}

ActiveMemory::ActiveMemory(const std::string& config_file) {
  const std::string folder = state_folder();
  if (config_file.empty() || folder.empty()) return;
  ContentHash hash;
  hash.feed(absolute_path(config_file).lexically_normal().string());
  path_ = fmt::format("{}/active-{:016x}", folder, hash.value());
}

std::optional<std::set<std::string>> ActiveMemory::load() const {
  std::ifstream file(path_);
  if (path_.empty() || !file) return std::nullopt;
  std::set<std::string> active;
  std::size_t size = 0;
  for (std::string line; size < most_bytes && std::getline(file, line); size += line.size())
    active.insert(line);
  return active;
}

void ActiveMemory::save(const std::set<std::string>& active) const {
  if (path_.empty()) return;
  std::error_code error;
  fs::create_directories(fs::path(path_).parent_path(), error);
  const std::string draft = path_ + ".new";
  {
    std::ofstream file(draft);
    for (const std::string& name : active) file << name << "\n";
  }
  fs::permissions(draft, fs::perms::owner_read | fs::perms::owner_write, error);
  fs::rename(draft, path_, error);
  if (error) log_warn("cannot remember which servers are active in {}: {}", path_, error.message());
}

}  // namespace mcpivot
