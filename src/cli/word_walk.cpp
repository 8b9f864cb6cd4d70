#include "cli/word_walk.h"

#include <algorithm>

#include "cli/command_help.h"

namespace mcpivot {
namespace {

std::vector<const CLI::Option*> options_of(const CLI::App& app) {
  return app.get_options([](const CLI::Option* one) { return one->nonpositional(); });
}

}  // namespace

void WordWalk::step(const std::string& word) {
  if (awaited != nullptr) {
    awaited = nullptr;
  } else if (word == "--") {
    beyond = true;
  } else if (word.size() > 1 && word[0] == '-') {
    option(word);
  } else if (const CLI::App* next = subcommand(word); next != nullptr) {
    command = next;
  } else if (++positionals == 1) {
    first = word;
  }
}

std::vector<const CLI::Option*> WordWalk::options() const {
  auto found = options_of(*command);
  if (command->get_fallthrough() && command->get_parent() != nullptr)
    for (const CLI::Option* more : options_of(*command->get_parent()))
      if (std::ranges::none_of(found,
                               [&](const CLI::Option* one) { return one->check_name(more->get_name()); }))
        found.push_back(more);
  return found;
}

// The last one may take all remaining words.
const CLI::Option* WordWalk::positional() const {
  std::size_t index = 0;
  const CLI::Option* last = nullptr;
  for (const CLI::Option* one : command->get_options()) {
    if (!one->get_positional()) continue;
    if (index++ == positionals) return one;
    last = one;
  }
  return last != nullptr && last->get_items_expected_max() > 1 ? last : nullptr;
}

const CLI::Option* WordWalk::named(const std::string& name) const {
  for (const CLI::Option* one : options())
    if (one->check_name(name)) return one;
  return nullptr;
}

bool WordWalk::at_top() const {
  return command->get_parent() == nullptr && positionals == 0;
}

void WordWalk::option(const std::string& word) {
  const auto equals = word.find('=');
  const CLI::Option* one = named(word.substr(0, equals));
  if (one == nullptr) return;
  given_.insert(one);
  if (!value_name(*one).empty() && equals == std::string::npos) awaited = one;
}

const CLI::App* WordWalk::subcommand(const std::string& word) const {
  if (!at_top()) return nullptr;
  for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; }))
    if (one->check_name(word)) return one;
  return nullptr;
}

}  // namespace mcpivot
