#include "clitools/arg_template.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_set>

namespace mcpivot {
namespace {

constexpr std::string_view name_characters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.$";

bool is_flag(std::string_view word) {
  return word.size() > 1 && word.starts_with('-') && word != "--";
}

// A literal that is only the beginning of an option's name: "-", "--", "--with-".
bool is_part_of_option_name(std::string_view literal) {
  return literal == "-" || (literal.starts_with("--") && literal.find('=') == std::string_view::npos);
}

// Names in their order, each once.
class Names {
 public:
  void add(const std::string& name) {
    if (known_.insert(name).second) names_.push_back(name);
  }
  std::vector<std::string> take() { return std::move(names_); }

 private:
  std::vector<std::string> names_;
  std::unordered_set<std::string> known_;
};

}  // namespace

// --- texts

std::expected<TextTemplate, std::string> TextTemplate::parse(std::string_view text) {
  TextTemplate result;
  std::string literal;
  auto finish_literal = [&] {
    if (!literal.empty()) result.pieces_.push_back({.text = std::exchange(literal, {})});
  };
  if (text.find('\0') != std::string_view::npos) return std::unexpected("it contains a NUL byte");
  while (!text.empty()) {
    if (text.starts_with("{{") || text.starts_with("}}")) {
      literal += text[0];
      text.remove_prefix(2);
    } else if (text[0] == '{') {
      const auto end = text.find('}');
      std::string_view name = text.substr(1, end == std::string_view::npos ? 0 : end - 1);
      const bool spread = name.ends_with("...");
      if (spread) name.remove_suffix(3);
      if (name.empty() || name.find_first_not_of(name_characters) != std::string_view::npos)
        return std::unexpected(R"(a "{" that starts no {parameter}; write "{{" for a brace)");
      finish_literal();
      result.pieces_.push_back({.text = std::string(name), .parameter = true, .spread = spread});
      text.remove_prefix(end + 1);
    } else if (text[0] == '}') {
      return std::unexpected(R"(a "}" that ends no {parameter}; write "}}" for a brace)");
    } else {
      literal += text[0];
      text.remove_prefix(1);
    }
  }
  finish_literal();
  if (result.pieces_.empty()) result.pieces_.push_back({});
  return result;
}

std::string TextTemplate::fill(const Arguments& arguments) const {
  std::string text;
  for (const Piece& piece : pieces_) {
    if (!piece.parameter) {
      text += piece.text;
    } else if (const std::string_view value = arguments.find(piece.text); !value.empty()) {
      text += plain_text(value);
    }
  }
  return text;
}

// --- argument lists

std::expected<ArgTemplate, ArgTemplate::Problem> ArgTemplate::parse(const std::vector<std::string>& words) {
  ArgTemplate result;
  for (std::size_t i = 0; i < words.size(); ++i) {
    auto word = TextTemplate::parse(words[i]);
    if (!word) return std::unexpected(Problem{i, word.error()});
    const bool spreads = std::ranges::any_of(word->pieces(), &TextTemplate::Piece::spread);
    if (spreads && word->pieces().size() > 1)
      return std::unexpected(Problem{i, "{parameter...} must be a word of its own"});
    result.words_.push_back(std::move(*word));
  }
  result.dashes_ = static_cast<std::size_t>(std::ranges::find(words, "--") - words.begin());
  return result;
}

const std::string* ArgTemplate::flag_of(std::size_t index) const {
  if (index == 0 || index > dashes_ || words_[index].literal() || !words_[index - 1].literal())
    return nullptr;
  const std::string& before = words_[index - 1].pieces()[0].text;
  return is_flag(before) && before.find('=') == std::string::npos ? &before : nullptr;
}

std::vector<std::string> ArgTemplate::parameters() const {
  Names names;
  for (const TextTemplate& word : words_)
    for (const auto& piece : word.pieces())
      if (piece.parameter) names.add(piece.text);
  return names.take();
}

std::vector<std::string> ArgTemplate::in_option_names() const {
  Names names;
  for (std::size_t i = 0; i < std::min(words_.size(), dashes_); ++i) {
    std::string before;  // as far as known
    for (const auto& piece : words_[i].pieces()) {
      if (piece.parameter && is_part_of_option_name(before)) names.add(piece.text);
      before += piece.parameter ? std::string("x") : piece.text;
    }
  }
  return names.take();
}

std::vector<std::string> ArgTemplate::unprotected() const {
  Names names;
  for (std::size_t i = 0; i < std::min(words_.size(), dashes_); ++i) {
    const auto& first = words_[i].pieces()[0];
    const std::string* flag = flag_of(i);
    const bool long_flag = flag != nullptr && flag->starts_with("--") && !first.spread;
    if (first.parameter && !long_flag) names.add(first.text);
  }
  return names.take();
}

// One fill() under way.
class ArgTemplate::Filling {
 public:
  Filling(const ArgTemplate& of, const Arguments& arguments) : of_(of), arguments_(arguments) {}

  void add(std::string word) { result_.push_back(std::move(word)); }

  // The word at this index, as many times as its values require. False: trouble() says why not.
  bool expand(std::size_t index) {
    const auto& pieces = of_.words_[index].pieces();
    const std::string* flag = of_.flag_of(index);
    const TextTemplate::Piece* array = nullptr;
    for (const auto& piece : pieces) {
      if (!piece.parameter) continue;
      const std::string_view value = arguments_.find(piece.text);
      if (value.empty()) return true;  // absent: drop it and its flag
      if (!value.starts_with('[')) continue;
      if (array != nullptr)
        return fail(piece.text, "is an array, and so is another parameter in the same word");
      array = &piece;
    }
    const std::string_view only = pieces.size() == 1 ? arguments_.find(pieces[0].text) : std::string_view();
    if (flag != nullptr && only == "false") return true;
    if (flag != nullptr && only == "true") return add(*flag), true;
    if (array == nullptr) return add_word(index, flag, {});
    const auto elements = elements_of(arguments_.find(array->text));
    const bool once = array->spread && flag != nullptr && !elements.empty();
    if (once) add(*flag);
    return std::ranges::all_of(
        elements, [&](std::string_view element) { return add_word(index, once ? nullptr : flag, element); });
  }

  std::vector<std::string> take() { return std::move(result_); }
  const std::string& trouble() const { return trouble_; }

 private:
  // `element` is used in place of the array in the word, if there is one.
  bool add_word(std::size_t index, const std::string* flag, std::string_view element) {
    const auto& pieces = of_.words_[index].pieces();
    std::string text;
    const std::string* name = &pieces[0].text;  // the one to name if it can't be passed
    bool named = false;
    for (const auto& piece : pieces) {
      if (!piece.parameter) {
        text += piece.text;
        continue;
      }
      const std::string_view value = arguments_.find(piece.text);
      const std::size_t before = text.size();
      text += plain_text(value.starts_with('[') ? element : value);
      if (!named || text.size() - before > longest_argument / 2) name = &piece.text;
      named = true;
      if (text.find('\0', before) != std::string::npos)
        return fail(piece.text, "contains a NUL byte, which a program's argument can't have");
    }
    if (text.size() > longest_argument)
      return fail(
          *name,
          fmt::format(
              "makes an argument of {} bytes; the system allows {}. The tool should take it by \"stdin\"",
              text.size(), longest_argument));
    const bool protected_by_dashes = index > of_.dashes_;
    if (protected_by_dashes || !text.starts_with('-')) {
      if (flag != nullptr) add(*flag);
      return add(std::move(text)), true;
    }
    // Now the word begins with "-".
    if (!pieces[0].parameter) {
      const bool glued = is_flag(pieces[0].text) && text == pieces[0].text;
      if (glued && text.find('=') == std::string::npos)
        return fail(*name, fmt::format("is empty, and {} would take the next word instead", text));
      if (flag != nullptr) add(*flag);
      return add(std::move(text)), true;
    }
    if (flag != nullptr && flag->starts_with("--")) return add(fmt::format("{}={}", *flag, text)), true;
    return fail(pieces[0].text,
                fmt::format("begins with \"-\": the program could take it for an option. {}",
                            flag != nullptr ? "In \"cli_command\", a long flag (\"--flag\", \"{name}\") or "
                                              "\"--flag={name}\" would make it safe"
                                            : "In \"cli_command\", a \"--\" before it, or \"--flag={name}\" "
                                              "in its place, would make it safe"));
  }

  bool fail(std::string_view parameter, std::string_view why) {
    trouble_ = fmt::format("\"{}\" {}", parameter, why);
    return false;
  }

  const ArgTemplate& of_;
  const Arguments& arguments_;
  std::vector<std::string> result_;
  std::string trouble_;
};

std::expected<std::vector<std::string>, std::string> ArgTemplate::fill(
    const Arguments& arguments, std::span<const std::string> tail) const {
  Filling filling(*this, arguments);
  for (std::size_t i = 0; i < words_.size(); ++i) {
    if (i == dashes_)
      for (const std::string& word : tail) filling.add(word);
    if (is_flag_of_next(i)) continue;  // added, or not, with the word that follows it
    if (words_[i].literal()) {
      filling.add(words_[i].pieces()[0].text);
    } else if (!filling.expand(i)) {
      return std::unexpected(filling.trouble());
    }
  }
  if (dashes_ == words_.size())
    for (const std::string& word : tail) filling.add(word);
  return filling.take();
}

}  // namespace mcpivot
