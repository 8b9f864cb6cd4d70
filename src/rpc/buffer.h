// Bytes that were received and may still be waiting to be written elsewhere. A large message is never copied:
// the reader that received it and the outboxes that it waits in share its buffer.
//
// One thread: the count of owners is not atomic.
#pragma once

#include <boost/smart_ptr/intrusive_ptr.hpp>
#include <boost/smart_ptr/intrusive_ref_counter.hpp>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace mcpivot {

class Buffer : public boost::intrusive_ref_counter<Buffer, boost::thread_unsafe_counter> {
 public:
  explicit Buffer(std::size_t capacity) { grow(capacity); }
  ~Buffer() { std::free(data_); }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  char* data() { return data_; }
  std::size_t capacity() const { return capacity_; }
  bool shared() const { return use_count() > 1; }

  // May move the bytes, so only while nobody shares them. realloc, because it moves large blocks by remapping
  // pages instead of copying.
  void grow(std::size_t capacity) {
    auto* moved = static_cast<char*>(std::realloc(data_, capacity));
    if (moved == nullptr) throw std::bad_alloc();
    data_ = moved;
    capacity_ = capacity;
  }

 private:
  char* data_ = nullptr;
  std::size_t capacity_ = 0;
};

using BufferRef = boost::intrusive_ptr<Buffer>;

}  // namespace mcpivot
