// Finds the tools that fit a request in plain words, among the tools of many servers; and finds none when
// none fits. Nothing is learned or fetched: words are compared, see docs/search.md.
//
// Plain data in, plain data out, bounded work. One thread at a time.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "search/search_words.h"

namespace mcpivot {

struct ToolParameter {
  std::string name;
  std::string description;
};

// A server's description of a tool. Of very long texts, only a part is read.
struct ToolDocument {
  std::string server;
  std::string name;
  std::string title;
  std::string description;
  std::vector<ToolParameter> parameters;
};

class ToolSearch {
 public:
  struct Hit {
    std::string server;
    std::string name;
    double score = 0;
  };

  // Adding a tool again, by server and name, makes it appear twice.
  void add(const ToolDocument& document);
  std::size_t size() const { return tools_.size(); }

  // The best tools first; ties are sorted by server and name. Empty if nothing fits.
  std::vector<Hit> search(std::string_view query, std::size_t limit) const;

 private:
  struct Tool {
    std::string server;
    std::string name;
    std::vector<std::string> name_words;  // of its name, each once
    std::string verb;                     // of its name
    Action does = Action::unknown;        // as that verb says
    bool deprecated = false;
  };
  // Where a word occurs.
  struct Use {
    std::uint32_t tool = 0;
    float count = 0;  // how often, weighted by place and length
    float place = 0;  // how significant its best place is, from 0 to 1
  };
  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view word) const { return std::hash<std::string_view>{}(word); }
  };
  using Index = std::unordered_map<std::string, std::vector<Use>, Hash, std::equal_to<>>;

  class Search;

  std::vector<Tool> tools_;
  Index index_;
};

}  // namespace mcpivot
