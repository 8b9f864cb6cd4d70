#include "cli/did_you_mean.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <ranges>

#include "base/shell_word.h"
#include "cli/command_help.h"
#include "cli/word_walk.h"
#include "config/nearest.h"

namespace mcpivot {
namespace {

std::string_view nearest_of(std::string_view word, std::span<const std::string> known) {
  const std::vector<std::string_view> views(known.begin(), known.end());
  return nearest(word, views);
}

// "mcpivot status", or "mcpivot" itself.
std::string full_name(const CLI::App& command) {
  return command.get_parent() == nullptr ? "mcpivot" : "mcpivot " + command.get_name();
}

std::string unknown_option(const WordWalk& walk, const std::string& name) {
  std::vector<std::string> known;
  for (const CLI::Option* option : walk.options())
    for (const std::string& one : option->get_lnames()) known.push_back("--" + one);
  // Without the dashes, which are the same in all and would make short names look alike.
  std::vector<std::string> bare;
  for (const std::string& one : known) bare.push_back(one.substr(2));
  const std::string_view word =
      std::string_view(name).substr(std::min(name.find_first_not_of('-'), name.size()));
  const std::string_view meant = word.empty() ? word : nearest_of(word, bare);
  return fmt::format("{} has no option {}.{}", full_name(*walk.command), name,
                     meant.empty() ? "" : fmt::format(" Did you mean --{}?", meant));
}

std::string with_dashes(const std::vector<std::string>& words, std::size_t at) {
  std::string line = "mcpivot";
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (i == at) line += " --";
    line += " " + shell_word(words[i]);
  }
  return line;
}

std::string unknown_command(const WordWalk& walk, const std::vector<std::string>& words, std::size_t at,
                            const std::function<bool(const std::string&)>& is_program) {
  const std::string& word = words[at];
  std::vector<std::string> commands;
  for (const CLI::App* one :
       walk.command->get_subcommands([](const CLI::App* some) { return !some->get_group().empty(); }))
    commands.push_back(one->get_name());
  const bool program = is_program(word);
  // "stat" is a program, but nobody's server.
  const auto begun = std::ranges::find_if(
      commands, [&](const std::string& one) { return word.size() >= 3 && one.starts_with(word); });
  const std::string hint = begun != commands.end() ? fmt::format(" Did you mean {}?", *begun)
                           : program               ? std::string()
                                                   : did_you_mean(word, commands);
  if (!hint.empty() && !program) return fmt::format("mcpivot has no command {}.{}", word, hint);
  return fmt::format("mcpivot has no command {}.{} To run a server, put \"--\" before its command: {}", word,
                     hint, with_dashes(words, at));
}

// Whether a server's own command line may follow the command's, after "--".
bool takes_a_server(const CLI::App& command) {
  return command.get_parent() != nullptr && usage_of(command).front().find("[-- ") != std::string::npos;
}

std::string missing_dashes(const WordWalk& walk, const std::vector<std::string>& words, std::size_t at) {
  return fmt::format("{}: unexpected argument: {}. To run a server, put \"--\" before its command: {}",
                     full_name(*walk.command), words[at], with_dashes(words, at));
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string> known) {
  const std::string_view meant = nearest_of(word, known);
  return meant.empty() ? std::string() : fmt::format(" Did you mean {}?", meant);
}

std::string misplaced_word(const CLI::App& app, const std::vector<std::string>& words, bool has_dashes,
                           const std::function<bool(const std::string&)>& is_program) {
  WordWalk walk(app);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool is_option = word.size() > 2 && word.starts_with("--");
    if (walk.awaited == nullptr && is_option && walk.named(word.substr(0, word.find('='))) == nullptr)
      return unknown_option(walk, word.substr(0, word.find('=')));
    const bool is_short_option = word.size() > 1 && word[0] == '-' && word[1] != '-';
    if (walk.awaited == nullptr && is_short_option && walk.named(word.substr(0, 2)) == nullptr)
      return unknown_option(walk, word.substr(0, 2));
    if (walk.awaited == nullptr && !word.starts_with('-') && walk.at_top() && !has_dashes &&
        walk.subcommand(word) == nullptr)
      return unknown_command(walk, words, i, is_program);
    if (walk.awaited == nullptr && !word.starts_with('-') && !has_dashes && takes_a_server(*walk.command) &&
        walk.positional() == nullptr)
      return missing_dashes(walk, words, i);
    walk.step(word);
  }
  return {};
}

bool names_a_program(const std::string& word) {
  std::error_code error;
  if (std::filesystem::is_regular_file(word, error)) return true;
  const char* const path = std::getenv("PATH");
  if (path == nullptr || word.empty() || word.find('/') != std::string::npos) return false;
  for (const auto part : std::views::split(std::string_view(path), ':')) {
    const std::string program = fmt::format("{}/{}", std::string_view(part.begin(), part.end()), word);
    if (std::filesystem::is_regular_file(program, error) && ::access(program.c_str(), X_OK) == 0) return true;
  }
  return false;
}

}  // namespace mcpivot
