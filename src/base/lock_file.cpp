#include "base/lock_file.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

namespace mcpivot {

LockFile::Taken LockFile::take() {
  if (descriptor_ >= 0) return Taken::yes;
  descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
  if (descriptor_ < 0) return Taken::impossible;
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) == 0) return Taken::yes;
  release();
  return Taken::by_another;
}

void LockFile::release() {
  if (descriptor_ >= 0) ::close(descriptor_);
  descriptor_ = -1;
}

}  // namespace mcpivot
