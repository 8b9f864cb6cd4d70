#include "install/install_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <iterator>
#include <system_error>
#include <utility>

#include "install/install_record.h"
#include "install/made_folders.h"

namespace mcpivot {
namespace {

namespace fs = std::filesystem;
using std::string;

}  // namespace

InstallLock::InstallLock() {
  const string folder = records_folder();
  if (folder.empty()) return;
  file_ = folder + "/lock";
  while (!take()) {
  }
}

// False: the previous holder deleted the file when it was done.
bool InstallLock::take() {
  const fs::path folder = fs::path(file_).parent_path();
  if (const string made = outermost_missing(file_); !made.empty()) made_folder_ = made;
  std::error_code error;
  std::error_code ignored;
  fs::create_directories(folder, error);
  if (error) return true;  // do without a lock if there can't be one
  fs::permissions(folder, fs::perms::owner_all, ignored);
  descriptor_ = ::open(file_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor_ < 0) return errno != ENOENT;
  while (::flock(descriptor_, LOCK_EX) != 0 && errno == EINTR) {
  }
  struct stat ours{};
  struct stat there{};
  const bool still_there = ::fstat(descriptor_, &ours) == 0 && ::stat(file_.c_str(), &there) == 0 &&
                           ours.st_dev == there.st_dev && ours.st_ino == there.st_ino;
  if (!still_there) ::close(std::exchange(descriptor_, -1));
  return still_there;
}

void InstallLock::made(const string& folder) {
  if (!folder.empty()) made_folder_ = folder;
}

InstallLock::~InstallLock() {
  if (descriptor_ < 0) return;
  std::error_code error;
  const fs::directory_iterator entries(fs::path(file_).parent_path(), error);
  const bool alone = !error && std::distance(begin(entries), end(entries)) == 1;
  if (alone && !made_folder_.empty()) {
    ::unlink(file_.c_str());
    remove_made_folders(file_, made_folder_);
  }
  ::close(descriptor_);
}

}  // namespace mcpivot
