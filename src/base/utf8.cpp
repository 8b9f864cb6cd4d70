#include "base/utf8.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "base/utf8_block.h"

namespace mcpivot {
namespace {

bool all_ascii(const char* bytes) {  // eight of them
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, sizeof word);
  return (word & 0x8080808080808080U) == 0;
}

#ifdef __x86_64__

// NOLINTBEGIN(portability-simd-intrinsics)
// At least 64 bytes of text.
__attribute__((target("avx2"))) bool is_utf8_by_blocks(std::string_view text) {
  constexpr std::size_t size = sizeof(__m256i);
  // Nothing before the first block can be read, so a copy of it is checked.
  std::array<char, 3 + size> first{};
  std::memcpy(first.data() + 3, text.data(), size);
  __m256i error = utf8_block::wrong(first.data() + 3);
  bool ascii_before = false;
  for (std::size_t at = size; at + size <= text.size(); at += size) {
    const char* bytes = text.data() + at;
    const bool ascii = _mm256_movemask_epi8(utf8_block::load(bytes)) == 0;
    if (!ascii || !ascii_before) error = _mm256_or_si256(error, utf8_block::wrong(bytes));
    ascii_before = ascii;
  }
  // The rest, together with some bytes that were checked before.
  error = _mm256_or_si256(error, utf8_block::wrong(text.data() + text.size() - size));
  const auto from_end = [&](std::size_t i) { return static_cast<unsigned char>(text[text.size() - i]); };
  const bool unfinished = from_end(1) >= 0xC0 || from_end(2) >= 0xE0 || from_end(3) >= 0xF0;
  return !unfinished && _mm256_testz_si256(error, error) != 0;
}
// NOLINTEND(portability-simd-intrinsics)

#endif

}  // namespace

std::size_t character_length(std::string_view text) {
  auto byte = [&](std::size_t at) { return at < text.size() ? static_cast<unsigned char>(text[at]) : 0U; };
  auto continues = [&](std::size_t at) { return at < text.size() && continues_character(text[at]); };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return text.empty() ? 0 : 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    return continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8_by_bytes(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length =
        text.size() >= 8 && all_ascii(text.data()) ? 8 : character_length(text.substr(0, 4));
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool is_utf8(std::string_view text) {
#ifdef __x86_64__
  static const bool by_blocks = __builtin_cpu_supports("avx2") != 0;
  if (by_blocks && text.size() >= 64) return is_utf8_by_blocks(text);
#endif
  return is_utf8_by_bytes(text);
}

std::string as_utf8(std::string_view text) {
  if (is_utf8(text)) return std::string(text);
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    result += length == 0 ? std::string_view("?") : text.substr(0, length);
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return result;
}

std::string printable(std::string_view text, std::string_view kept) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto byte = static_cast<unsigned char>(text[i]);
    const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0U;
    const bool is_c1 = byte == 0xC2 && next >= 0x80 && next < 0xA0;
    const bool is_control = (byte < ' ' || byte == 0x7f) && kept.find(text[i]) == std::string_view::npos;
    result += is_c1 || is_control ? '?' : text[i];
    if (is_c1) ++i;
  }
  return result;
}

std::string shown_text(std::string_view text, std::size_t most) {
  std::size_t end = std::min(most, text.size());
  if (end < text.size())
    while (end > 0 && end + 4 > most && continues_character(text[end])) --end;
  std::string shown = printable(as_utf8(text.substr(0, end)), {});
  if (text.size() > most) shown += "…";
  return shown;
}

}  // namespace mcpivot
