// Two hashes: a fast one, to see whether a file's content has changed, where nobody tries to forge it; and
// SHA-256, which reveals nothing about the secrets that go into it.
//
// Any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace mcpivot {

class ContentHash {
 public:
  // The length of every piece but the last must be a multiple of 8.
  void feed(std::string_view piece) {
    size_ += piece.size();
    while (!piece.empty()) {
      const std::size_t taken = piece.size() < 8 ? piece.size() : 8;
      std::uint64_t word = 0;
      std::memcpy(&word, piece.data(), taken);
      value_ = (value_ ^ word) * 0x9E3779B97F4A7C15U;
      value_ ^= value_ >> 32U;
      piece.remove_prefix(taken);
    }
  }
  std::uint64_t value() const { return value_ ^ size_; }

 private:
  std::uint64_t value_ = 0xCBF29CE484222325U;
  std::uint64_t size_ = 0;
};

inline std::uint64_t content_hash(std::string_view text) {
  ContentHash hash;
  hash.feed(text);
  return hash.value();
}

// As 64 hexadecimal digits.
std::string sha256(std::string_view text);
// In 32 bytes.
std::string sha256_bytes(std::string_view text);

}  // namespace mcpivot
