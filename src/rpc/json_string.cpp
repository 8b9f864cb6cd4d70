#include "rpc/json_string.h"

#include <bit>
#include <cstdint>
#include <cstring>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

void scan_plainly(StringScan& scan, const char* end) {
  for (const char*& at = scan.at; at < end; ++at) {
    const auto byte = static_cast<unsigned char>(*at);
    if (byte == '"') return;
    if (byte < 0x20) {
      scan.error = control_character;
      return;
    }
    scan.non_ascii |= byte >= 0x80;
    if (byte != '\\') continue;
    scan.escaped = true;
    if (++at == end) break;
    if (!may_follow_backslash(*at)) {
      scan.error = unknown_escape;
      return;
    }
    if (*at == 'u' && !four_hex(at + 1, end)) {
      scan.error = short_escape;
      return;
    }
  }
  scan.error = unterminated;
}

#if defined(__x86_64__)

constexpr std::uint64_t even_places = 0x5555'5555'5555'5555;

// Which characters of a block of 64 are escaped by a backslash before them, not counting backslashes
// themselves. `carry` says whether the first one is, because of the block before, and then whether the next
// block's first is.
//
// A character is escaped if the run of backslashes before it has odd length. Adding a run's first bit to the
// run carries over to the place behind it; so runs that start at even places and end before odd ones are odd,
// and the other way round.
std::uint64_t escaped_characters(std::uint64_t backslashes, std::uint64_t& carry) {
  const std::uint64_t first = carry & ~backslashes;  // escaped, and no backslash
  backslashes &= ~carry;                             // an escaped backslash starts no run
  const std::uint64_t starts = backslashes & ~(backslashes << 1);
  std::uint64_t behind_even = 0;
  std::uint64_t behind_odd = 0;
  __builtin_add_overflow(backslashes, starts & even_places, &behind_even);
  carry = __builtin_add_overflow(backslashes, starts & ~even_places, &behind_odd) ? 1 : 0;
  return first | (((behind_even & ~even_places) | (behind_odd & even_places)) & ~backslashes);
}

// 64 bytes, and questions about each of them, answered as bits.
struct Block {
  __m256i low, high;

  __attribute__((target("avx2"))) static std::uint64_t bits(__m256i low, __m256i high) {
    return static_cast<std::uint32_t>(_mm256_movemask_epi8(low)) |
           (static_cast<std::uint64_t>(static_cast<std::uint32_t>(_mm256_movemask_epi8(high))) << 32);
  }
  __attribute__((target("avx2"))) std::uint64_t equal(char c) const {
    const __m256i all = _mm256_set1_epi8(c);
    return bits(_mm256_cmpeq_epi8(low, all), _mm256_cmpeq_epi8(high, all));
  }
  // A quote or a control character.
  __attribute__((target("avx2"))) static __m256i stop(__m256i bytes) {
    const __m256i last_control = _mm256_set1_epi8(0x1f);
    return _mm256_or_si256(_mm256_cmpeq_epi8(_mm256_max_epu8(bytes, last_control), last_control),
                           _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8('"')));
  }
  __attribute__((target("avx2"))) std::uint64_t stop() const { return bits(stop(low), stop(high)); }
  __attribute__((target("avx2"))) std::uint64_t non_ascii() const { return bits(low, high); }

  // May follow a backslash: one of " / b f n r t. (u is looked at by itself; escaped backslashes never get
  // here.) Looked up by the two halves of the byte: a bit for each upper half that occurs, and which of them
  // go with a lower half.
  __attribute__((target("avx2"))) static __m256i escapable(__m256i bytes) {
    constexpr char h2 = 1, h6 = 2, h7 = 4;
    const __m256i by_lower =
        _mm256_setr_epi8(0, 0, h2 | h6 | h7, 0, h7, 0, h6, 0, 0, 0, 0, 0, 0, 0, h6, h2,  //
                         0, 0, h2 | h6 | h7, 0, h7, 0, h6, 0, 0, 0, 0, 0, 0, 0, h6, h2);
    const __m256i by_upper = _mm256_setr_epi8(0, 0, h2, 0, 0, 0, h6, h7, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                              0, 0, h2, 0, 0, 0, h6, h7, 0, 0, 0, 0, 0, 0, 0, 0);
    const __m256i upper = _mm256_and_si256(_mm256_srli_epi16(bytes, 4), _mm256_set1_epi8(0x0f));
    const __m256i both =
        _mm256_and_si256(_mm256_shuffle_epi8(by_lower, bytes), _mm256_shuffle_epi8(by_upper, upper));
    return _mm256_cmpgt_epi8(both, _mm256_setzero_si256());
  }
  __attribute__((target("avx2"))) std::uint64_t escapable() const {
    return bits(escapable(low), escapable(high));
  }
};

// The first of the characters at these places that may not follow a backslash, or null: \u with its four
// digits may.
const char* first_bad_escape(const char* at, const char* end, std::uint64_t doubtful) {
  for (; doubtful != 0; doubtful &= doubtful - 1) {
    const char* escaped = at + std::countr_zero(doubtful);
    if (escaped >= end || *escaped != 'u' || !four_hex(escaped + 1, end)) return escaped;
  }
  return nullptr;
}

StringScan stopped(const char* at, const char* error) {
  return {.at = at, .error = error};
}

__attribute__((target("avx2"))) StringScan scan_blocks(const char* at, const char* end) {
  std::uint64_t carry = 0;
  std::uint64_t any_backslash = 0;
  __m256i passed = _mm256_setzero_si256();  // all blocks so far, one over the other
  char padded[64];
  while (true) {
    // The last bytes are looked at in a copy, with control characters behind them: those end the scan.
    const char* bytes = at;
    if (end - at < 64) {
      std::memset(padded, 0, sizeof(padded));
      std::memcpy(padded, at, static_cast<std::size_t>(end - at));
      bytes = padded;
    }
    const Block block{_mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes)),
                      _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 32))};
    const std::uint64_t backslashes = block.equal('\\');
    std::uint64_t escaped = carry;
    if ((backslashes | carry) != 0) escaped = escaped_characters(backslashes, carry);
    // An escaped control character is no stop, but no known escape either.
    const std::uint64_t stops = block.stop() & ~escaped;
    const std::uint64_t before = stops == 0 ? ~std::uint64_t{0} : (stops & -stops) - 1;
    any_backslash |= backslashes & before;
    if ((escaped & before) != 0) {
      const std::uint64_t doubtful = escaped & before & ~block.escapable();
      if (doubtful != 0) {
        if (const char* bad = first_bad_escape(at, end, doubtful)) {
          if (bad >= end) return stopped(end, unterminated);
          return stopped(bad, *bad == 'u' ? short_escape : unknown_escape);
        }
      }
    }
    if (stops == 0) {
      passed = _mm256_or_si256(passed, _mm256_or_si256(block.low, block.high));
      at += 64;
      continue;
    }
    at += std::countr_zero(stops);
    if (at >= end) return stopped(end, unterminated);
    return {.at = at,
            .error = *at == '"' ? nullptr : control_character,
            .escaped = any_backslash != 0,
            .non_ascii = ((block.non_ascii() & before) | Block::bits(passed, passed)) != 0};
  }
}

const bool has_avx2 = __builtin_cpu_supports("avx2");

#else

constexpr bool has_avx2 = false;
StringScan scan_blocks(const char* at, const char* end) {
  return scan_string_plainly(at, end);
}

#endif

}  // namespace

StringScan scan_string(const char* at, const char* end) {
  return has_avx2 ? scan_blocks(at, end) : scan_string_plainly(at, end);
}

StringScan scan_string_plainly(const char* at, const char* end) {
  StringScan scan{.at = at};
  scan_plainly(scan, end);
  return scan;
}

}  // namespace mcpivot
