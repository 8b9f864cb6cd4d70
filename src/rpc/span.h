// Where something is in a message, as offsets into its raw bytes. This lets us change an id without touching,
// or even copying, the rest.
//
// Plain data; any thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace mcpivot {

struct Span {
  std::uint32_t begin = 0;
  std::uint32_t size = 0;

  // No JSON value is empty, so an empty span means that the value is absent.
  explicit operator bool() const { return size != 0; }
  std::uint32_t end() const { return begin + size; }
  std::string_view of(std::string_view raw) const { return raw.substr(begin, size); }
  bool operator==(const Span&) const = default;
};

// The span of a part of the raw bytes; an empty part is absent.
inline Span span_of(std::string_view raw, std::string_view part) {
  if (part.empty()) return {};
  return {static_cast<std::uint32_t>(part.data() - raw.data()), static_cast<std::uint32_t>(part.size())};
}

}  // namespace mcpivot
