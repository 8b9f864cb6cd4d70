#include "rpc/json_string.h"

#include <bit>
#include <cstdint>
#include <cstring>

#include "base/utf8.h"
#include "base/utf8_block.h"

namespace mcpivot {
namespace {

constexpr const char* unterminated = "a string without its closing quote";
constexpr const char* control_character = "a control character in a string";
constexpr const char* unknown_escape = "an unknown escape in a string";
constexpr const char* short_escape = "a \\u escape without four hexadecimal digits";

bool is_hex(char c) {
  return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

// Four hexadecimal digits in [at, end)?
bool four_hex(const char* at, const char* end) {
  if (end - at < 4) return false;
  return is_hex(at[0]) && is_hex(at[1]) && is_hex(at[2]) && is_hex(at[3]);
}

bool may_follow_backslash(char c) {
  return c != '\0' && std::strchr("\"\\/bfnrtu", c) != nullptr;
}

// Returns whether there are non-ASCII bytes.
bool scan_plainly(StringScan& scan, const char* end) {
  bool non_ascii = false;
  for (const char*& at = scan.at; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"') return non_ascii;
    if (byte < 0x20) {
      scan.error = control_character;
      return false;
    }
    non_ascii |= byte >= 0x80;
    if (byte != '\\') continue;
    scan.escaped = true;
    if (++at == end) break;
    if (!may_follow_backslash(*at)) {
      scan.error = unknown_escape;
      return false;
    }
    if (*at == 'u' && !four_hex(at + 1, end)) {
      scan.error = short_escape;
      return false;
    }
  }
  scan.error = unterminated;
  return false;
}

#if defined(__x86_64__)

// For the processors that scan blocks. All that have AVX2 also have the bit instructions, which save a tenth
// of the time.
#define FOR_BLOCKS __attribute__((target("avx2,bmi,bmi2,lzcnt")))

constexpr std::uint64_t even_places = 0x5555'5555'5555'5555;

// Which characters of a block of 64 are escaped by a backslash before them, not counting backslashes
// themselves. `carry`: the first one is, because of the block before.
//
// A character is escaped if the run of backslashes before it has odd length. Adding a run's first bit to the
// run carries over to the position after it; so runs that start at even positions and end before odd ones are
// odd, and vice versa.
FOR_BLOCKS inline std::uint64_t escaped_characters(std::uint64_t backslashes, std::uint64_t carry) {
  const std::uint64_t first = carry & ~backslashes;  // escaped, and not a backslash
  backslashes &= ~carry;                             // an escaped backslash starts no run
  const std::uint64_t starts = backslashes & ~(backslashes << 1);
  const std::uint64_t behind_even = backslashes + (starts & even_places);
  const std::uint64_t behind_odd = backslashes + (starts & ~even_places);
  return first | (((behind_even & ~even_places) | (behind_odd & even_places)) & ~backslashes);
}

// The carry for the next block: 1 if this one ends with a run of odd length. A block of nothing but
// backslashes leaves it as it was. (Not computed from the sums above: each block would have to wait for the
// one before it.)
FOR_BLOCKS inline std::uint64_t next_carry(std::uint64_t backslashes, std::uint64_t carry) {
  const int run = std::countl_one(backslashes);
  return run == 64 ? carry : static_cast<std::uint64_t>(run & 1);
}

// All bits up to the lowest one that is set, or all.
FOR_BLOCKS inline std::uint64_t up_to_first(std::uint64_t set) {
  return set ^ (set - 1);
}

FOR_BLOCKS std::uint64_t bits(__m256i low, __m256i high) {
  return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
         (static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32);
}

FOR_BLOCKS __m256i equal(__m256i bytes, char c) {
  return _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(c));
}

// A quote or a control character.
FOR_BLOCKS __m256i stop(__m256i bytes) {
  const __m256i last_control = _mm256_set1_epi8(0x1f);
  return _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, last_control), last_control),
                         equal(bytes, '"'));
}

// May follow a backslash: one of " / b f n r t. (u is checked separately; escaped backslashes never get
// here.) Looked up by the two halves of the byte: one bit for each upper half that occurs, and which of them
// go with a lower half.
FOR_BLOCKS __m256i escapable(__m256i bytes) {
  constexpr char h2 = 1, h6 = 2, h7 = 4;
  const __m256i by_lower = _mm256_setr_epi8(0, 0, h2 | h6 | h7, 0, h7, 0, h6, 0, 0, 0, 0, 0, 0, 0, h6, h2,  //
                                            0, 0, h2 | h6 | h7, 0, h7, 0, h6, 0, 0, 0, 0, 0, 0, 0, h6, h2);
  const __m256i by_upper = _mm256_setr_epi8(0, 0, h2, 0, 0, 0, h6, h7, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                            0, 0, h2, 0, 0, 0, h6, h7, 0, 0, 0, 0, 0, 0, 0, 0);
  const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
  const __m256i both =
      _mm256_and_si256(_mm256_shuffle_epi8(by_lower, bytes), _mm256_shuffle_epi8(by_upper, upper));
  return _mm256_cmpgt_epi8(both, _mm256_setzero_si256());
}

// The first character at these positions that may not follow a backslash, or null; \u with its four digits
// may. Rare, so it must not take registers from the scan.
[[gnu::noinline]] const char* first_bad_escape(const char* at, const char* end, std::uint64_t doubtful) {
  for (; doubtful != 0; doubtful &= doubtful - 1) {
    const char* escaped = at + std::countr_zero(doubtful);
    if (escaped >= end || *escaped != 'u' || !four_hex(escaped + 1, end)) return escaped;
  }
  return nullptr;
}

StringScan stopped(const char* at, const char* error) {
  return {.at = at, .error = error};
}

// Which of these 64 bytes are invalid UTF-8, given those before them.
FOR_BLOCKS std::uint64_t wrong_utf8(const char* bytes) {
  const __m256i none = _mm256_setzero_si256();
  return ~bits(_mm256_cmpeq_epi8(utf8_block::wrong(bytes), none),
               _mm256_cmpeq_epi8(utf8_block::wrong(bytes + 32), none));
}

// Three bytes before `at` may be read, and 67 before `end`.
FOR_BLOCKS StringScan scan_blocks(const char* at, const char* end) {
  std::uint64_t carry = 0;
  std::uint64_t any_backslash = 0;
  std::uint64_t any_wrong = 0;
  unsigned unfinished = 0;  // non-ASCII bytes among the last three
  StringScan result;
  // Looks at 64 bytes, the first of which may have been seen before. True: the string, or the scan, ends
  // here.
  const auto look = [&](const char* bytes, unsigned seen) FOR_BLOCKS __attribute__((always_inline)) {
    const __m256i low = utf8_block::load(bytes);
    const __m256i high = utf8_block::load(bytes + 32);
    const std::uint64_t backslashes = bits(equal(low, '\\'), equal(high, '\\')) >> seen;
    std::uint64_t stops = bits(stop(low), stop(high)) >> seen;
    if ((backslashes | carry) != 0) {
      const std::uint64_t escaped = escaped_characters(backslashes, carry);
      carry = next_carry(backslashes, carry);
      // An escaped control character isn't a stop, but isn't a known escape either.
      stops &= ~escaped;
      any_backslash |= backslashes & up_to_first(stops);
      const std::uint64_t known = bits(escapable(low), escapable(high)) >> seen;
      const std::uint64_t doubtful = escaped & up_to_first(stops) & ~known;
      if (doubtful != 0) {
        if (const char* bad = first_bad_escape(at, end, doubtful)) {
          result = bad == end ? stopped(end, unterminated)
                              : stopped(bad, *bad == 'u' ? short_escape : unknown_escape);
          return true;
        }
      }
    }
    const __m256i both = _mm256_or_si256(low, high);
    if ((static_cast<unsigned>(_mm256_movemask_epi8(both)) | unfinished) != 0) {
      any_wrong |= (wrong_utf8(bytes) >> seen) & up_to_first(stops);
      unfinished = static_cast<unsigned>(_mm256_movemask_epi8(high)) >> 29;
    }
    if (stops == 0) return false;
    at += std::countr_zero(stops);
    result = {.at = at,
              .error = *at == '"' ? nullptr : control_character,
              .escaped = any_backslash != 0,
              .utf8 = any_wrong == 0};
    return true;
  };
  for (; end - at >= 64; at += 64)
    if (look(at, 0)) return result;
  if (at < end && look(end - 64, static_cast<unsigned>(64 - (end - at)))) return result;
  return stopped(end, unterminated);
}
#undef FOR_BLOCKS

const bool has_blocks = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                        __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("lzcnt");

#else

constexpr bool has_blocks = false;
StringScan scan_blocks(const char* at, const char* end) {
  return scan_string_plainly(at, end);
}

#endif

}  // namespace

StringScan scan_string(const char* begin, const char* at, const char* end) {
  const bool by_blocks = has_blocks && at - begin >= 3 && end - begin >= 67;
  return by_blocks ? scan_blocks(at, end) : scan_string_plainly(at, end);
}

StringScan scan_string_plainly(const char* at, const char* end) {
  StringScan scan{.at = at};
  if (scan_plainly(scan, end)) scan.utf8 = is_utf8({at, static_cast<std::size_t>(scan.at - at)});
  return scan;
}

}  // namespace mcpivot
