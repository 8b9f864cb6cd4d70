#include "world/real_files.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <utility>
#include <vector>

#include "base/files.h"
#include "base/user_folders.h"
#include "log/log.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t longest_file = 16'000'000;
constexpr std::size_t most_cached = 200;

std::string folder_of(Files::Shelf shelf) {
  return shelf == Files::Shelf::cache ? cache_folder() : state_folder();
}

// Deletes the oldest when there are too many: every build of a server leaves one behind.
void prune(const std::string& folder) {
  std::vector<std::pair<fs::file_time_type, fs::path>> files;
  std::error_code error;
  for (fs::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error))
    files.emplace_back(entry->last_write_time(error), entry->path());
  if (files.size() <= most_cached) return;
  std::ranges::sort(files);
  for (std::size_t i = 0; i < files.size() - most_cached; ++i) fs::remove(files[i].second, error);
}

}  // namespace

std::optional<FileFacts> RealFiles::program_of(const Command& command) const {
  return look_at(own_file(command));
}

std::optional<FileFacts> RealFiles::stoppable_program_of(const Command& command) const {
  return stoppable_program(command);
}

std::optional<std::string> RealFiles::load(Shelf shelf, const std::string& name) const {
  const std::string folder = folder_of(shelf);
  if (folder.empty()) return std::nullopt;
  auto text = read_small_file(fmt::format("{}/{}", folder, name), longest_file);
  return text ? std::optional(std::move(*text)) : std::nullopt;
}

bool RealFiles::save(Shelf shelf, const std::string& name, std::string_view text) {
  const std::string folder = folder_of(shelf);
  if (folder.empty() || text.size() > longest_file) return false;
  std::error_code error;
  fs::create_directories(folder, error);
  if (shelf == Shelf::cache) ::chmod(folder.c_str(), 0700);
  const std::string path = fmt::format("{}/{}", folder, name);
  if (const auto written = replace_file(path, text); !written) {
    log_debug("{} {}", path, written.error());
    return false;
  }
  if (shelf == Shelf::cache) prune(folder);
  return true;
}

}  // namespace mcpivot
