#include "watch/glob.h"

#include <algorithm>

namespace mcpivot {
namespace {

using Texts = std::vector<std::string>;

// Spells braces out: "a{b,c{d,e}}" is ab, acd and ace. Escapes and sets stay as they are.
class Braces {
 public:
  explicit Braces(std::string_view text) : text_(text) {}

  std::expected<Texts, std::string> expand() {
    Texts all = sequence(false);
    if (!error_.empty()) return std::unexpected(error_);
    return all;
  }

 private:
  // What stands up to the end, or, in braces, up to ',' or '}'.
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
      if (all.size() > Glob::most_alternatives) error_ = "its braces stand for too many alternatives";
    } while (error_.empty() && at_ < text_.size() && text_[at_] == ',');
    if (error_.empty() && at_ == text_.size())
      error_ = "a '{' has no '}' (write '\\{' for the character itself)";
    ++at_;
    return all;
  }

  void append(Texts& heads, const Texts& tails) {
    if (heads.size() * tails.size() > Glob::most_alternatives)
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

// Without "./" and doubled slashes; "src/" is all that is in src.
std::expected<std::string, std::string> normalised(std::string_view text) {
  if (text.starts_with('/'))
    return std::unexpected("it is absolute; write it relative to the server's working folder");
  std::string result;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::size_t slash = rest.find('/');
    const std::string_view name = rest.substr(0, slash);
    if (name == "..") return std::unexpected("it leads out of the server's working folder with '..'");
    if (!name.empty() && name != ".") (result += result.empty() ? "" : "/") += name;
    rest = slash == std::string_view::npos ? "" : rest.substr(slash + 1);
  }
  if (text.ends_with('/') || (result.empty() && !text.empty())) result += result.empty() ? "**" : "/**";
  return result;
}

}  // namespace

std::expected<Glob, std::string> Glob::compile(std::string_view text) {
  const auto refuse = [text](const std::string& why) {
    return std::unexpected("bad pattern '" + std::string(text.substr(0, longest)) + "': " + why);
  };
  if (text.size() > longest) return refuse("it is longer than " + std::to_string(longest) + " bytes");
  if (text.find('\0') != std::string_view::npos) return refuse("it has a NUL byte in it");
  auto spelled_out = Braces(text).expand();
  if (!spelled_out) return refuse(spelled_out.error());
  Glob glob;
  glob.text_ = text;
  std::size_t total = 0;
  for (const std::string& alternative : *spelled_out) {
    total += alternative.size();
    if (total > longest_spelled_out) return refuse("its braces stand for too much text");
    auto plain = normalised(alternative);
    if (!plain) return refuse(plain.error());
    auto pattern = PathPattern::compile(*plain);
    if (!pattern) return refuse(pattern.error());
    if (pattern->ends_in_a_name()) glob.alternatives_.push_back(*PathPattern::compile(*plain + "/**"));
    glob.alternatives_.push_back(std::move(*pattern));
  }
  return glob;
}

bool Glob::matches(std::string_view path) const {
  return std::ranges::any_of(alternatives_, [&](const auto& pattern) { return pattern.matches(path); });
}

bool Glob::may_match_below(std::string_view folder) const {
  return std::ranges::any_of(alternatives_,
                             [&](const auto& pattern) { return pattern.may_match_below(folder); });
}

bool Glob::names(std::string_view path) const {
  return std::ranges::any_of(alternatives_, [&](const auto& pattern) { return pattern.names(path); });
}

}  // namespace mcpivot
