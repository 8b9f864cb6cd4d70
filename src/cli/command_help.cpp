#include "cli/command_help.h"

#include <fmt/format.h>

namespace mcpivot {

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
  // CLI11 keeps them only as a text: "TEXT:{overlap,stop-first}".
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
