#include "config/server_draft.h"

#include <fmt/format.h>

#include <algorithm>

namespace mcpivot {
namespace {

using Given = KeyReader::Given;

const Given* find(std::span<const Given> given, std::string_view key) {
  const auto found = std::ranges::find(given, key, [](const Given& one) { return one.key->name; });
  return found == given.end() ? nullptr : &*found;
}

bool says_kind(const Key& key) {
  return key.name == "command" || key.name == "url" || key.name == "cli";
}

// What is said of the kind: for_stdio, for_http or for_cli; 0: nothing.
Kinds kind_of(std::span<const Given> given, const std::string& name, const JsoncPlace& place,
              ProblemList& problems) {
  const Given* first = nullptr;
  Kinds kind = 0;
  for (const Given& one : given) {
    if (!says_kind(*one.key)) continue;
    if (first == nullptr) {
      first = &one;
      kind = one.key->kinds;
    } else {
      problems.error(one.place, fmt::format("server \"{}\" has \"{}\" as well as \"{}\"; keep one of them",
                                            name, one.name, first->name));
    }
  }
  if (kind == 0)
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

void check_kind(const Draft& draft, Kinds kind, std::span<const Given> given, ProblemList& problems) {
  const std::string& name = draft.entry.server.name;
  for (const Given& one : given)
    if ((one.key->kinds & kind) == 0 && !says_kind(*one.key))
      problems.warning(one.place, fmt::format("\"{}\" of server \"{}\" is ignored: it is for servers with {}",
                                              one.name, name, kind_word(one.key->kinds)));
  if (const Given* type = find(given, "type")) {
    const std::string_view word = type->key->choices[draft.type];
    const bool stdio = word == "stdio";
    if (stdio == (kind == for_http))
      problems.error(type->place,
                     fmt::format("\"{}\" of server \"{}\" is \"{}\", but it has {}; remove one of them",
                                 type->name, name, word, kind_word(kind)));
  }
}

}  // namespace

ServerEntry finish_draft(Draft draft, const JsoncPlace& place, std::span<const Given> given,
                         const std::string& folder, const Surroundings& surroundings, ProblemList& problems) {
  ServerEntry& entry = draft.entry;
  ServerConfig& server = entry.server;
  const Kinds kind = kind_of(given, server.name, place, problems);
  if (kind == 0) return std::move(entry);
  check_kind(draft, kind, given, problems);
  // What builds or watches has its sources beside the file; a client's file has neither.
  if (server.command.cwd.empty() && (!server.build.empty() || !server.watch.empty()))
    server.command.cwd = folder;
  if (kind == for_stdio) {
    server.command.argv = std::move(draft.args);
    server.command.argv.insert(server.command.argv.begin(), std::move(draft.command));
  } else if (kind == for_cli) {
    server.command.argv = std::move(draft.cli);
    server.cli = std::move(draft.cli_config);
  }
  (void)surroundings;
  return std::move(entry);
}

}  // namespace mcpivot
