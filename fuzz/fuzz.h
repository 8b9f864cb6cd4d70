// What the fuzz targets share: a check that ends the run with a message, and ways to split bytes into pieces.
// Each target compares a parser with a plainer one, or with itself fed in other pieces; not crashing is the
// least of it.
//
// One thread.
#pragma once

#include <fuzzer/FuzzedDataProvider.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot::fuzz {

// A promise was broken: libFuzzer keeps the input and ends the run.
inline void check(bool kept, const char* promise) {
  if (kept) return;
  std::fprintf(stderr, "broken: %s\n", promise);
  std::abort();
}

// The same, and what the two sides produced.
inline void check_same(std::string_view one, std::string_view other, const char* promise) {
  if (one == other) return;
  std::fprintf(stderr, "broken: %s\n--- one\n%.*s\n--- other\n%.*s\n", promise, static_cast<int>(one.size()),
               one.data(), static_cast<int>(other.size()), other.data());
  std::abort();
}

// Splits a text into pieces of the given sizes, repeatedly; without sizes, into single bytes.
inline std::vector<std::string_view> pieces(std::string_view text, std::string_view cuts) {
  std::vector<std::string_view> all;
  for (std::size_t i = 0; !text.empty(); ++i) {
    const std::size_t size = cuts.empty() ? 1 : 1 + static_cast<unsigned char>(cuts[i % cuts.size()]);
    all.push_back(text.substr(0, size));
    text.remove_prefix(all.back().size());
  }
  return all;
}

// An input is a line of settings, then the actual text: readable, and easy to write by hand. Without a
// newline it is all text.
struct Input {
  std::string_view settings;
  std::string_view text;

  Input(const std::uint8_t* data, std::size_t size) : text(reinterpret_cast<const char*>(data), size) {
    const auto newline = text.find('\n');
    if (newline == std::string_view::npos || newline > 64) return;
    settings = text.substr(0, newline);
    text.remove_prefix(newline + 1);
  }
  unsigned setting(std::size_t index) const {
    return index < settings.size() ? static_cast<unsigned char>(settings[index]) : 0;
  }
};

}  // namespace mcpivot::fuzz
