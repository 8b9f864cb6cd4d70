// The search for tools: any bytes as tools and as questions. No question finds what doesn't exist.
#include <algorithm>
#include <cmath>

#include "fuzz.h"
#include "search/search_words.h"
#include "search/tool_search.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mcpivot;
  using fuzz::check;
  const fuzz::Input input(data, size);  // a question, then one tool per line
  ToolSearch search;
  std::vector<std::string> names;
  std::string_view rest = input.text;
  while (!rest.empty() && names.size() < 20) {
    const std::size_t end = std::min(rest.find('\n'), rest.size());
    const std::string line(rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
    const std::string name = line.substr(0, line.find(' '));
    names.push_back(name);
    search.add({.server = names.size() % 2 == 0 ? "even" : "odd",
                .name = name,
                .title = line.substr(0, 20),
                .description = line,
                .parameters = {{.name = line.substr(line.size() / 2), .description = line}}});
  }
  check(search.size() == names.size(), "what is added is counted");
  const auto hits = search.search(input.settings, 5);
  check(hits.size() <= 5, "no more than wanted");
  for (std::size_t i = 0; i < hits.size(); ++i) {
    check(std::ranges::find(names, hits[i].name) != names.end(), "what is found is there");
    check(std::isfinite(hits[i].score) && hits[i].score > 0, "its score is a number");
    check(i == 0 || hits[i - 1].score >= hits[i].score, "the best comes first");
  }
  const std::string root = word_root(input.settings);
  check(root.size() <= input.settings.size() + 2, "a root is no longer than its word");
  for (const auto& word : words_of(input.text, 50)) check(!word.empty(), "a word has letters");
  check(is_one_slip(input.settings, input.text.substr(0, 64)) ==
            is_one_slip(input.text.substr(0, 64), input.settings),
        "a slip goes both ways");
  return 0;
}
