#include "gateway/active_memory.h"

#include <fmt/format.h>

#include <sstream>

#include "base/files.h"
#include "base/hash.h"
#include "log/log.h"

namespace mcpivot {

namespace {
constexpr std::size_t most_bytes = 1024 * 1024;  // far more than any list of names
}

ActiveMemory::ActiveMemory(Files& files, const std::string& config_file) : files_(files) {
  if (config_file.empty()) return;
  name_ = fmt::format("active-{:016x}", content_hash(absolute_path(config_file).lexically_normal().string()));
  const auto text = files_.load(Files::Shelf::state, name_);
  if (!text || text->size() > most_bytes) return;
  std::istringstream lines(*text);
  active_.emplace();
  for (std::string line; std::getline(lines, line);) active_->insert(line);
}

void ActiveMemory::save(const std::set<std::string>& active) {
  if (name_.empty()) return;
  active_ = active;
  std::string text;
  for (const std::string& name : active) text += name + "\n";
  if (!files_.save(Files::Shelf::state, name_, text))
    log_warn("can't save which servers are active for the next run");
}

}  // namespace mcpivot
