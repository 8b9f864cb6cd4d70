// Reads a command line word by word, as the parser would, to know what fits at a position: for completions,
// and for hints about words that fit nowhere.
//
// One thread.
#pragma once

#include <set>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace mcpivot {

class WordWalk {
 public:
  explicit WordWalk(const CLI::App& app) : command(&app) {}

  void step(const std::string& word);

  // The options that can be given here.
  std::vector<const CLI::Option*> options() const;
  // The positional argument at this position; null: none.
  const CLI::Option* positional() const;
  // Null: there is no such option, or command, here.
  const CLI::Option* named(const std::string& name) const;
  const CLI::App* subcommand(const std::string& word) const;

  bool at_top() const;
  bool was_given(const CLI::Option* one) const { return given_.contains(one); }

  const CLI::App* command;
  const CLI::Option* awaited = nullptr;  // the option whose value comes next
  std::size_t positionals = 0;
  std::string first{};  // of them
  bool beyond = false;  // within a server's own command line

 private:
  void option(const std::string& word);

  std::set<const CLI::Option*> given_;
};

}  // namespace mcpivot
