#include "base/secret.h"

#include <openssl/rand.h>

#include <array>
#include <stdexcept>

namespace mcpivot {

std::string random_text() {
  std::array<unsigned char, 16> bytes{};
  // Without randomness there is no safe way to continue.
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system provides no random numbers");
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (const unsigned char byte : bytes) {
    text += digits[byte >> 4U];
    text += digits[byte & 15U];
  }
  return text;
}

}  // namespace mcpivot
