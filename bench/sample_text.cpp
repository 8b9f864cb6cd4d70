// Builds the sample text from a few words and a generator of fixed seed.
#include "sample_text.h"

#include <array>
#include <cstdint>
#include <string_view>

namespace {

constexpr std::array<std::string_view, 32> words = {
    "the",      "server", "reads",  "a",      "line",  "and",   "answers", "it",
    "when",     "cache",  "is",     "empty",  "then",  "build", "fails",   "with",
    "\"null\"", "before", "commit", "index",  "of",    "files", "naïve",   "tests",
    "passed",   "in",     "module", "parser", "while", "queue", "grows",   "slowly"};

// A small generator of our own, so that the text is the same everywhere.
class Random {
 public:
  size_t below(size_t bound) {
    state_ = state_ * 6364136223846793005U + 1442695040888963407U;
    return static_cast<size_t>(state_ >> 33U) % bound;
  }

 private:
  uint64_t state_ = 20250618;
};

void append_sentence(std::string& text, Random& random) {
  const size_t length = 6 + random.below(12);
  for (size_t i = 0; i < length; ++i) {
    if (i > 0) text += ' ';
    text += words[random.below(words.size())];
  }
  text += ".\n";
}

void append_record(std::string& text, Random& random) {
  text += R"({"file": "src/)";
  text += words[random.below(words.size() / 2)];
  text += R"(.cpp", "line": )";
  text += std::to_string(random.below(2000));
  text += R"(, "ok": true, "path": "C:\\work\\)";
  text += words[random.below(words.size() / 2)];
  text += "\"}\n";
}

}  // namespace

std::string sample_text(size_t size) {
  constexpr size_t longest_piece = 256;
  std::string text;
  text.reserve(size + longest_piece);
  Random random;
  while (text.size() + longest_piece < size) {
    if (random.below(5) == 0)
      append_record(text, random);
    else
      append_sentence(text, random);
  }
  text.resize(size, '.');
  return text;
}
