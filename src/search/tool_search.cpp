#include "search/tool_search.h"

#include <algorithm>
#include <cmath>
#include <tuple>

#include "base/contains.h"
#include "search/search_words.h"

namespace mcpivot {
namespace {

// How much of a query and of a tool is read. More would add nothing but time.
constexpr std::size_t most_query_bytes = 500;
constexpr std::size_t most_query_words = 24;
constexpr std::size_t most_name_words = 20;
constexpr std::size_t most_summary_words = 30;
constexpr std::size_t most_description_bytes = 2000;
constexpr std::size_t most_parameters = 40;
constexpr std::size_t most_parameter_bytes = 200;

// The parts of a tool's text: how much a word there counts, how significant the place is when it is the only
// one, and the usual number of words (in a longer text, each counts less).
struct Place {
  double weight;
  double tells;
  double usual_words;
};
constexpr Place in_name{3.0, 1.0, 3};
constexpr Place in_server{1.0, 0.8, 1};
constexpr Place in_title{1.5, 0.95, 3};
constexpr Place in_summary{1.2, 0.85, 10};     // the first sentence of the description
constexpr Place in_description{0.6, 0.5, 40};  // the rest of it
constexpr Place in_parameter{0.7, 0.5, 4};     // names of parameters
constexpr Place in_explanation{0.3, 0.3, 30};  // their descriptions

// How sure we are that another word means the same.
constexpr double by_synonym = 0.85;
constexpr double by_near = 0.55;
constexpr double by_beginning = 0.6;  // config, configuration
constexpr double by_slip = 0.7;       // screnshot

// What a word of the query weighs.
constexpr double weak_weight = 0.4;     // show, make, today
constexpr double first_weight = 1.1;    // the first is often the action
constexpr double hint_weight = 0.5;     // implied, not said
constexpr double unknown_weight = 0.8;  // in no tool: less than a word that could have been found
constexpr double value_weight = 0.15;   // probably an argument
constexpr double passage_weight = 0.1;  // certainly one

// What a tool's score is made of.
constexpr double exact_score = 100;  // the query is its name, to the letter
constexpr double saturation = 1.2;   // BM25's k1: the second mention counts less than the first
constexpr double name_share = 0.35;  // what a name adds that the query mentions in full
constexpr double deprecated_factor = 0.85;
constexpr double oversteps_factor = 0.7;     // does more than was asked for
constexpr double otherwise_factor = 0.85;    // does something else
constexpr double fewest_tools = 60;          // in a smaller catalog, words are rated as if it had as many
constexpr std::size_t most_candidates = 50;  // beyond the limit, whose names are considered

// Whether the best tool fits: the share of the query that it covers and, to a lesser degree, the share of its
// name that the query mentions, and its score. Tuned with bench/search.
constexpr double name_fit = 0.3;
constexpr double score_fit = 0.27;
constexpr double enough = 0.54;
constexpr double near_best = 0.4;  // hits under this share of the best score are noise

std::size_t first_sentence(std::string_view text) {
  for (std::size_t i = 0; i + 1 < text.size(); ++i) {
    if (text[i] == '\n' && text[i + 1] == '\n') return i;
    if (text[i] == '.' && (text[i + 1] == ' ' || text[i + 1] == '\n') && i > 10) return i;
  }
  return text.size();
}

bool is_hint(const QueryWord& word) {
  return word.kind == QueryWord::Kind::hint;
}

struct Counted {
  double count = 0;
  double tells = 0;
};
using Counts = std::unordered_map<std::string, Counted>;

void count(Counts& counts, std::vector<std::string> words, const Place& place) {
  if (words.empty()) return;
  // BM25's length norm, with b = 0.5 and a fixed usual length: one server's long texts shouldn't change the
  // rank of another's tools.
  const double norm = 0.5 + 0.5 * static_cast<double>(words.size()) / place.usual_words;
  for (auto& word : words) {
    Counted& counted = counts[std::move(word)];
    counted.count += place.weight / norm;
    counted.tells = std::max(counted.tells, place.tells);
  }
}

Counts count_words(const ToolDocument& document) {
  Counts counts;
  count(counts, words_of(document.name, most_name_words), in_name);
  count(counts, words_of(document.server, most_name_words), in_server);
  count(counts, words_of(document.title, most_name_words), in_title);
  std::string_view text = std::string_view(document.description).substr(0, most_description_bytes);
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  const std::size_t end = first_sentence(text);
  std::vector<std::string> summary = words_of(text.substr(0, end), most_description_bytes);
  std::vector<std::string> rest;
  if (summary.size() > most_summary_words) {
    rest.assign(summary.begin() + most_summary_words, summary.end());
    summary.resize(most_summary_words);
  }
  for (auto& word : words_of(text.substr(end), most_description_bytes)) rest.push_back(std::move(word));
  count(counts, std::move(summary), in_summary);
  count(counts, std::move(rest), in_description);
  std::vector<std::string> names, explanations;
  for (std::size_t i = 0; i < std::min(document.parameters.size(), most_parameters); ++i) {
    const ToolParameter& parameter = document.parameters[i];
    for (auto& word : words_of(parameter.name, most_name_words)) names.push_back(std::move(word));
    const auto explanation = std::string_view(parameter.description).substr(0, most_parameter_bytes);
    for (auto& word : words_of(explanation, most_parameter_bytes)) explanations.push_back(std::move(word));
  }
  count(counts, std::move(names), in_parameter);
  count(counts, std::move(explanations), in_explanation);
  return counts;
}

bool is_deprecated(const ToolDocument& document) {
  auto says_so = [](const std::vector<std::string>& words) { return contains(words, "deprecat"); };
  return says_so(words_of(document.title, most_name_words)) ||
         says_so(words_of(document.description, most_summary_words));
}

}  // namespace

void ToolSearch::add(const ToolDocument& document) {
  const Counts counts = count_words(document);
  Tool tool{.server = document.server,
            .name = document.name,
            .name_words = words_of(document.name, most_name_words),
            .verb = {},
            .deprecated = is_deprecated(document)};
  for (const auto& word : tool.name_words) {
    tool.does = action_of(word);
    if (tool.does == Action::unknown) continue;
    tool.verb = word;
    break;
  }
  std::ranges::sort(tool.name_words);
  tool.name_words.erase(std::ranges::unique(tool.name_words).begin(), tool.name_words.end());
  const auto at = static_cast<std::uint32_t>(tools_.size());
  for (const auto& [word, counted] : counts)
    index_[word].push_back({at, static_cast<float>(counted.count), static_cast<float>(counted.tells)});
  tools_.push_back(std::move(tool));
}

// The evaluation of one query.
class ToolSearch::Search {
 public:
  explicit Search(const ToolSearch& all)
      : all_(all),
        tools_(std::max(fewest_tools, static_cast<double>(all.size()))),
        sums_(all.tools_.size()) {}

  std::vector<Hit> run(std::string_view query, std::size_t limit) {
    exact_ = query;
    wanted_action_ = action_asked_for(query.substr(0, most_query_bytes));
    words_ = query_words(query.substr(0, most_query_bytes), most_query_words);
    find_meanings();
    for (std::size_t i = 0; i < words_.size(); ++i) weigh(words_[i], meanings_[i]);
    return best(std::min(limit, all_.size()));
  }

 private:
  // A word of the index that the query's word may mean.
  struct Meaning {
    const std::vector<Use>* uses = nullptr;
    double sure = 1;
  };
  // What the query, or one word of it, finds in a tool.
  struct Found {
    double score = 0;
    double cover = 0;
  };
  struct Candidate {
    std::uint32_t tool = 0;
    double score = 0;
    double fit = 0;
  };

  void find_meanings() {
    meanings_.resize(words_.size());
    std::vector<std::size_t> unknown;
    for (std::size_t i = 0; i < words_.size(); ++i) {
      const std::string& root = words_[i].root;
      mean(i, root, 1);
      if (meanings_[i].empty()) unknown.push_back(i);
      for (const auto& other : synonyms_of(root)) mean(i, other.root, other.near ? by_near : by_synonym);
      // screen shot, work space
      if (i + 1 < words_.size() && !is_hint(words_[i]) && !is_hint(words_[i + 1]))
        mean(i, words_[i].spelled + words_[i + 1].root, 1);
      if (i > 0 && !is_hint(words_[i])) mean(i, words_[i - 1].spelled + root, 1);
    }
    if (unknown.empty()) return;
    for (const auto& [word, uses] : all_.index_) {
      for (const std::size_t i : unknown) {
        const std::string& root = words_[i].root;
        if (root.size() < 4 || word.size() < 4 || root[0] != word[0]) continue;
        if (word.starts_with(root) || (root.starts_with(word) && word.size() >= 5))
          mean(i, word, by_beginning);
        else if (root.size() >= 5 && is_one_slip(root, word))
          mean(i, word, by_slip);
      }
    }
  }

  void mean(std::size_t i, std::string_view word, double sure) {
    const auto found = all_.index_.find(word);
    if (found == all_.index_.end()) return;
    meanings_[i].push_back({&found->second, sure});
    if (words_[i].kind == QueryWord::Kind::passage) return;
    double& surest = meant_[found->first];
    surest = std::max(surest, sure);
  }

  // BM25's idf, relative to that of a word that occurs nowhere, so that catalogs of all sizes are rated
  // alike.
  double rarity(double tools) const {
    auto idf = [&](double n) { return std::log(1 + (tools_ - std::min(n, tools_) + 0.5) / (n + 0.5)); };
    return idf(tools) / idf(0);
  }

  void weigh(const QueryWord& word, const std::vector<Meaning>& meanings) {
    std::vector<Found>& found = found_;
    found.assign(sums_.size(), {});
    for (const Meaning& meaning : meanings) {
      for (const Use& use : *meaning.uses) {
        Found& here = found[use.tool];
        const double count = use.count;
        here.score = std::max(here.score, meaning.sure * count / (count + saturation));
        here.cover = std::max(here.cover, meaning.sure * static_cast<double>(use.place));
      }
    }
    double tools = 0;
    for (const Found& here : found) tools += here.cover;
    const double rare = rarity(tools);
    using enum QueryWord::Kind;
    double weight = word.weak ? weak_weight : 1;
    if (&word == &words_.front()) weight *= first_weight;
    double score_weight = weight * rare;
    double cover_weight = score_weight;
    if (word.kind == hint) score_weight *= hint_weight, cover_weight = 0;
    if (word.kind == value) cover_weight *= value_weight;
    if (word.kind == passage) score_weight *= passage_weight, cover_weight *= passage_weight;
    if (word.kind == said && meanings.empty()) cover_weight *= unknown_weight;
    wanted_ += cover_weight;
    for (std::size_t i = 0; i < found.size(); ++i) {
      sums_[i].score += score_weight * found[i].score;
      sums_[i].cover += cover_weight * found[i].cover;
    }
  }

  // How much of its name the query mentions.
  double named(const Tool& tool) const {
    double all = 0, said = 0;
    for (const auto& word : tool.name_words) {
      const auto found = all_.index_.find(word);
      if (found == all_.index_.end()) continue;
      const double rare = rarity(static_cast<double>(found->second.size()));
      const auto meant = meant_.find(word);
      all += rare;
      if (meant != meant_.end()) said += rare * meant->second;
    }
    return all > 0 ? said / all : 0;
  }

  // Whether the tool does what the query asks for. A tool that deletes isn't wanted unless the query says so,
  // nor one that makes or changes something when only a question was asked.
  double right_action(const Tool& tool) const {
    if (tool.does == Action::unknown || tool.does == wanted_action_) return 1;
    const auto meant = meant_.find(tool.verb);
    if (meant != meant_.end() && meant->second > by_near) return 1;
    if (tool.does == Action::deletes || wanted_action_ == Action::shows) return oversteps_factor;
    return wanted_action_ == Action::unknown ? 1 : otherwise_factor;
  }

  std::vector<Hit> best(std::size_t limit) {
    std::vector<Candidate> order;
    order.reserve(sums_.size());
    for (std::uint32_t i = 0; i < sums_.size(); ++i)
      if (sums_[i].score > 0 || all_.tools_[i].name == exact_)
        order.push_back({i, sums_[i].score + (all_.tools_[i].name == exact_ ? exact_score : 0), 0});
    auto key = [&](const Candidate& candidate) {
      const Tool& tool = all_.tools_[candidate.tool];
      return std::tuple<double, const std::string&, const std::string&>(-candidate.score, tool.server,
                                                                        tool.name);
    };
    auto keep_best = [&](std::size_t count) {
      count = std::min(count, order.size());
      std::ranges::partial_sort(order, order.begin() + static_cast<std::ptrdiff_t>(count), {}, key);
      order.resize(count);
    };
    keep_best(limit + most_candidates);
    for (Candidate& candidate : order) {
      const Tool& tool = all_.tools_[candidate.tool];
      const double share = named(tool);
      candidate.fit = (wanted_ > 0 ? sums_[candidate.tool].cover / wanted_ : 0) + name_fit * share +
                      score_fit * candidate.score;
      candidate.score *= 1 + name_share * share;
      if (tool.deprecated) candidate.score *= deprecated_factor;
      candidate.score *= right_action(tool);
    }
    keep_best(limit);
    std::vector<Hit> hits;
    for (const Candidate& candidate : order) {
      if (order[0].fit < enough || candidate.score < near_best * order[0].score) break;
      const Tool& tool = all_.tools_[candidate.tool];
      hits.push_back({tool.server, tool.name, candidate.score});
    }
    return hits;
  }

  const ToolSearch& all_;
  std::string_view exact_;
  double tools_;
  Action wanted_action_ = Action::unknown;
  double wanted_ = 0;  // the weight of everything that the query says
  std::vector<QueryWord> words_;
  std::vector<std::vector<Meaning>> meanings_;
  std::unordered_map<std::string_view, double>
      meant_;  // each word of the index that may be meant, and how surely
  std::vector<Found> sums_;
  std::vector<Found> found_;  // of the word that is being weighed; reused for the next one
};

std::vector<ToolSearch::Hit> ToolSearch::search(std::string_view query, std::size_t limit) const {
  return Search(*this).run(query, limit);
}

}  // namespace mcpivot
