#include "config/server_draft.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/files.h"
#include "base/text.h"
#include "base/url.h"
#include "config/credentials.h"
#include "config/env_file.h"

namespace mcpivot {
namespace {

using Given = KeyReader::Given;

const Given* find(std::span<const Given> given, std::string_view key) {
  const auto found = std::ranges::find(given, key, [](const Given& one) { return one.key->name; });
  return found == given.end() ? nullptr : &*found;
}

// As for --url: a daemon is restarted by somebody else, which takes longer.
constexpr std::chrono::seconds daemon_queue_timeout(60);

constexpr std::size_t largest_env_file = 1024UL * 1024;

// Headers are filled in where they are sent, and clients' own spellings are not supported there.
std::string for_credentials(std::string text) {
  static constexpr std::string_view foreign = "${env:";
  for (auto at = text.find(foreign); at != std::string::npos; at = text.find(foreign, at))
    text.replace(at, foreign.size(), "${");
  return text;
}

bool says_kind(const Key& key) {
  return key.name == "command" || key.name == "url" || key.name == "cli";
}

// The kind that the entry states: for_stdio, for_http or for_cli; 0: none.
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
                   fmt::format("server \"{}\" needs one of \"command\" (a program), \"url\" (a daemon) or "
                               "\"cli\" (a program that describes its tools)",
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

void add_env_file(Draft& draft, const Given& key, ProblemList& problems) {
  auto& env = draft.entry.server.command.env;
  auto fail = [&](const std::string& why) {
    problems.error(key.place, fmt::format("\"{}\" of server \"{}\": {} {}", key.name, draft.entry.server.name,
                                          draft.env_file, why));
  };
  const auto text = read_small_file(draft.env_file, largest_env_file);
  if (!text) return fail(text.error());
  auto list = parse_env_file(*text);
  if (!list) return fail("cannot be understood: " + list.error());
  env.insert(env.begin(), list->begin(), list->end());  // the last one counts
}

void finish_daemon(Draft& draft, std::span<const Given> given, const Surroundings& surroundings,
                   ProblemList& problems) {
  ServerConfig& server = draft.entry.server;
  HttpConfig& http = server.http;
  const Given* address = find(given, "url");
  auto words = [&](std::string_view key, std::string_view what) {
    return fmt::format("\"{}\" of server \"{}\" {}", key, server.name, what);
  };
  const auto url = parse_url(http.url);
  if (!url) {
    // The address may contain the value of a variable: it is not shown.
    const std::string repeated = "'" + http.url + "' ";
    const std::string& why = url.error();
    problems.error(
        address->place,
        words(address->name, why.starts_with(repeated) ? why.substr(repeated.size()) : "is wrong: " + why));
  }
  for (const auto& [name, value] : draft.headers)
    http.headers.push_back(name + ": " + for_credentials(value));
  if (const Given* headers = find(given, "headers"))
    if (const auto checked = Credentials::from_headers(http.headers, surroundings.variable); !checked)
      problems.error(headers->place, words("headers", fmt::format("cannot be sent: {}", checked.error())));
  auto useless = [&](std::string_view key, bool when, std::string_view why) {
    if (const Given* one = find(given, key); one != nullptr && when)
      problems.warning(one->place, words(key, why));
  };
  const bool plain = url && !url->tls;
  useless("cacert", plain, "has an effect only with an https:// address");
  useless("insecure", plain && http.insecure, "has an effect only with an https:// address");
  useless("cacert", !plain && http.insecure, "has no effect with \"insecure\", which trusts any certificate");
  const OauthConfig& oauth = http.oauth;
  const bool has_header =
      std::ranges::any_of(draft.headers, [](const auto& one) { return lower(one.first) == "authorization"; });
  useless("oauth", has_header, "has no effect with the header Authorization, which is sent as it is");
  if (const Given* one = find(given, "client_metadata_url");
      one != nullptr && !oauth.client_metadata_url.starts_with("https://"))
    problems.error(one->place, words("client_metadata_url", "must be an https:// address"));
  if (const Given* one = find(given, "client_secret"); one != nullptr && oauth.client_id.empty())
    problems.error(one->place, words("client_secret", "needs \"client_id\""));
  useless("start_after", http.start.empty(), "has an effect only with \"start_command\"");
  useless("watch", !server.watch.empty() && server.build.empty() && http.start.empty() && http.stop.empty(),
          "needs \"build\", \"start_command\" or \"stop_command\"; otherwise there is nothing to do");
  if (find(given, "queue") == nullptr) server.queue_timeout = daemon_queue_timeout;
}

// What would have no effect is said.
void check_verify(const ServerConfig& server, std::span<const Given> given, ProblemList& problems) {
  const auto useless = [&](std::string_view key, std::string_view why) {
    if (const Given* one = find(given, key))
      problems.warning(one->place, fmt::format("\"{}\" of server \"{}\" {}", one->name, server.name, why));
  };
  if (!server.verify.wanted()) useless("gate", "has no effect without \"verify\"");
  if (server.verify.gate && server.swap == SwapMode::stop_first)
    useless("gate",
            "has no effect with \"swap\": \"stop-first\": the old generation is gone before the new one "
            "can be checked");
}

}  // namespace

ServerEntry finish_draft(Draft draft, const JsoncPlace& place, std::span<const Given> given,
                         const std::string& folder, const Surroundings& surroundings, ProblemList& problems) {
  ServerEntry& entry = draft.entry;
  ServerConfig& server = entry.server;
  const Kinds kind = kind_of(given, server.name, place, problems);
  if (kind == 0) return std::move(entry);
  check_kind(draft, kind, given, problems);
  if (const Given* file = find(given, "env_file"); file != nullptr && !draft.env_file.empty())
    add_env_file(draft, *file, problems);
  if (kind == for_stdio) {
    server.command.argv = std::move(draft.args);
    server.command.argv.insert(server.command.argv.begin(), std::move(draft.command));
  } else if (kind == for_http) {
    finish_daemon(draft, given, surroundings, problems);
  } else {
    server.command.argv = std::move(draft.cli);
    server.cli = std::move(draft.cli_config);
  }
  if (kind != for_http) server.http = {};
  server.sharing = entry.sharing.value_or(Sharing::per_client);
  check_verify(server, given, problems);
  // A server that is built or watched has its sources next to the file; a client's file has no such keys.
  const bool at_home = !server.build.empty() || !server.watch.empty() || !server.http.start.empty() ||
                       !server.http.stop.empty();
  if (server.command.cwd.empty() && at_home) server.command.cwd = folder;
  return std::move(entry);
}

}  // namespace mcpivot
