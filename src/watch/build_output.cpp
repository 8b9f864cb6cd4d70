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
  return known == nullptr ? Change::output : judge(*known, known->during, most_in_a_row, path, file, existed);
}

BuildOutput::Change BuildOutput::changed_after_build(const std::string& path, const std::string& file,
                                                     bool existed) {
  Path* const known = find(path);
  if (known == nullptr) return Change::output;
  if (!known->source) return judge(*known, known->during, most_in_a_row, path, file, existed);
  return judge(*known, known->after, most_right_after, path, file, existed);
}

BuildOutput::Change BuildOutput::judge(Path& known, Row& row, unsigned most, const std::string& path,
                                       const std::string& file, bool existed) {
  if (!row.go_on(build_)) known.left_out = false;
  const bool is_first = !std::exchange(known.in_build, true);
  const bool like_source = known.source || source_endings_.contains(ending_of(path));
  if (!like_source && !(is_first && existed)) return Change::output;
  const Content content = content_of(file);
  const auto before = std::exchange(known.content, content.hash);
  const bool as_before = content.hash && content.hash == before;
  if (!content.text || as_before) return Change::output;
  if (row.length <= most) return Change::source;
  return std::exchange(known.left_out, true) ? Change::output : Change::left_out;
}

BuildOutput::Change BuildOutput::changed_between_builds(const std::string& path, bool exists) {
  Path* const known = find(path);
  if (known == nullptr) return Change::source;
  const bool output = !known->source && known->in_build;
  if (output && !exists) return Change::output;
  known->source = true;
  known->during = known->after = Row();
  known->left_out = false;
  known->content.reset();
  if (source_endings_.size() < 1024) source_endings_.emplace(ending_of(path));
  return Change::source;
}

void BuildOutput::is_built_now(const std::string& path) {
  if (const auto known = paths_.find(path); known != paths_.end()) known->second.left_out = false;
}

}  // namespace mcpivot
