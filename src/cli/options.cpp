#include "cli/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "cli/command_help.h"
#include "cli/commands.h"
#include "cli/completion.h"
#include "cli/control_command.h"
#include "cli/did_you_mean.h"
#include "cli/man_page.h"
#include "cli/parse_error.h"
#include "cli/serve_options.h"
#include "cli/server_name.h"
#include "cli/server_options.h"
#include "config/config_file.h"
#include "server/executable.h"

namespace mcpivot {
namespace {

constexpr const char* description =
    "mcpivot sits between an AI client and its MCP servers, so that servers can be rebuilt, restarted and "
    "replaced while the client's connection, and with it the conversation, stays up.";

constexpr const char* footer = R"(
Example: put a server behind mcpivot in Claude Code
  claude mcp add my-server -- mcpivot -- node build/index.js

Example: an HTTP server, which you can restart whenever you like
  claude mcp add my-daemon -- mcpivot --url http://127.0.0.1:8080/mcp

The server speaks MCP over stdin and stdout; so does mcpivot. Its stderr goes to mcpivot's stderr and log.)";

std::vector<std::string> usage() {
  return {"mcpivot [OPTIONS] [--config FILE]",
          "mcpivot [OPTIONS] -- COMMAND [ARG...]",
          "mcpivot [OPTIONS] --url URL",
          "mcpivot [OPTIONS] --tools-from CLI",
          "mcpivot serve --listen ADDRESS [OPTIONS] [-- COMMAND...]",
          "mcpivot check|install|status|... [ARG...]  (below; each has a --help)"};
}

// The command that the line has got to, "mcpivot status" or "mcpivot" itself.
std::string command_of(const CLI::App& app) {
  const auto commands = app.get_subcommands();
  return commands.empty() ? "mcpivot" : "mcpivot " + commands.front()->get_name();
}

// The servers are in a file: then no option may be about a single one of them.
void take_config(const CLI::App& app, GatewayConfig& gateway, bool serves) {
  for (const char* name :
       {"--url", "--tools-from", "--name", "--cwd", "--env", "--build", "--watch", "--no-watch", "--on-save",
        "--swap", "--replay", "--verify", "--gate", "--era", "--drain", "--call-timeout", "--start-timeout",
        "--queue-timeout", "--max-message"})
    if (app.count(name) > 0 && !(serves && std::string_view(name) == "--drain"))
      throw CLI::ValidationError(name, "is about one server; with a config file, set it there");
  if (!gateway.servers.front().server.command.argv.empty())
    throw CLI::ValidationError("--config", "give either a file or a command after \"--\", not both");
  const auto file = find_config(gateway.file);
  if (!file) throw CLI::ValidationError("--config", file.error());
  gateway.file = *file;
  gateway.servers.clear();
}

void add_log_options(CLI::App& app, LogOptions& log) {
  app.add_option("--log", log.file,
                 "Log to this file (default: NAME.log under $XDG_STATE_HOME/mcpivot, 1 MB, rotating)")
      ->option_text("FILE");
  app.add_option("--log-level", log.level,
                 "trace (every message), debug, info (the default), warn, error or off")
      ->check(CLI::IsMember({"trace", "debug", "info", "warn", "error", "off"}))
      ->option_text("LEVEL");
}

void add_journal_options(CLI::App& app, JournalConfig& journal) {
  app.add_flag("--journal", journal.on,
               "Write every message, without secrets, into a journal; \"mcpivot journal\" shows it");
}

Front front_of(const std::string& era) {
  if (era == "legacy") return Front::legacy;
  return era == "modern" ? Front::modern : Front::automatic;
}

Compat compat_of(const std::string& program) {
  if (program == "mcpflow") return Compat::mcpflow;
  if (program == "mcp-sitter") return Compat::mcp_sitter;
  return program == "mcpflip" ? Compat::mcpflip : Compat::none;
}

Invocation wrong(std::string why) {
  Invocation invocation;
  invocation.exit_code = usage_error;
  invocation.err = std::move(why);
  return invocation;
}

// The whole command line, as used by the parser, the help, the man page and the completions.
struct CommandLine {
  Invocation invocation{};
  ServerTexts texts{};
  ServeTexts serving{};
  std::string shell{};
  CLI::App app{description, "mcpivot"};
  CLI::App* check = nullptr;
  CLI::App* serve = nullptr;
  CLI::App* man = nullptr;
  CLI::App* completion = nullptr;
  CLI::App* complete = nullptr;
  CLI::App* version = nullptr;
  std::vector<std::function<std::function<int()>()>> others{};  // commands that know how they are run

  CommandLine();
};

CommandLine::CommandLine() {
  Options& options = invocation.options;
  ServerConfig& server = options.gateway.servers.emplace_back().server;
  app.formatter(std::make_shared<CommandHelp>(usage()));
  app.footer(footer);
  app.require_subcommand(0, 1);  // a second name is an argument, such as a server called "tools"
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.set_version_flag("--version", "mcpivot " MCPIVOT_VERSION)->description("Print the version and exit");
  app.add_option("--config", options.gateway.file,
                 "Run the servers in this file. Default, if no server is given: ./mcpivot.json, or "
                 "$XDG_CONFIG_HOME/mcpivot/mcpivot.json")
      ->option_text("FILE");
  add_server_options(app, server, texts);
  add_log_options(app, options.log);
  add_journal_options(app, options.gateway.journal);
  app.option_defaults()->group("Time limits");
  add_time_limits(app, texts);
  app.option_defaults()->group("HTTP daemons");
  add_http_options(app, server.http, texts);
  app.option_defaults()->group("CLIs that describe their own tools");
  add_cli_options(app, texts.cli);
  app.option_defaults()->group("Options");
  serve = add_serve_command(app, serving, texts.durations.at("--drain"));
  check =
      add_command(app, "check", "[FILE | --tools-from CLI]",
                  "Explain a config file, or what --tools-from would serve, and list every problem in it");
  check->fallthrough();
  check->add_option("FILE", options.gateway.file, "The file (default: the one that mcpivot would use)")
      ->option_text(" ");
  others.push_back(add_install_commands(app));
  others.push_back(add_doctor_command(app));
  others.push_back(add_replay_command(app, server.command.argv));
  others.push_back(add_journal_command(app));
  others.push_back(add_login_commands(app));
  completion = add_command(app, "completion", "SHELL", "Print a shell's completion script");
  completion->add_option("SHELL", shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember(shells()))
      ->option_text(" ");
  completion->footer(completion_footer);
  man = add_command(app, "man", "", "Print the man page, for: mcpivot man | man -l -");
  version = add_command(app, "version", "", "Print the version and exit");
  others.push_back(add_control_commands(app));
  complete = add_command(app, "complete", "-- [WORD...]", "For shells: complete the last word");
  complete->group("");  // not meant to be typed
}

}  // namespace

Invocation parse_command_line(std::vector<std::string> arguments) {
  CommandLine line;
  CLI::App& app = line.app;
  Invocation& invocation = line.invocation;
  Options& options = invocation.options;
  ServerConfig& server = options.gateway.servers.front().server;
  // What follows "--" is the server's own command line, options and all.
  const auto separator = std::ranges::find(arguments, "--");
  if (separator != arguments.end()) server.command.argv.assign(separator + 1, arguments.end());
  const bool has_dashes = separator != arguments.end();
  arguments.erase(separator, arguments.end());
  const std::vector<std::string> words = arguments;

  try {
    std::ranges::reverse(arguments);  // as CLI11 expects them
    app.parse(arguments);
    for (const auto& other : line.others)
      if (invocation.instead = other(); invocation.instead) return invocation;
    if (*line.version) invocation.out = "mcpivot " MCPIVOT_VERSION "\n";
    if (*line.man) invocation.out = man_page(app, MCPIVOT_VERSION);
    if (*line.completion) invocation.out = completion_script(line.shell);
    if (*line.complete) invocation.out = completions(app, server.command.argv, running_names);
    if (!invocation.out.empty()) return invocation;
    take_server_options(app, line.texts, server);
    if (*line.serve) options.serve = serve_options(line.serving, line.texts);
    options.gateway.compat = compat_of(line.texts.compat);
    options.gateway.front = front_of(line.texts.front);
    if (*line.check && !options.gateway.file.empty() && server.cli)
      throw CLI::ValidationError("check", "give either a file or a CLI, not both");
    if (*line.check && !server.cli) {
      invocation.check = true;
      return invocation;
    }
    const bool no_server = server.command.argv.empty() && !server.is_daemon();
    if (!options.gateway.file.empty() || (no_server && find_config({}))) {
      take_config(app, options.gateway, options.serve.has_value());
      options.log.name = "mcpivot";
      invocation.run = true;
      return invocation;
    }
    if (no_server)
      return wrong(
          "mcpivot: no server to run. Put its command after \"--\", as in: mcpivot -- node server.js\n"
          "or give the address of a daemon with --url, or a file of servers with --config.\n"
          "Run mcpivot --help for more.\n");
    if (options.gateway.compat == Compat::mcpflow && server.build.empty())
      throw CLI::ValidationError("--compat", "mcpflow's only tool, recompile, needs --build");
  } catch (const CLI::ParseError& error) {
    const bool failed = error.get_exit_code() != 0;
    if (failed) {
      const std::string hint = misplaced_word(app, words, has_dashes, names_a_program);
      const std::string command = command_of(app);
      return wrong(fmt::format(
          "{}\nRun {} --help for more.\n",
          hint.empty() ? fmt::format("{}: {}", command, parse_error_text(error, app.remaining(true))) : hint,
          command));
    }
    std::ostringstream out;
    std::ostringstream err;
    invocation.exit_code = app.exit(error, out, err) == 0 ? 0 : usage_error;
    invocation.out = out.str();
    invocation.err = err.str();
    return invocation;
  }
  if (server.name.empty()) server.name = server_name(server.command);
  options.log.name = server.name;
  (*line.check ? invocation.check : invocation.run) = true;
  return invocation;
}

}  // namespace mcpivot
