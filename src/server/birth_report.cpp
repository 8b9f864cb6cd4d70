#include "server/birth_report.h"

#include <fmt/format.h>

#include "base/duration_text.h"

namespace mcpivot {
namespace {

constexpr const char* memory_is_gone = " Anything it held in memory is gone.";

}  // namespace

std::string generation_headline(const NewGeneration& generation) {
  return fmt::format("[mcpivot] \"{}\" {}: generation {}, {}, ready in {} ({}).{}", generation.server,
                     generation.did, generation.number, generation.where, duration_text(generation.took),
                     generation.reason, generation.memory_gone ? memory_is_gone : "");
}

std::string session_headline(const NewGeneration& generation, bool daemon_restarted) {
  const auto& absence = generation.absence;
  std::string text = absence
                         ? fmt::format("[mcpivot] \"{}\" is back after {}: {} (it {}).", generation.server,
                                       duration_text(absence->length), generation.where, absence->why)
                         : fmt::format("[mcpivot] \"{}\": session {} with {}, ready in {} ({}).",
                                       generation.server, generation.number, generation.where,
                                       duration_text(generation.took), generation.reason);
  if (generation.reloaded)
    text += daemon_restarted ? fmt::format(" The daemon was restarted.{}", memory_is_gone)
                             : " The daemon itself was not restarted.";
  return text;
}

std::string binary_line(const NewProgram& program) {
  std::string line = fmt::format("\n{}: {}", program.is_binary ? "binary" : "file", program.file);
  if (program.version != program.version_before)
    line += fmt::format("; version {} → {}", program.version_before, program.version);
  return line;
}

std::string version_line(const NewProgram& program) {
  return fmt::format("\nversion {} → {}", program.version_before, program.version);
}

std::string birth_report(const BirthNews& news) {
  std::string text = news.headline;
  if (news.diff && news.diff->empty()) {
    text += "\ntools, prompts and resources: unchanged.";
  } else if (news.diff) {
    text += fmt::format("\n{}{}", news.was_guess ? "compared with its last run: " : "", *news.diff);
  }
  text += news.program;
  for (const std::string& failed : news.failed_replays) text += fmt::format("\nnot replayed: {}.", failed);
  if (!news.checked.empty()) text += fmt::format("\n{}", news.checked);
  if (!news.no_tools.empty()) text += fmt::format("\nIt has no tools: {}.", news.no_tools);
  return text;
}

std::string failure_report(std::string_view server, std::string_view trouble, std::string_view why,
                           std::optional<int> serving, std::string_view next) {
  while (why.ends_with('\n')) why.remove_suffix(1);
  std::string text =
      serving
          ? fmt::format("[mcpivot] the new generation of \"{}\" failed: {}\nGeneration {} is still serving.",
                        server, why, *serving)
          : fmt::format("[mcpivot] \"{}\" {}: {}", server, trouble, why);
  if (!next.empty()) text += fmt::format("\n{}", next);
  return text;
}

std::string held_report(std::string_view server, std::string_view checked, bool unreadable, int serving,
                        const ControlNames& control) {
  const std::string_view tool = control.rebuild.empty() ? control.restart : control.rebuild;
  const std::string by_tool =
      tool.starts_with("pivot_") ? fmt::format("{} with accept: true, or ", tool) : std::string();
  const std::string how = fmt::format("({}\"mcpivot accept {}\" in a terminal)", by_tool, server);
  const std::string next =
      unreadable
          ? fmt::format("fix the recorded calls and build again; or accept the build unchecked {}.", how)
          : fmt::format(
                "if the new answers are right, accept them {}; otherwise fix the code and build again.", how);
  return fmt::format(
      "[mcpivot] the new build of \"{}\" is held back, because it {}. {}\n"
      "Generation {} is still serving.\n"
      "Next: {}",
      server, unreadable ? "could not be checked" : "answers differently", checked, serving, next);
}

std::string unused_report(std::string_view server, std::string_view life, int number,
                          std::string_view where) {
  return fmt::format(
      "[mcpivot] \"{}\": {} {} ({}) is waiting for a client, and is initialized when one connects.", server,
      life, number, where);
}

}  // namespace mcpivot
