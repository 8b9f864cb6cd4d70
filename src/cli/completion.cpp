#include "cli/completion.h"

#include <fmt/format.h>

#include "cli/command_help.h"
#include "cli/word_walk.h"

namespace mcpivot {
namespace {

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

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
  if (kind == "SERVER" || kind == "TOOL" || kind == "SERVER|TOOL" || kind == "PID" || kind == "ID")
    for (const std::string& name : names(kind))
      if (name.find('\n') == std::string::npos) answer.offer(before + name);
}

bool can_be_given_again(const CLI::Option& option) {
  return option.get_items_expected_max() > 1;
}

}  // namespace

std::string completions(const CLI::App& app, const std::vector<std::string>& words, const NameSource& names) {
  const std::string last = words.empty() ? std::string() : words.back();
  WordWalk walk(app);
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
    const CLI::Option* const positional = walk.positional();
    if (positional != nullptr && value_name(*positional) == "ARGUMENT") {
      for (const std::string& key : names("ARGUMENT " + walk.first)) answer.offer(key + "=");
    } else if (positional != nullptr) {
      offer_values(answer, *positional, {}, names);
    }
  }
  return answer.text();
}

}  // namespace mcpivot
