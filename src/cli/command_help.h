// How `--help` looks, and how a command is added to the command line so that its help, the man page and the
// completions all read the same description.
//
// One thread.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "cli/say.h"

namespace mcpivot {

// CLI11 doesn't know about the "--", so each command has its own usage text, a line for each way to call it.
class CommandHelp final : public CLI::Formatter {
 public:
  explicit CommandHelp(std::vector<std::string> usage);
  const std::vector<std::string>& usage() const { return usage_; }
  // Fits into 80 columns.
  std::string make_help(const CLI::App* app, std::string name, CLI::AppFormatMode mode) const override;
  std::string make_usage(const CLI::App* app, std::string name) const override;

 private:
  std::vector<std::string> usage_;
};

// The lines that the help of this command begins with.
const std::vector<std::string>& usage_of(const CLI::App& command);

// `usage` is what follows the command's name.
CLI::App* add_command(CLI::App& app, const std::string& name, const std::string& usage,
                      const std::string& what);

// Values to suggest, for the help and for completions. Other values are accepted too.
void suggest(CLI::Option& option, const std::vector<std::string>& values);

// The values that an option can have, where they are few and known.
std::vector<std::string> choices_of(const CLI::Option& option);

// What the help calls an option's value, such as FILE; nothing if it has none.
std::string value_name(const CLI::Option& option);

}  // namespace mcpivot
