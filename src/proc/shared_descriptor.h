// A descriptor whose open file we share with our parent: a shell, say. Nonblocking mode belongs to that file,
// so it is given back as it was.
//
// One thread.
#pragma once

#include <fcntl.h>

namespace mcpivot {

class SharedDescriptor {
 public:
  explicit SharedDescriptor(int descriptor) : descriptor_(descriptor), flags_(::fcntl(descriptor, F_GETFL)) {}
  ~SharedDescriptor() { ::fcntl(descriptor_, F_SETFL, flags_); }
  SharedDescriptor(const SharedDescriptor&) = delete;
  SharedDescriptor& operator=(const SharedDescriptor&) = delete;
  // One of our own, which may be made nonblocking. -1: there is none.
  int duplicate() const { return ::fcntl(descriptor_, F_DUPFD_CLOEXEC, 3); }

 private:
  int descriptor_;
  int flags_;
};

}  // namespace mcpivot
