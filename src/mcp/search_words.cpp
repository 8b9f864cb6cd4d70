#include "mcp/search_words.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <unordered_set>

namespace mcpivot {
namespace {

constexpr std::size_t longest_word = 40;  // longer ones are keys and encoded data

using WordSet = std::unordered_set<std::string_view>;

// Of no meaning in a request or in a description of a tool.
const WordSet& stop_words() {
  static const WordSet set{
      "a",         "about",      "all",     "also",   "am",      "an",     "and",   "any",     "are",
      "as",        "at",         "be",      "been",   "but",     "by",     "can",   "could",   "did",
      "do",        "does",       "each",    "for",    "from",    "had",    "has",   "have",    "her",
      "here",      "his",        "how",     "i",      "if",      "in",     "into",  "is",      "it",
      "its",       "just",       "let",     "ll",     "may",     "me",     "must",  "my",      "need",
      "of",        "on",         "onto",    "or",     "our",     "please", "s",     "shall",   "should",
      "so",        "some",       "someone", "such",   "than",    "that",   "the",   "their",   "them",
      "then",      "there",      "these",   "they",   "thing",   "things", "this",  "those",   "through",
      "to",        "too",        "tool",    "tools",  "us",      "use",    "used",  "using",   "via",
      "want",      "was",        "we",      "were",   "what",    "when",   "where", "whether", "which",
      "while",     "will",       "with",    "within", "without", "would",  "you",   "your",    "yours",
      "something", "somehow",    "im",      "ve",     "re",      "d",      "t",     "m",       "myself",
      "like",      "everything", "anything", "up",     "out"};
  return set;
}

// In a request they tell little of what is wanted.
const WordSet& weak_words() {
  static const WordSet set{"ask",  "check", "first", "get",     "give",    "go",      "good",    "got",
                           "help", "know",  "look",  "made",    "make",    "many",    "more",    "most",
                           "much", "new",   "now",   "old",     "one",     "other",   "own",     "put",
                           "same", "say",   "says",  "see",     "show",    "take",    "tell",    "told",
                           "two",  "three", "who",   "another", "already", "current", "certain", "specific",
                           "said", "way",   "today", "tomorrow", "yesterday", "tonight", "currently", "nice", "best", "really", "quickly", "ok", "okay", "done", "why"};
  return set;
}

// Words that people use for each other when they speak of what programs do. Each line is one meaning; a word
// may have several. Roots are made of them on first use.
constexpr std::string_view same_lines[] = {
    "create make new generate",
    "create build establish initialize",
    "add append insert include",
    "add sum plus total",
    "delete remove erase discard trash wipe purge",
    "find search lookup seek locate",
    "get fetch retrieve obtain",
    "show display view see look print",
    "list enumerate overview",
    "read open view load",
    "write save store",
    "update change modify edit alter adjust",
    "edit replace rewrite fix correct",
    "rename move",
    "move relocate",
    "copy duplicate clone",
    "send submit",
    "run execute exec launch invoke",
    "start begin trigger launch",
    "stop end quit terminate abort kill halt",
    "close quit exit shut",
    "toggle switch enable disable activate deactivate",
    "choose select pick",
    "click tap tick",
    "press hit push",
    "type enter input",
    "fill complete",
    "visit navigate browse goto",
    "accept confirm approve",
    "dismiss reject decline",
    "calculate compute",
    "compress zip gzip archive",
    "repeat echo",
    "simulate emulate fake mock pretend",
    "think reason reflect thought ponder",
    "solve solution",
    "connect link relate relation relationship connection",
    "merge combine",
    "label tag",
    "capture screenshot",
    "resize scale",
    "subscribe subscriber subscription",
    "reply answer respond response",
    "react reaction emoji",
    "explain describe meaning",
    "group aggregate cluster",
    "increase raise grow",
    "decrease reduce lower shrink",
    "count number amount",
    "convert transform",
    "translate translation",
    "install setup",
    "uninstall remove",
    "restart reboot relaunch",
    "deploy release rollout",
    "undo revert rollback restore",
    "pause suspend",
    "resume continue",
    "cancel abort",
    "share publish",
    "invite invitation",
    "assign assignee",
    "watch monitor observe",
    "analyze analysis inspect examine investigate",
    "validate verify check",
    "debug diagnose troubleshoot",
    "summarize summary digest",
    "compare diff difference",
    "sync synchronize",
    "import ingest",
    "export dump",
    "encrypt encryption",
    "sign signature",
    "login signin authenticate",
    "logout signout",
    "buy purchase",
    "book reserve reservation booking",
    "pay payment charge",
    "refund reimburse",
    "transcribe transcript transcription",
    "speak speech voice say",
    "draw sketch paint",
    "folder directory dir",
    "picture image photo",
    "picture screenshot",
    "audio sound",
    "song music track",
    "film movie video",
    "page website site webpage",
    "url link address",
    "dialog popup modal alert",
    "dropdown menu option",
    "repository repo",
    "issue bug ticket",
    "user person people member",
    "comment remark",
    "environment env",
    "javascript js",
    "docs documentation manual guide",
    "example sample snippet",
    "library package framework module",
    "database db",
    "column property field attribute",
    "record row entry",
    "title heading",
    "id identifier",
    "email mail inbox",
    "meeting appointment event",
    "task todo",
    "customer client",
    "invoice bill",
    "product article item",
    "price cost",
    "weather forecast",
    "route directions",
    "place location",
    "address street",
    "height elevation altitude",
    "distance far",
    "trip travel journey",
    "password passphrase credentials",
    "info information details metadata",
    "statistics stats metrics",
    "error exception failure",
    "crash panic",
    "logs logging",
    "vulnerability cve",
    "performance speed fast slow",
    "container pod",
    "machine server instance host",
    "folder collection",
    "spreadsheet sheet",
    "presentation slides",
    "font typeface",
    "color colour",
    "small tiny little mini",
    "latest recent newest",
    "last tail",
    "multiple several",
    "whole entire complete full",
    "allowed permitted accessible",
    "hard difficult complex complicated",
};

// Words that often, not always, stand for what the others on the line do or are about.
constexpr std::string_view near_lines[] = {
    "create add start open write",
    "add attach put",
    "delete clear forget drop",
    "find query discover get",
    "get show read return receive give list",
    "list contents show get",
    "read see look get",
    "write create put keep",
    "save keep remember persist record",
    "save export",
    "remember memory memorize recall knowledge",
    "know knowledge memory",
    "update set patch refresh",
    "fork copy clone",
    "post send publish create",
    "send message tell",
    "tell message post",
    "say message",
    "upload attach send",
    "download fetch get save",
    "run start perform evaluate",
    "run command",
    "close resolve cancel dismiss",
    "select switch",
    "switch change set",
    "press click key keyboard",
    "type write fill",
    "enter fill key",
    "wait until pause",
    "go navigate visit",
    "open navigate visit launch",
    "reload refresh navigate",
    "drag slide",
    "hover over mouse",
    "review approve feedback",
    "check status verify validate",
    "check test audit",
    "audit score quality accessibility seo",
    "compare multiple",
    "connect associate join login",
    "merge join",
    "increase scale",
    "decrease scale",
    "resize size bigger smaller larger",
    "deploy apply install upload publish",
    "apply deploy create update",
    "rollback rollout",
    "mean explain describe",
    "schema structure fields describe",
    "explain plan",
    "group count sum",
    "convert change",
    "record capture screencast video",
    "film record screencast",
    "capture take",
    "trace profile performance recording",
    "profile user",
    "schedule calendar plan",
    "calendar meeting event schedule",
    "remind reminder",
    "notify notification alert",
    "chat message conversation",
    "channel room chat",
    "thread conversation discussion",
    "file document path",
    "document record",
    "image media",
    "audio media listen",
    "video media",
    "web browser internet page",
    "website url",
    "tab page",
    "button click element",
    "checkbox click element",
    "icon element image",
    "box field element",
    "form field",
    "option select",
    "menu option",
    "dialog prompt",
    "window screen viewport",
    "theme color scheme mode",
    "style css",
    "text paragraph content",
    "paragraph block",
    "message text",
    "error message problem warning",
    "log event",
    "issue report problem",
    "commit change history",
    "history previous commit recent",
    "back previous before",
    "user account developer",
    "team workspace users",
    "author user wrote who",
    "who user author person",
    "comment reply note review",
    "status state progress",
    "operation process task job",
    "fact observation note",
    "entity node object item",
    "tree structure hierarchy nested",
    "step sequence stage sequential",
    "code function source program script",
    "code javascript",
    "docs reference",
    "database datasource data table",
    "table collection",
    "row data",
    "name title",
    "name rename",
    "terminal shell command console",
    "request http network call",
    "connection network",
    "response answer body",
    "size big large space bytes storage",
    "disk storage space",
    "date time modified",
    "bot token integration",
    "organization workspace",
    "long slow",
    "latest update current",
    "permission access allowed",
    "example demonstrate",
    "leak memory heap",
    "ram memory",
    "mobile phone device",
    "phone contact",
    "contact person",
    "money payment balance",
    "account balance",
    "usage metrics",
    "query sql",
    "map location",
    "nearby place near location",
    "restaurant place",
    "shop place store",
    "hotel place",
    "city place location",
    "coordinates location latitude longitude geocode",
    "way route directions",
    "drive route directions",
    "travel route distance",
    "ticket card task",
    "board project",
    "chart plot diagram graph",
    "backup copy snapshot",
    "sort order",
    "cluster context",
    "replica scale",
    "key index",
};

// What people say in several words; the first is replaced by the second before the words are taken apart.
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
    {"web page", "page"},
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
constexpr std::string_view questions[] = {"are", "did", "do", "does", "how", "is", "what", "when", "where", "which", "who"};
constexpr std::string_view picture_endings[] = {"bmp", "gif", "jpeg", "jpg", "png", "svg", "webp"};
constexpr std::string_view host_endings[] = {"app", "com", "de",  "dev", "edu", "eu",
                                             "gov", "io",  "net", "org", "uk"};

template <std::size_t n>
bool is_one_of(const std::string_view (&words)[n], std::string_view word) {
  return std::ranges::find(words, word) != std::end(words);
}

bool is_lower(char c) {
  return (c >= 'a' && c <= 'z') || (static_cast<unsigned char>(c) & 0x80U) != 0;
}
bool is_upper(char c) {
  return c >= 'A' && c <= 'Z';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return is_lower(c) || is_upper(c) || is_digit(c);
}
bool is_vowel(char c) {
  return std::string_view("aeiouy").find(c) != std::string_view::npos;
}

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result)
    if (is_upper(c)) c = static_cast<char>(c - 'A' + 'a');
  return result;
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

// Running is run, but telling is tell and passing is pass.
void undouble(std::string& word) {
  const std::size_t size = word.size();
  if (size < 3 || word[size - 1] != word[size - 2]) return;
  if (std::string_view("aeioulsz").find(word[size - 1]) == std::string_view::npos) word.pop_back();
}

using SynonymTable = std::unordered_map<std::string, std::vector<Synonym>>;

void add_synonyms(SynonymTable& table, std::string_view line, bool near) {
  const std::vector<std::string> roots = words_of(line, 100);
  for (const auto& word : roots)
    for (const auto& other : roots)
      if (word != other && std::ranges::find(table[word], other, &Synonym::root) == table[word].end())
        table[word].push_back({other, near});
}

SynonymTable make_synonyms() {
  SynonymTable table;
  for (const std::string_view line : same_lines) add_synonyms(table, line, false);
  for (const std::string_view line : near_lines) add_synonyms(table, line, true);
  return table;
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

// What the name of a file or a host tells without saying it.
std::vector<std::string_view> hints_of(std::string_view token) {
  if (token.starts_with("http://") || token.starts_with("https://") || token.starts_with("www.")) return {"url"};
  if (token.starts_with('/') || is_one_of(file_names, lower(token))) return {"file"};
  const std::size_t dot = token.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return {};
  const std::string ending = lower(token.substr(dot + 1));
  if (is_one_of(picture_endings, ending)) return {"file", "image"};
  if (is_one_of(file_endings, ending)) return {"file"};
  if (is_one_of(host_endings, ending)) return {"url"};
  return {};
}

// Takes a request apart, token by token.
class QueryReader {
 public:
  QueryReader(std::string_view text, std::size_t most) : text_(text), most_(most) {
    // "Create An Issue" is a title; there a capital says nothing.
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
    if (question_) add("get", QueryWord::Kind::hint);
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
      const bool capital = capitals_tell_ && !first_ && is_upper(token.front());
      const bool as_value = quoted_ || capital || !hints.empty() || std::ranges::any_of(token, is_digit);
      if (first_ && is_one_of(questions, lower(token))) question_ = true;
      first_ = false;
      for (const std::string_view hint : hints) add(std::string(hint), said);
      for_each_part(token, [&](std::string_view part) { add(lower(part), as_value ? value : said); });
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
  bool first_ = true;
  bool quoted_ = false;
  bool question_ = false;
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

const std::vector<Synonym>& synonyms_of(const std::string& root) {
  static const SynonymTable table = make_synonyms();
  static const std::vector<Synonym> none;
  const auto found = table.find(root);
  return found == table.end() ? none : found->second;
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
