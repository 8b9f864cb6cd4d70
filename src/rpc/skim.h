// Identifies a message that is too large to hold: which request it is, or answers. It is fed the line piece
// by piece as it streams past, remembers a few hundred bytes, and validates nothing, because nothing of the
// message will be forwarded.
//
// Any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace mcpivot {

class Skim {
 public:
  // Ids and methods longer than this count as absent, so that garbage can't make us grow.
  static constexpr std::size_t longest_value = 256;

  void feed(std::string_view piece);

  std::uint64_t size() const { return size_; }
  // Both as they are spelled, with quotes; empty if there was none.
  std::string id() const { return id_.value_or(""); }
  std::string method() const { return method_.value_or(""); }

 private:
  void structural(char c);
  void finish_token();
  bool token_is_valid() const;
  void keep(std::optional<std::string>& value);

  std::uint64_t size_ = 0;
  int depth_ = 0;
  bool in_string_ = false;
  bool after_backslash_ = false;
  bool expecting_value_ = false;  // at the top level, after a ':'
  bool overlong_ = false;
  std::string token_;  // the key or scalar that is being read at the top level
  std::string key_;
  std::optional<std::string> id_;
  std::optional<std::string> method_;
};

}  // namespace mcpivot
