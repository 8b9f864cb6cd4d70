#include "search/search_words.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "base/contains.h"
#include "base/text.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_word = 40;  // longer ones are keys and encoded data

using WordSet = std::unordered_set<std::string_view>;

// Meaningless in a request or in a tool's description.
const WordSet& stop_words() {
  static const WordSet set{
      "a",         "about",      "all",      "also",   "am",      "an",     "and",   "any",     "are",
      "as",        "at",         "be",       "been",   "but",     "by",     "can",   "could",   "did",
      "do",        "does",       "each",     "for",    "from",    "had",    "has",   "have",    "her",
      "here",      "his",        "how",      "i",      "if",      "in",     "into",  "is",      "it",
      "its",       "just",       "let",      "ll",     "may",     "me",     "must",  "my",      "need",
      "of",        "on",         "onto",     "or",     "our",     "please", "s",     "shall",   "should",
      "so",        "some",       "someone",  "such",   "than",    "that",   "the",   "their",   "them",
      "then",      "there",      "these",    "they",   "thing",   "things", "this",  "those",   "through",
      "to",        "too",        "tool",     "tools",  "us",      "use",    "used",  "using",   "via",
      "want",      "was",        "we",       "were",   "what",    "when",   "where", "whether", "which",
      "while",     "will",       "with",     "within", "without", "would",  "you",   "your",    "yours",
      "something", "somehow",    "im",       "ve",     "re",      "d",      "t",     "m",       "myself",
      "like",      "everything", "anything", "up",     "out"};
  return set;
}

// In a request, these say little about what is wanted.
const WordSet& weak_words() {
  static const WordSet set{"ask",     "check",    "first",     "get",     "give",      "go",    "good",
                           "got",     "help",     "know",      "look",    "made",      "make",  "many",
                           "more",    "most",     "much",      "new",     "now",       "old",   "one",
                           "other",   "own",      "put",       "same",    "say",       "says",  "see",
                           "show",    "take",     "tell",      "told",    "two",       "three", "who",
                           "another", "already",  "current",   "certain", "specific",  "said",  "way",
                           "today",   "tomorrow", "yesterday", "tonight", "currently", "nice",  "best",
                           "really",  "quickly",  "ok",        "okay",    "done",      "why"};
  return set;
}

// Phrases of several words; the first is replaced by the second before the text is split into words.
struct Phrase {
  std::string_view said, meant;
};
constexpr Phrase phrases[] = {
    {"look up", "find"},
    {"find out", "find"},
    {"set up", "create"},
    {"go to", "navigate"},
    {"get rid of", "delete"},
    {"turn on", "enable"},
    {"turn off", "disable"},
    {"switch on", "enable"},
    {"switch off", "disable"},
    {"shut down", "stop"},
    {"step by step", "steps"},
    {"up to date", "update latest"},
    {"how big", "size"},
    {"how large", "size"},
    {"how many", "count"},
    {"how much space", "size"},
    {"how high", "height"},
    {"how tall", "height"},
    {"how far", "distance"},
    {"how long", "duration"},
    {"how do i get to", "directions"},
    {"how do i get from", "directions"},
    {"fill in", "fill"},
    {"fill out", "fill"},
    {"log in", "login"},
    {"log into", "login"},
    {"log out", "logout"},
    {"log off", "logout"},
    {"sign in", "login"},
    {"sign up", "register"},
    {"roll back", "rollback"},
    {"roll out", "rollout"},
    {"scale up", "scale"},
    {"scale down", "scale"},
    {"back up", "backup"},
    {"take over", "takeover"},
    {"pr", "pull request"},
    {"prs", "pull requests"},
    {"web page", "webpage"},
    {"web pages", "webpages"},
    {"web site", "website"},
    {"drop down", "dropdown"},
    {"pop up", "popup"},
    {"write down", "write"},
    {"note down", "note"},
    {"take a look at", "view"},
    {"look at", "view"},
    {"file system", "filesystem"},
    {"check box", "checkbox"},
    {"screen shot", "screenshot"},
    {"opening hours", "hours"},
    {"carry out", "run"},
    {"throw away", "delete"},
    {"another name", "rename"},
    {"new name", "rename"},
    {"k8s", "kubernetes"},
    {"postgres", "postgresql"},
    {"mongo", "mongodb"},
};

constexpr std::string_view file_endings[] = {
    "c",   "cc",   "cfg", "conf", "cpp", "cs",   "css",  "csv",  "doc",  "docx", "go",
    "h",   "hpp",  "htm", "html", "ini", "java", "js",   "json", "jsx",  "lock", "log",
    "lua", "md",   "mjs", "pdf",  "php", "py",   "rb",   "rs",   "rst",  "sh",   "sql",
    "tex", "toml", "ts",  "tsx",  "txt", "xls",  "xlsx", "xml",  "yaml", "yml"};
constexpr std::string_view file_names[] = {"changelog", "dockerfile", "license", "makefile", "readme"};
constexpr std::string_view questions[] = {"are",  "did",  "do",    "does",  "how", "is",
                                          "what", "when", "where", "which", "who"};
// After "that", these begin what is to be said or remembered: remember that she …, tell them that we ….
// Otherwise "that" says what kind of thing is wanted: a tool that lists files.
constexpr std::string_view clause_beginnings[] = {
    "a",   "all", "an",   "he",    "her", "his",   "i",    "it",   "its", "my",  "no",
    "our", "she", "that", "their", "the", "there", "they", "this", "we",  "you", "your"};
constexpr std::string_view picture_endings[] = {"bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"};
constexpr std::string_view host_endings[] = {"app", "com", "de",  "dev", "edu", "eu",
                                             "gov", "io",  "net", "org", "uk"};

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_word(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c);
}
bool is_vowel(char c) {
  return std::string_view("aeiouy").find(c) != std::string_view::npos;
}

// Calls take(part) for each part of names like createIssue, HTTPServer, list_files, get-sum.
template <class Take>
void for_each_part(std::string_view text, Take&& take) {
  std::size_t begin = 0;
  auto flush = [&](std::size_t end) {
    if (end > begin && end - begin <= longest_word) take(text.substr(begin, end - begin));
  };
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (!is_word(text[i])) {
      flush(i);
      begin = i + 1;
    } else if (i > begin && is_upper(text[i]) &&
               (is_lower(text[i - 1]) ||
                (is_upper(text[i - 1]) && i + 1 < text.size() && is_lower(text[i + 1]) &&
                 !(text[i + 1] == 's' && (i + 2 == text.size() || !is_word(text[i + 2])))))) {
      flush(i);
      begin = i;
    }
  }
  flush(text.size());
}

bool has_vowel(std::string_view text) {
  return std::ranges::any_of(text, is_vowel);
}

// "running" becomes "run", but "telling" becomes "tell" and "passing" becomes "pass".
void undouble(std::string& word) {
  const std::size_t size = word.size();
  if (size < 3 || word[size - 1] != word[size - 2]) return;
  if (std::string_view("aeioulsz").find(word[size - 1]) == std::string_view::npos) word.pop_back();
}

// The query in lower case with its phrases replaced; a phrase is found between words only.
std::string with_phrases_replaced(std::string_view query) {
  std::string text(query);
  for (const auto& [said, meant] : phrases) {
    for (std::size_t at = 0; (at = lower(text).find(said, at)) != std::string::npos;) {
      const std::size_t end = at + said.size();
      const bool whole = (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
      if (whole) text.replace(at, said.size(), meant);
      at += whole ? meant.size() : 1;
    }
  }
  return text;
}

bool is_plural(std::string_view word) {
  return word.size() > 3 && word.ends_with('s') && !word.ends_with("ss") && !word.ends_with("us") &&
         !word.ends_with("is");
}

// What the name of a file or a host implies.
std::vector<std::string_view> hints_of(std::string_view token) {
  if (token.starts_with("http://") || token.starts_with("https://") || token.starts_with("www."))
    return {"url"};
  if (token.starts_with('/') || contains(file_names, lower(token))) return {"file"};
  const std::size_t dot = token.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const std::string ending = lower(token.substr(dot + 1));
  if (contains(picture_endings, ending)) return {"file", "image"};
  if (contains(file_endings, ending)) return {"file"};
  if (contains(host_endings, ending)) return {"url"};
  return {};
}

// Analyses a request, token by token.
class QueryReader {
 public:
  QueryReader(std::string_view text, std::size_t most) : text_(text), most_(most) {
    // "Create An Issue" is a title, where capitals say nothing.
    std::size_t words = 0, capitals = 0;
    for (std::size_t i = 0; i < text.size(); ++i)
      if (is_word(text[i]) && (i == 0 || !is_word(text[i - 1]))) {
        ++words;
        if (is_upper(text[i])) ++capitals;
      }
    capitals_tell_ = capitals * 2 <= words;
  }

  std::vector<QueryWord> read() {
    for (std::size_t at = 0; at < text_.size();) {
      if (text_[at] == ' ' || text_[at] == '\t' || text_[at] == '\n' || text_[at] == '\r') {
        ++at;
        continue;
      }
      const std::size_t end = std::min(text_.find_first_of(" \t\r\n", at), text_.size());
      token(text_.substr(at, end - at));
      at = end;
    }
    if (question_) add(of_many_ ? "list" : names_ ? "find" : "get", QueryWord::Kind::hint);
    // If there is nothing else, weak words are all there is.
    if (std::ranges::none_of(
            words_, [](const QueryWord& word) { return word.kind == QueryWord::Kind::said && !word.weak; }))
      for (QueryWord& word : words_) word.weak = false;
    return std::move(words_);
  }

 private:
  void token(std::string_view token) {
    auto is_quote = [](char c) { return c == '"' || c == '\'' || c == '`'; };
    if (is_quote(token.front())) quoted_ = true;
    const bool ends_quote = token.size() > 1 && is_quote(token.back());
    while (!token.empty() && !is_word(token.back())) token.remove_suffix(1);
    while (!token.empty() && !is_word(token.front()) && token.front() != '/') token.remove_prefix(1);
    if (!token.empty()) {
      using enum QueryWord::Kind;
      const auto hints = hints_of(token);
      const bool capital = capitals_tell_ && count_ > 0 && is_upper(token.front());
      const bool as_value = quoted_ || capital || std::ranges::any_of(token, is_digit);
      const std::string word = lower(token);
      if (count_ == 0 && contains(questions, word)) question_ = true;
      // "which channels", "what issues"
      if (count_ == 1 && question_ && is_plural(word) && !stop_words().contains(word)) of_many_ = true;
      // "remember that …"; "tell them that we …"
      if (after_that_ && (count_ == 2 || capital || contains(clause_beginnings, word))) in_clause_ = true;
      if (capital) names_ = true;
      after_that_ = count_ > 0 && !question_ && word == "that";
      ++count_;
      const QueryWord::Kind kind = in_clause_ || !hints.empty() ? passage : as_value ? value : said;
      if (!in_clause_)
        for (const std::string_view hint : hints) add(std::string(hint), said);
      for_each_part(token, [&](std::string_view part) { add(lower(part), kind); });
    }
    if (ends_quote) quoted_ = false;
  }

  void add(const std::string& spelled, QueryWord::Kind kind) {
    if (stop_words().contains(spelled) || words_.size() >= most_) return;
    std::string root = word_root(spelled);
    if (std::ranges::find(words_, root, &QueryWord::root) != words_.end()) return;
    words_.push_back({std::move(root), spelled, kind, weak_words().contains(spelled)});
  }

  std::string_view text_;
  std::size_t most_;
  bool capitals_tell_ = true;
  std::size_t count_ = 0;  // tokens so far
  bool after_that_ = false;
  bool in_clause_ = false;
  bool quoted_ = false;
  bool question_ = false;
  bool of_many_ = false;  // it asks for several things
  bool names_ = false;    // somebody or something in particular
  std::vector<QueryWord> words_;
};

}  // namespace

std::string word_root(std::string_view word) {
  std::string root(word);
  auto ends = [&](std::string_view ending) { return root.ends_with(ending); };
  auto cut = [&](std::size_t count) { root.resize(root.size() - count); };
  if (root.size() > 4 && ends("ies")) {
    cut(3);
    root += 'y';
  } else if (root.size() > 4 &&
             (ends("sses") || ends("shes") || ends("ches") || ends("xes") || ends("zes"))) {
    cut(2);
  } else if (root.size() > 3 && ends("s") && !ends("ss") && !ends("us") && !ends("is")) {
    cut(1);
  }
  if (root.size() > 5 && ends("ing") && has_vowel(std::string_view(root).substr(0, root.size() - 3))) {
    cut(3);
    undouble(root);
  } else if (root.size() > 4 && ends("ied")) {
    cut(3);
    root += 'y';
  } else if (root.size() > 4 && ends("ed") && !ends("eed") &&
             has_vowel(std::string_view(root).substr(0, root.size() - 2))) {
    cut(2);
    undouble(root);
  } else if (root.size() > 6 && (ends("sion") || ends("tion"))) {
    cut(3);
  } else if (root.size() > 5 && ends("ly")) {
    cut(2);
  }
  if (root.size() > 3 && ends("e") && !ends("ee")) cut(1);
  return root;
}

std::vector<std::string> words_of(std::string_view text, std::size_t most) {
  std::vector<std::string> words;
  for_each_part(text, [&](std::string_view part) {
    if (words.size() >= most) return;
    const std::string word = lower(part);
    if (!stop_words().contains(word)) words.push_back(word_root(word));
  });
  return words;
}

std::vector<QueryWord> query_words(std::string_view query, std::size_t most) {
  const std::string text = with_phrases_replaced(query);
  return QueryReader(text, most).read();
}

Action action_of(std::string_view root) {
  struct Verbs {
    Action action;
    std::string_view words;
  };
  static const auto table = [] {
    std::unordered_map<std::string, Action> actions;
    for (const auto& [action, words] : {
             Verbs{Action::shows,
                   "get list read search find fetch show view describe query retrieve lookup inspect count "
                   "display see look browse explain compare"},
             Verbs{Action::makes,
                   "create add insert make write save store remember memorize note append generate post send "
                   "publish upload submit put record"},
             Verbs{Action::changes, "update edit modify change set move rename replace patch fix"},
             Verbs{Action::deletes, "delete remove drop forget erase clear purge wipe"},
         })
      for (auto& verb : words_of(words, 100)) actions[std::move(verb)] = action;
    return actions;
  }();
  const auto found = table.find(std::string(root));
  return found == table.end() ? Action::unknown : found->second;
}

Action action_asked_for(std::string_view query) {
  const std::string text = with_phrases_replaced(query);
  Action action = Action::unknown;
  bool first = true;
  for_each_part(text, [&](std::string_view part) {
    const std::string word = lower(part);
    if (first && contains(questions, word)) action = Action::shows;
    // "please", "can you"
    if (!first || stop_words().contains(word)) return;
    first = false;
    if (action == Action::unknown) action = action_of(word_root(word));
  });
  return action;
}

bool is_one_slip(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (b.size() - a.size() > 1 || a == b) return false;
  std::size_t same = 0;
  while (same < a.size() && a[same] == b[same]) ++same;
  if (a.size() < b.size()) return a.substr(same) == b.substr(same + 1);
  if (a.substr(same + 1) == b.substr(same + 1)) return true;
  return same + 1 < a.size() && a[same] == b[same + 1] && a[same + 1] == b[same] &&
         a.substr(same + 2) == b.substr(same + 2);
}

}  // namespace mcpivot
