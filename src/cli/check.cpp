#include "cli/check.h"

#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <cstdio>

#include "base/counted.h"
#include "base/duration_text.h"
#include "base/utf8.h"
#include "cli/check_config.h"
#include "cli/say.h"
#include "clitools/schema_fetch.h"
#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

constexpr std::size_t longest_description = 70;

std::string first_line(std::string_view json_string) {
  std::string text = json_string.starts_with('"') ? string_value(json_string) : std::string();
  text.resize(std::min(text.find('\n'), text.size()));
  if (text.size() <= longest_description) return text;
  std::size_t cut = longest_description;
  while (cut > 0 && continues_character(text[cut])) --cut;
  return text.substr(0, cut) + "…";
}

// "string, one of "a" or "b"", as far as that is obvious.
std::string type_text(std::string_view schema) {
  if (const std::string_view values = find_member(schema, "enum"); !values.empty())
    return fmt::format("one of {}", values);
  const std::string_view type = find_member(schema, "type");
  if (type.empty()) return "any value";
  return type.starts_with('"') ? string_value(type) : std::string(type);
}

void describe(const ToolSpec& tool) {
  say(fmt::format("  {}  {}", tool.name, first_line(find_member(tool.listed, "description"))));
  const std::string_view schema = find_member(tool.listed, "inputSchema");
  const auto required = elements_of(find_member(schema, "required"));
  const Arguments properties(find_member(schema, "properties"));
  for (const auto& [name, property] : properties.all()) {
    const bool needed = std::ranges::any_of(
        required, [&](std::string_view one) { return one.starts_with('"') && string_value(one) == name; });
    say(fmt::format("      {}: {}{}", name, type_text(property), needed ? "" : ", optional"));
  }
}

void describe(const std::vector<SchemaProblem>& problems, bool mistakes) {
  const auto count = std::ranges::count(problems, mistakes, &SchemaProblem::mistake);
  if (count == 0) return;
  say(fmt::format("\n{} {}", count, mistakes ? "to fix:" : "worth knowing:"));
  for (const SchemaProblem& problem : problems)
    if (problem.mistake == mistakes) say(fmt::format("  {}: {}", problem.place, problem.what));
}

}  // namespace

int check(const Options& options) {
  if (!options.gateway.servers.front().server.cli) return check_config(options.gateway.file);
  Guard guard;
  guard.start();
  ::signal(SIGPIPE, SIG_IGN);
  boost::asio::io_context loop(1);
  const ServerConfig& server = options.gateway.servers.front().server;
  Command command = server.command;
  command.argv.insert(command.argv.end(), server.cli->schema_args.begin(), server.cli->schema_args.end());
  int exit_code = 0;
  const SchemaFetch fetch(
      loop, guard, command, server.start_timeout, server.start_timeout,
      {.on_stderr_line = [](const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); },
       .on_done =
           [&](const std::expected<ToolSchema, std::string>& schema, std::chrono::milliseconds took) {
             if (!schema) {
               say(fmt::format("\"{}\" serves nothing: {}", server.name, schema.error()));
               exit_code = 1;
               return;
             }
             say(fmt::format("{}: {}, described in {}", command_text(command.argv),
                             counted(schema->tools.size(), "tool"), duration_text(took)));
             for (const ToolSpec& tool : schema->tools) describe(tool);
             describe(schema->problems, true);
             describe(schema->problems, false);
             if (std::ranges::any_of(schema->problems, &SchemaProblem::mistake)) exit_code = 1;
           }});
  loop.run();
  return exit_code;
}

}  // namespace mcpivot
