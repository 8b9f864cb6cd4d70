// Turns a tool's template and the arguments of a call into the argument list of a program. No shell is
// involved, so nothing in a value has a special meaning except to the program; and a value never becomes an
// option: one that begins with "-" is passed as --flag=value, after a "--" of the template, or not at all.
//
//   "{name}"      the argument; inside a word, put in place. Absent: the word is left out, and so is the flag
//                 right before it ("--flag", "{name}"). An array repeats the word, and that flag with it.
//                 true keeps the flag and false drops it; without a flag they are the words themselves.
//   "{name...}"   an array after its flag given once: --files a b c
//   "{{" "}}"     a brace
//
// Any thread.
#pragma once

#include <expected>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "clitools/arguments.h"

namespace mcpivot {

// A text with placeholders for parameters.
class TextTemplate {
 public:
  struct Piece {
    std::string text;  // literal text, or the name of a parameter
    bool parameter = false;
    bool spread = false;
  };

  // The error says what is wrong with the text.
  static std::expected<TextTemplate, std::string> parse(std::string_view text);

  const std::vector<Piece>& pieces() const { return pieces_; }
  bool literal() const { return pieces_.size() == 1 && !pieces_[0].parameter; }
  // With every parameter filled in; absent ones are empty. For the stdin of a program.
  std::string fill(const Arguments& arguments) const;

 private:
  std::vector<Piece> pieces_;  // at least one
};

class ArgTemplate {
 public:
  // The longest argument that Linux accepts: 32 pages of 4 KiB, including the terminating NUL.
  static constexpr std::size_t longest_argument = 32 * 4096 - 1;

  struct Problem {
    std::size_t word;
    std::string what;
  };
  static std::expected<ArgTemplate, Problem> parse(const std::vector<std::string>& words);

  // The program's arguments. `tail` (--json) goes to the end, or before the template's "--". The error tells
  // the caller which parameter can't be passed, and why.
  std::expected<std::vector<std::string>, std::string> fill(const Arguments& arguments,
                                                            std::span<const std::string> tail) const;

  // Names of parameters, each once.
  std::vector<std::string> parameters() const;
  // Those that are part of an option's name, as in "--{mode}": their possible values must be known
  // beforehand.
  std::vector<std::string> in_option_names() const;
  // Those that stand alone, without a flag or a "--" before them, where a value that begins with "-" is
  // refused.
  std::vector<std::string> unprotected() const;

 private:
  class Filling;
  // The flag that belongs to the word at this index: the word before it. Null: none.
  const std::string* flag_of(std::size_t index) const;
  bool is_flag_of_next(std::size_t index) const { return index + 1 < words_.size() && flag_of(index + 1); }

  std::vector<TextTemplate> words_;
  std::size_t dashes_ = 0;  // the position of "--"; the number of words if there is none
};

}  // namespace mcpivot
