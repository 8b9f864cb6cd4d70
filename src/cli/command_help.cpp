#include "cli/command_help.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>

#include "cli/colours.h"

namespace mcpivot {
namespace {

constexpr std::size_t columns = 80;
constexpr std::size_t text_column = 28;  // where the text after an option's or command's name starts

// A line, wrapped between words where it is too long. Continuation lines are indented like the text.
std::string broken(std::string_view line) {
  const bool has_name = line.size() > text_column && line[text_column - 1] == ' ';
  const std::size_t indent = has_name ? text_column : std::min(line.find_first_not_of(' '), line.size());
  std::string text(line.substr(0, indent));
  std::size_t width = indent;
  for (const auto part : std::views::split(line.substr(indent), ' ')) {
    const std::string_view word(part.begin(), part.end());
    const bool first = width == indent;
    if (!first && width + 1 + columns_of(word) > columns) {
      text += '\n' + std::string(indent, ' ');
      width = indent;
    } else if (!first) {
      text += ' ';
      ++width;
    }
    text += word;
    width += columns_of(word);
  }
  return text;
}

}  // namespace

CommandHelp::CommandHelp(std::vector<std::string> usage) : usage_(std::move(usage)) {
  column_width(text_column);
}

std::string CommandHelp::make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const {
  const std::string all = Formatter::make_help(app, std::move(name), mode);
  std::string text;
  for (const auto part : std::views::split(all, '\n')) {
    const std::string_view line(part.begin(), part.end());
    if (!line.empty() || !text.ends_with("\n\n")) text += broken(line) + '\n';
  }
  text.pop_back();
  return text;
}

std::string CommandHelp::make_usage(const CLI::App*, std::string) const {
  std::string text;
  for (const std::string& line : usage_) text += (text.empty() ? "Usage: " : "       ") + line + "\n";
  return text + "\n";
}

const std::vector<std::string>& usage_of(const CLI::App& command) {
  return dynamic_cast<const CommandHelp&>(*command.get_formatter()).usage();
}

CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& usage,
                      const std::string& what) {
  CLI::App* command = app.add_subcommand(name, what);
  const std::string space = usage.empty() ? "" : " ";
  command->formatter(
      std::make_shared<CommandHelp>(std::vector{fmt::format("mcpivot {}{}{}", name, space, usage)}));
  command->footer("");
  command->group("Commands");
  return command;
}

void suggest(CLI::Option& option, const std::vector<std::string>& values) {
  option.check([](const std::string&) { return std::string(); },
               fmt::format("{{{}}}", CLI::detail::join(values, ",")));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  // CLI11 keeps them only as text: "TEXT:{overlap,stop-first}".
  const std::string type = option.get_type_name();
  const auto open = type.find('{');
  const auto close = type.find('}');
  if (open == std::string::npos || close == std::string::npos || close < open) return {};
  return CLI::detail::split(type.substr(open + 1, close - open - 1), ',');
}

std::string value_name(const CLI::Option& option) {
  if (option.get_positional()) return option.get_name(true);
  return option.get_items_expected_max() == 0 ? std::string() : option.get_option_text();
}

}  // namespace mcpivot
