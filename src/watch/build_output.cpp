#include "watch/build_output.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <utility>
#include <vector>

#include "base/hash.h"

namespace mcpivot {
namespace {

struct Content {
  bool text = false;
  std::optional<std::uint64_t> hash{};
};

// Nothing if it isn't a regular file, so that a pipe can't block us.
Content content_of(const std::string& file) {
  struct stat info{};
  if (::lstat(file.c_str(), &info) != 0) return {.text = true};  // gone; somebody may have deleted it
  const int descriptor = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (descriptor < 0) return {};
  Content content;
  if (::fstat(descriptor, &info) == 0 && S_ISREG(info.st_mode)) {
    constexpr std::size_t beginning = 8 * 1024;
    const auto length = static_cast<std::size_t>(info.st_size);
    const bool small = length <= BuildOutput::most_read;
    std::vector<char> bytes(small ? length : beginning);
    const ssize_t size = ::read(descriptor, bytes.data(), bytes.size());
    const std::string_view all(bytes.data(), size > 0 ? static_cast<std::size_t>(size) : 0);
    content.text = all.substr(0, beginning).find('\0') == std::string_view::npos;
    if (small) content.hash = content_hash(all);
  }
  ::close(descriptor);
  return content;
}

// ".c" of "a/b.c"; "" if there is none.
std::string_view ending_of(std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const std::size_t dot = name.rfind('.');
  return dot == std::string_view::npos || dot == 0 ? "" : name.substr(dot);
}

}  // namespace

BuildOutput::Path* BuildOutput::find(const std::string& path) {
  const auto found = paths_.find(path);
  if (found != paths_.end()) return &found->second;
  return paths_.size() < most_paths ? &paths_[path] : nullptr;
}

BuildOutput::Change BuildOutput::changed_during_build(const std::string& path, const std::string& file,
                                                      bool existed) {
  Path* const known = find(path);
  if (known == nullptr) return Change::output;
  known->in_a_row = known->last_build + 1 == build_ ? known->in_a_row + 1 : 1;
  known->last_build = build_;
  ++known->builds;
  const bool like_source = known->source || source_endings_.contains(ending_of(path));
  const unsigned times = known->source ? known->in_a_row : known->builds;
  const bool may_be_source = like_source ? times <= most_in_a_row + 1 : times == 1 && existed;
  if (!may_be_source) return Change::output;
  const Content content = content_of(file);
  const auto before = std::exchange(known->content, content.hash);
  const bool as_before = content.hash && content.hash == before;
  if (!content.text || as_before) return Change::output;
  return times <= most_in_a_row ? Change::source : Change::left_out;
}

BuildOutput::Change BuildOutput::changed_after_build(const std::string& path, const std::string& file,
                                                     bool existed) {
  const auto found = paths_.find(path);
  if (found == paths_.end() || !found->second.source) return changed_during_build(path, file, existed);
  const Content content = content_of(file);
  const bool as_before = content.hash && content.hash == found->second.content;
  if (!content.text || as_before) return Change::output;
  return changed_between_builds(path, true);
}

BuildOutput::Change BuildOutput::changed_between_builds(const std::string& path, bool exists) {
  Path* const known = find(path);
  if (known == nullptr) return Change::source;
  const bool output = !known->source && known->builds > 0;
  if (output && !exists) return Change::output;
  known->source = true;
  known->in_a_row = 0;
  known->content.reset();
  if (source_endings_.size() < 1024) source_endings_.emplace(ending_of(path));
  return Change::source;
}

}  // namespace mcpivot
