#include "config/server_draft.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace mcpivot {
namespace {

using Given = KeyReader::Given;

const Given* find(std::span<const Given> given, std::string_view key) {
  const auto found = std::ranges::find(given, key, [](const Given& one) { return one.key->name; });
  return found == given.end() ? nullptr : &*found;
}

std::optional<ServerKind> kind_of(std::span<const Given> given, const std::string& name,
                                  const JsoncPlace& place, ProblemList& problems) {
  struct Candidate {
    std::string_view key;
    ServerKind kind;
  };
  static constexpr std::array<Candidate, 3> candidates{
      {{"command", ServerKind::stdio}, {"url", ServerKind::http}, {"cli", ServerKind::cli}}};
  const Given* first = nullptr;
  std::optional<ServerKind> kind;
  for (const Given& one : given) {
    const auto candidate = std::ranges::find(candidates, one.key->name, &Candidate::key);
    if (candidate == candidates.end()) continue;
    if (first == nullptr) {
      first = &one;
      kind = candidate->kind;
    } else {
      problems.error(one.place, fmt::format("server \"{}\" has \"{}\" as well as \"{}\"; keep one of them",
                                            name, one.name, first->name));
    }
  }
  if (!kind)
    problems.error(place,
                   fmt::format("server \"{}\" has none of \"command\" (a program), \"url\" (a daemon) and "
                               "\"cli\" (a program that describes its tools); give it one of them",
                               name));
  return kind;
}

std::string_view kind_word(Kinds kinds) {
  if (kinds == for_stdio) return "\"command\"";
  if (kinds == for_http) return "\"url\"";
  if (kinds == for_cli) return "\"cli\"";
  if (kinds == (for_stdio | for_http)) return "\"command\" or \"url\"";
  return "\"command\" or \"cli\"";
}

void check_kind(const Draft& draft, ServerKind kind, std::span<const Given> given, ProblemList& problems) {
  const std::string& name = draft.entry.server.name;
  for (const Given& one : given)
    if ((one.key->kinds & kinds_bit(kind)) == 0 &&
        !(one.key->kinds == for_stdio && one.key->name == "command") && one.key->name != "url" &&
        one.key->name != "cli")
      problems.warning(one.place, fmt::format("\"{}\" of server \"{}\" is ignored: it is for servers with {}",
                                              one.name, name, kind_word(one.key->kinds)));
  if (const Given* type = find(given, "type")) {
    const std::string_view word = type->key->choices[draft.type];
    const bool stdio = word == "stdio";
    if (stdio == (kind == ServerKind::http))
      problems.error(type->place,
                     fmt::format("\"{}\" of server \"{}\" is \"{}\", but it has {}; remove one of them",
                                 type->name, name, word, kind_word(kinds_bit(kind))));
  }
}

}  // namespace

ServerEntry finish_draft(Draft draft, const JsoncPlace& place, std::span<const Given> given,
                         const std::string& folder, const Surroundings& surroundings, ProblemList& problems) {
  ServerEntry& entry = draft.entry;
  ServerConfig& server = entry.server;
  const auto kind = kind_of(given, server.name, place, problems);
  if (!kind) return std::move(entry);
  entry.kind = *kind;
  entry.place = place;
  check_kind(draft, *kind, given, problems);
  // What builds or watches has its sources beside the file; a client's file has neither.
  if (server.command.cwd.empty() && (!server.build.empty() || !server.watch.empty()))
    server.command.cwd = folder;
  switch (*kind) {
    case ServerKind::stdio:
      server.command.argv = std::move(draft.args);
      server.command.argv.insert(server.command.argv.begin(), std::move(draft.command));
      break;
    case ServerKind::http:
    case ServerKind::cli:
      break;
  }
  (void)surroundings;
  return std::move(entry);
}

}  // namespace mcpivot
