// A regular expression of JSON Schema (ECMA-262, over code points), matched by an engine that gives up
// instead of running forever or overflowing the stack.
//
// The engine is Boost.Regex, and is hidden in the .cpp. What it reads differently from ECMA-262 is translated
// ("\u00e4", "[^]", "\A"); a pattern with something that it lacks ("\p{L}") isn't understood.
//
// Patterns are immutable: any thread, also concurrently.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot::schema {

class Pattern {
 public:
  explicit Pattern(std::string_view text);
  Pattern(Pattern&& other) noexcept;
  Pattern& operator=(Pattern&& other) noexcept;
  ~Pattern();

  const std::string& text() const { return text_; }
  bool understood() const { return engine_ != nullptr; }

  enum class Match { yes, no, given_up };
  // Whether some part of the text matches. A pattern that isn't understood matches everything.
  Match find_in(std::string_view text) const;

  // The parts of the text that match, one after the other; empty ones don't count. Nothing: it was given up,
  // or isn't understood.
  struct Part {
    std::size_t begin;
    std::size_t size;
  };
  std::optional<std::vector<Part>> parts_in(std::string_view text) const;

 private:
  struct Engine;
  std::string text_;
  std::unique_ptr<const Engine> engine_;
};

}  // namespace mcpivot::schema
