// An open file, pipe or socket that is closed with the object. A stream of the event loop doesn't own its
// descriptor until the kernel has agreed to watch it: until then, this does.
//
// One thread.
#pragma once

#include <unistd.h>

#include <utility>

namespace mcpivot {

class Descriptor {
 public:
  explicit Descriptor(int descriptor = -1) : descriptor_(descriptor) {}
  ~Descriptor() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }
  Descriptor(Descriptor&& other) noexcept : descriptor_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }

 private:
  int descriptor_;
};

// Throws if it can't be watched.
template <class Stream>
void assign(Stream& stream, Descriptor descriptor) {
  stream.assign(descriptor.get());
  descriptor.release();
}

}  // namespace mcpivot
