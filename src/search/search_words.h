// Turns text into words that can be compared: those of a tool ("createIssue", "list_files") and those of a
// person ("open a bug report in the repo"). Splits names into their parts, drops endings and stop words, and
// knows which words people use for each other.
//
// Plain functions of their arguments. They know English; other words are compared as they are.
//
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// The root of a lower-case word: creating, creates and creation become one. Not always an English word.
std::string word_root(std::string_view word);

// The roots of the words that mean something, in their order, repeated words too; at most `most`.
std::vector<std::string> words_of(std::string_view text, std::size_t most);

struct QueryWord {
  enum class Kind : std::uint8_t {
    said,
    // A number, the name of a file or of somebody, something in quotes: more likely an argument for the tool
    // than what it does.
    value,
    // An argument for the tool, in the request's own words: the parts of a file's name, and what comes after
    // "remember that". Says next to nothing about the tool.
    passage,
    // Implied rather than said: a question wants something shown. Helps where it is found, does no harm
    // elsewhere.
    hint,
  };
  std::string root;
  std::string spelled;  // in lower case, with its ending
  Kind kind = Kind::said;
  bool weak = false;  // "show" says less about what is wanted than "screenshot"
};

// The words of a request, each root once, at most `most`.
std::vector<QueryWord> query_words(std::string_view query, std::size_t most);

// What a request wants done, and what a tool does, as far as a verb says.
enum class Action : std::uint8_t { unknown, shows, makes, changes, deletes };
Action action_of(std::string_view root);

// From the first words of a request: a question wants something shown.
Action action_asked_for(std::string_view query);

struct Synonym {
  std::string root;
  bool near = false;  // not the same, but often meant
};

// What can be meant by a word; valid for the whole run of the program.
const std::vector<Synonym>& synonyms_of(const std::string& root);

// Whether one becomes the other with one letter more, less, different, or two swapped.
bool is_one_slip(std::string_view a, std::string_view b);

}  // namespace mcpivot
