#include "schema/pattern.h"

#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"  // within the library, with sanitizers
#endif
#pragma GCC diagnostic ignored "-Wold-style-cast"  // the library casts this in the old style:
// A match that takes more steps than this is abandoned.
#define BOOST_REGEX_MAX_STATE_COUNT 5'000'000
#include <boost/regex.hpp>
#include <optional>

namespace mcpivot::schema {
namespace {

// Code points: wchar_t holds one here, and the engine supports no other type that does.
static_assert(sizeof(wchar_t) == 4);

std::wstring code_points(std::string_view text) {
  std::wstring points;
  points.reserve(text.size());
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte & 0xC0U) == 0x80U && !points.empty())
      points.back() = static_cast<wchar_t>((static_cast<unsigned>(points.back()) << 6U) | (byte & 0x3FU));
    else
      points += static_cast<wchar_t>(byte < 0xC0U   ? byte
                                     : byte < 0xE0U ? byte & 0x1FU
                                     : byte < 0xF0U ? byte & 0x0FU
                                                    : byte & 0x07U);
  }
  return points;
}

// Rewrites an ECMA-262 pattern for the engine. Empty: it uses something that the engine lacks.
class Translation {
 public:
  explicit Translation(std::wstring_view pattern) : left_(pattern) {}

  std::optional<std::wstring> run() {
    while (!left_.empty()) {
      const wchar_t c = next();
      if (c == L'\\') {
        if (!escape()) return {};
      } else if (in_class_) {
        in_class_ = c != L']';
        if (c == L'[') out_ += L'\\';  // "[[:alpha:]]" has no meaning of its own
        out_ += c;
      } else if (c == L'[') {
        open_class();
      } else {
        out_ += c;
      }
    }
    return std::move(out_);
  }

 private:
  wchar_t next() {
    const wchar_t c = left_.front();
    left_.remove_prefix(1);
    return c;
  }

  void open_class() {
    if (left_.starts_with(L']')) {
      left_.remove_prefix(1);
      out_ += L"(?!)";  // no character
    } else if (left_.starts_with(L"^]")) {
      left_.remove_prefix(2);
      out_ += L"[\\x{0}-\\x{10FFFF}]";  // any
    } else {
      in_class_ = true;
      out_ += L'[';
      if (left_.starts_with(L'^')) out_ += next();
    }
  }

  bool escape() {
    if (left_.empty()) return false;
    const wchar_t c = next();
    if (c == L'p' || c == L'P') return false;  // the engine would read \p{L} as lower case
    if (c == L'u') return unicode();
    constexpr std::wstring_view same = L"dDwWsSbBxcfnrtvk0123456789";
    const bool letter = (c >= L'a' && c <= L'z') || (c >= L'A' && c <= L'Z');
    const bool special_to_engine = c == L'<' || c == L'>' || c == L'`' || c == L'\'';
    if ((!letter && !special_to_engine) || same.find(c) != std::wstring_view::npos) out_ += L'\\';
    out_ += c;
    return true;
  }

  std::optional<unsigned> hex(std::size_t digits) {
    if (digits == 0 || digits > 6 || left_.size() < digits) return {};
    unsigned value = 0;
    for (const wchar_t c : left_.substr(0, digits)) {
      if (c >= L'0' && c <= L'9')
        value = value * 16 + static_cast<unsigned>(c - L'0');
      else if (c >= L'a' && c <= L'f')
        value = value * 16 + static_cast<unsigned>(c - L'a') + 10;
      else if (c >= L'A' && c <= L'F')
        value = value * 16 + static_cast<unsigned>(c - L'A') + 10;
      else
        return {};
    }
    left_.remove_prefix(digits);
    return value;
  }

  // After "\u": four digits, two such for a pair of surrogates, or any number of digits in braces.
  bool unicode() {
    std::optional<unsigned> point;
    if (left_.starts_with(L'{')) {
      const std::size_t end = left_.find(L'}');
      if (end == std::wstring_view::npos) return false;
      left_.remove_prefix(1);
      point = hex(end - 1);
      if (point) left_.remove_prefix(1);
    } else {
      point = hex(4);
      if (point && *point >= 0xD800 && *point < 0xDC00 && left_.starts_with(L"\\u")) {
        left_.remove_prefix(2);
        const auto low = hex(4);
        if (!low || *low < 0xDC00 || *low > 0xDFFF) return false;
        point = 0x10000 + ((*point - 0xD800) << 10U) + (*low - 0xDC00);
      }
    }
    if (!point || *point > 0x10FFFF) return false;
    constexpr std::wstring_view digits = L"0123456789ABCDEF";
    out_ += L"\\x{";
    for (unsigned shift = 24; shift > 0; shift -= 4) out_ += digits[(*point >> (shift - 4)) & 0xFU];
    out_ += L'}';
    return true;
  }

  std::wstring_view left_;
  std::wstring out_;
  bool in_class_ = false;
};

}  // namespace

struct Pattern::Engine {
  boost::wregex regex;
};

Pattern::Pattern(std::string_view text) : text_(text) {
  const std::wstring points = code_points(text);
  const auto translated = Translation(points).run();
  if (!translated) return;
  try {
    engine_ = std::make_unique<const Engine>(Engine{boost::wregex(*translated, boost::wregex::ECMAScript)});
  } catch (const std::exception&) {
    engine_.reset();
  }
}
Pattern::Pattern(Pattern&& other) noexcept = default;
Pattern& Pattern::operator=(Pattern&& other) noexcept = default;
Pattern::~Pattern() = default;

Pattern::Match Pattern::find_in(std::string_view text) const {
  if (engine_ == nullptr) return Match::yes;
  const std::wstring points = code_points(text);
  try {
    // As in ECMA-262: "^" and "$" are the ends of the text, and "." doesn't match a line end.
    const auto flags = boost::match_default | boost::match_single_line | boost::match_not_dot_newline;
    return boost::regex_search(points, engine_->regex, flags) ? Match::yes : Match::no;
  } catch (const std::exception&) {
    return Match::given_up;
  }
}

std::optional<std::vector<Pattern::Part>> Pattern::parts_in(std::string_view text) const {
  if (engine_ == nullptr) return {};
  std::vector<Part> parts;
  const std::wstring points = code_points(text);
  // Where each code point begins; only where there are others than ASCII.
  std::vector<std::size_t> begins;
  if (points.size() != text.size()) {
    for (std::size_t i = 0; i < text.size(); ++i)
      if ((static_cast<unsigned char>(text[i]) & 0xC0U) != 0x80U || begins.empty()) begins.push_back(i);
    begins.push_back(text.size());
  }
  const auto place = [&](std::size_t point) { return begins.empty() ? point : begins[point]; };
  try {
    const auto flags = boost::match_default | boost::match_single_line | boost::match_not_dot_newline;
    for (boost::wsregex_iterator match(points.begin(), points.end(), engine_->regex, flags), end;
         match != end; ++match) {
      const auto begin = static_cast<std::size_t>(match->position());
      const auto size = static_cast<std::size_t>(match->length());
      if (size > 0) parts.push_back({place(begin), place(begin + size) - place(begin)});
    }
  } catch (const std::exception&) {
    return {};
  }
  return parts;
}

}  // namespace mcpivot::schema
