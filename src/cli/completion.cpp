#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "cli/command_help.h"

namespace mcpivot {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

// Reads the words before the last one, as the parser would.
class Walk {
 public:
  explicit Walk(const CLI::App& app) : command(&app) {}

  void step(const std::string& word) {
    if (awaited != nullptr) {
      awaited = nullptr;
    } else if (word == "--") {
      beyond = true;
    } else if (word.size() > 1 && word[0] == '-') {
      option(word);
    } else if (const CLI::App* next = subcommand(word); next != nullptr) {
      command = next;
    } else {
      ++positionals;
    }
  }

  // The options that can be given here.
  std::vector<const CLI::Option*> options() const {
    auto found = options_of(*command);
    if (command->get_fallthrough() && command->get_parent() != nullptr)
      for (const CLI::Option* more : options_of(*command->get_parent()))
        if (std::ranges::none_of(found,
                                 [&](const CLI::Option* one) { return one->check_name(more->get_name()); }))
          found.push_back(more);
    return found;
  }

  // The positional argument at this place.
  const CLI::Option* positional() const {
    std::size_t index = 0;
    for (const CLI::Option* one : command->get_options())
      if (one->get_positional() && index++ == positionals) return one;
    return nullptr;
  }

  const CLI::Option* named(const std::string& name) const {
    for (const CLI::Option* one : options())
      if (one->check_name(name)) return one;
    return nullptr;
  }

  bool at_top() const { return command->get_parent() == nullptr && positionals == 0; }
  bool was_given(const CLI::Option* one) const { return given_.contains(one); }

  const CLI::App* command;
  const CLI::Option* awaited = nullptr;  // whose value comes next
  std::size_t positionals = 0;
  bool beyond = false;  // within a server's own command line

 private:
  static std::vector<const CLI::Option*> options_of(const CLI::App& app) {
    return app.get_options([](const CLI::Option* one) { return one->nonpositional(); });
  }
  void option(const std::string& word) {
    const auto equals = word.find('=');
    const CLI::Option* one = named(word.substr(0, equals));
    if (one == nullptr) return;
    given_.insert(one);
    if (!value_name(*one).empty() && equals == std::string::npos) awaited = one;
  }
  const CLI::App* subcommand(const std::string& word) const {
    if (!at_top()) return nullptr;
    for (const CLI::App* one : command->get_subcommands([](const CLI::App*) { return true; }))
      if (one->check_name(word)) return one;
    return nullptr;
  }

  std::set<const CLI::Option*> given_;
};

class Answer {
 public:
  explicit Answer(std::string start) : start_(std::move(start)) {}
  void offer(const std::string& word, const std::string& what = {}) {
    if (word.starts_with(start_))
      lines_ += what.empty() ? word + "\n" : fmt::format("{}\t{}\n", word, first_line(what));
  }
  void also(const char* kind) { kind_ = kind; }
  std::string text() const { return kind_ + "\n" + lines_; }

 private:
  std::string start_;
  std::string kind_ = "words";
  std::string lines_;
};

// `before` is the beginning of the same word: "--swap=".
void offer_values(Answer& answer, const CLI::Option& option, const std::string& before,
                  const NameSource& names) {
  const std::string kind = value_name(option);
  for (const std::string& choice : choices_of(option)) answer.offer(before + choice);
  if (kind == "FILE" || kind == "GLOB") answer.also("files");
  if (kind == "FOLDER") answer.also("folders");
  if (kind == "SERVER" || kind == "TOOL" || kind == "PID" || kind == "ID")
    for (const std::string& name : names(kind))
      if (name.find('\n') == std::string::npos) answer.offer(before + name);
}

bool can_be_given_again(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

}  // namespace

std::string completions(const CLI::App& app, const std::vector<std::string>& words, const NameSource& names) {
  const std::string last = words.empty() ? std::string() : words.back();
  Walk walk(app);
  for (std::size_t i = 0; i + 1 < words.size(); ++i) walk.step(words[i]);
  Answer answer(last);
  const auto equals = last.find('=');
  if (walk.beyond) {
    answer.also("command");
  } else if (walk.awaited != nullptr) {
    offer_values(answer, *walk.awaited, {}, names);
  } else if (last.starts_with("--") && equals != std::string::npos) {
    if (const CLI::Option* option = walk.named(last.substr(0, equals)); option != nullptr)
      offer_values(answer, *option, last.substr(0, equals + 1), names);
  } else if (last.starts_with("-")) {
    for (const CLI::Option* option : walk.options()) {
      if (walk.was_given(option) && !can_be_given_again(*option)) continue;
      for (const std::string& name : option->get_lnames())
        answer.offer("--" + name, option->get_description());
      for (const std::string& name : option->get_snames())
        answer.offer("-" + name, option->get_description());
    }
    if (walk.at_top()) answer.offer("--", "Before the command of a server");
  } else {
    if (walk.at_top())
      for (const CLI::App* one :
           app.get_subcommands([](const CLI::App* some) { return !some->get_group().empty(); }))
        answer.offer(one->get_name(), one->get_description());
    if (const CLI::Option* positional = walk.positional(); positional != nullptr)
      offer_values(answer, *positional, {}, names);
  }
  return answer.text();
}

}  // namespace mcpivot
