// A number that tells whether a file still has the content it had. Not for secrets: nobody tries to deceive
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace mcpivot {

class ContentHash {
 public:
  // All pieces but the last must have a length that 8 divides.
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

}  // namespace mcpivot
