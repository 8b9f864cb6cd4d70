#include "glob/braces.h"

#include <fmt/format.h>

#include <algorithm>

namespace mcpivot {
namespace {

using Texts = std::vector<std::string>;

class Braces {
 public:
  explicit Braces(std::string_view text) : text_(text) {}

  std::expected<Texts, std::string> expand() {
    Texts all = sequence(false);
    if (!error_.empty()) return std::unexpected(error_);
    return all;
  }

 private:
  // Everything up to the end or, within braces, up to ',' or '}'.
  Texts sequence(bool in_braces) {
    Texts heads{""};
    while (at_ < text_.size() && error_.empty()) {
      const char c = text_[at_];
      if (in_braces && (c == ',' || c == '}')) break;
      if (c == '{') {
        append(heads, alternatives());
      } else {
        const std::size_t end = c == '\\' ? at_ + 2 : c == '[' ? end_of_set() : at_ + 1;
        const std::string_view piece = text_.substr(at_, end - at_);
        for (std::string& head : heads) head += piece;
        at_ = std::min(end, text_.size());
      }
    }
    return heads;
  }

  Texts alternatives() {
    Texts all;
    do {
      ++at_;  // '{' or ','
      for (std::string& text : sequence(true)) all.push_back(std::move(text));
      if (all.size() > most_alternatives) error_ = "its braces stand for too many alternatives";
    } while (error_.empty() && at_ < text_.size() && text_[at_] == ',');
    if (error_.empty() && at_ == text_.size())
      error_ = "a '{' has no '}' (write '\\{' for the character itself)";
    ++at_;
    return all;
  }

  void append(Texts& heads, const Texts& tails) {
    if (heads.size() * tails.size() > most_alternatives)
      error_ = "its braces stand for too many alternatives";
    if (!error_.empty()) return;
    Texts product;
    for (const std::string& head : heads)
      for (const std::string& tail : tails) product.push_back(head + tail);
    heads = std::move(product);
  }

  std::size_t end_of_set() const {
    std::size_t at = at_ + 1;
    if (at < text_.size() && (text_[at] == '!' || text_[at] == '^')) ++at;
    if (at < text_.size() && text_[at] == ']') ++at;
    while (at < text_.size() && text_[at] != ']') at += text_[at] == '\\' ? 2 : 1;
    return at + 1;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace

std::expected<Texts, std::string> expand_braces(std::string_view pattern) {
  if (pattern.size() > longest_pattern)
    return std::unexpected(fmt::format("it is longer than {} bytes", longest_pattern));
  if (pattern.find('\0') != std::string_view::npos) return std::unexpected("it has a NUL byte in it");
  auto all = Braces(pattern).expand();
  if (!all) return all;
  std::size_t total = 0;
  for (const std::string& alternative : *all) total += alternative.size();
  if (total > longest_spelled_out) return std::unexpected("its braces stand for too much text");
  return all;
}

std::string bad_pattern(std::string_view pattern, std::string_view why) {
  return fmt::format("bad pattern '{}': {}", pattern.substr(0, longest_pattern), why);
}

}  // namespace mcpivot
