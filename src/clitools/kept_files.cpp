#include "clitools/kept_files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace mcpivot {

KeptFiles::~KeptFiles() {
  for (const std::string& path : paths_) ::unlink(path.c_str());
  if (!folder_.empty()) ::rmdir(folder_.c_str());
}

std::expected<KeptFiles::File, std::string> KeptFiles::create(std::string_view name) {
  if (folder_.empty()) {
    const char* temporary = ::getenv("TMPDIR");
    std::string folder =
        fmt::format("{}/mcpivot-XXXXXX", temporary != nullptr && *temporary == '/' ? temporary : "/tmp");
    if (::mkdtemp(folder.data()) == nullptr)
      return std::unexpected(fmt::format("cannot create a folder like {}: {}", folder, std::strerror(errno)));
    folder_ = std::move(folder);
  }
  std::string path = fmt::format("{}/{}-{}.out", folder_, name, ++count_);
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor < 0)
    return std::unexpected(fmt::format("cannot create the file {}: {}", path, std::strerror(errno)));
  paths_.push_back(path);
  if (paths_.size() > most_files) {
    ::unlink(paths_.front().c_str());
    paths_.pop_front();
  }
  return File{descriptor, std::move(path)};
}

}  // namespace mcpivot
