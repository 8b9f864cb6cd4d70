#include "cli/options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <sstream>

namespace mcpivot {
namespace {

constexpr int usage_error = 2;

constexpr const char* description =
    "mcpivot stands between an AI client and its MCP servers, so that servers can come and go\n"
    "while the client's connection, and with it the conversation, goes on.";

constexpr const char* footer = R"(
Example: put a server behind mcpivot in Claude Code
  claude mcp add my-server -- mcpivot -- node build/index.js

The server speaks MCP over stdin and stdout; so does mcpivot. Its stderr goes to mcpivot's stderr and log.)";

// CLI11 would not know of the "--".
class Help final : public CLI::Formatter {
 public:
  Help() { column_width(28); }
  std::string make_usage(const CLI::App*, std::string) const override {
    return "Usage: mcpivot [OPTIONS] -- COMMAND [ARG...]\n       mcpivot version\n\n";
  }
};

std::pair<std::string, std::string> key_and_value(const std::string& text) {
  const auto equals = text.find('=');
  if (equals == 0 || equals == std::string::npos)
    throw CLI::ValidationError("--env", "expected KEY=VALUE, got '" + text + "'");
  return {text.substr(0, equals), text.substr(equals + 1)};
}

}  // namespace

Invocation parse_command_line(std::vector<std::string> arguments) {
  Invocation invocation;
  Options& options = invocation.options;
  // What follows "--" is the server's own command line, options and all.
  const auto separator = std::ranges::find(arguments, "--");
  if (separator != arguments.end()) options.server.command.argv.assign(separator + 1, arguments.end());
  arguments.erase(separator, arguments.end());

  CLI::App app(description, "mcpivot");
  app.formatter(std::make_shared<Help>());
  app.footer(footer);
  app.set_help_flag("-h,--help", "Print this and exit");
  std::vector<std::string> variables;
  app.add_option("--name", options.server.name,
                 "What to call the server in messages and logs (default: its file name)")
      ->option_text("NAME");
  app.add_option("--cwd", options.server.command.cwd, "Run the server in this folder")
      ->check(CLI::ExistingDirectory)
      ->option_text("FOLDER");
  app.add_option("--env", variables, "Set a variable in the server's environment (repeatable)")
      ->option_text("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--max-message", options.server.max_message,
                 "Longest message toward the client, e.g. 10000000 or 8MB; a longer one becomes an\nerror "
                 "(default: 10000000)")
      ->transform(CLI::AsSizeValue(true))
      ->check(CLI::Range(std::size_t{1024}, std::size_t{1} << 30))
      ->option_text("BYTES");
  app.add_option("--log", options.log.file,
                 "Log to this file (default: NAME.log under $XDG_STATE_HOME/mcpivot, 1 MB, rotating)")
      ->option_text("FILE");
  app.add_option("--log-level", options.log.level,
                 "trace (every message), debug, info (the default), warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->option_text("LEVEL");
  auto* version = app.add_subcommand("version", "Print the version and exit");
  app.set_version_flag("--version", "mcpivot " MCPIVOT_VERSION)->description("Print the version and exit");

  try {
    std::ranges::reverse(arguments);  // as CLI11 wants them
    app.parse(arguments);
    for (const std::string& variable : variables)
      options.server.command.env.push_back(key_and_value(variable));
  } catch (const CLI::ParseError& error) {
    std::ostringstream out;
    std::ostringstream err;
    invocation.exit_code = app.exit(error, out, err) == 0 ? 0 : usage_error;
    invocation.out = out.str();
    invocation.err = err.str();
    return invocation;
  }
  if (*version) {
    invocation.out = "mcpivot " MCPIVOT_VERSION "\n";
    return invocation;
  }
  if (options.server.command.argv.empty()) {
    invocation.exit_code = usage_error;
    invocation.err =
        "mcpivot: no server to run. Put its command behind \"--\", as in: mcpivot -- node server.js\n"
        "Run mcpivot --help for more.\n";
    return invocation;
  }
  if (options.server.name.empty())
    options.server.name = std::filesystem::path(options.server.command.argv[0]).filename();
  options.log.name = options.server.name;
  invocation.run = true;
  return invocation;
}

}  // namespace mcpivot
