#include "world/journal_secrets.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/text.h"
#include "config/credentials.h"

namespace mcpivot {
namespace {

using Secrets = std::vector<Secret>;

constexpr std::size_t most_known = 1'000;

void add(Secrets& secrets, std::string_view name, std::string_view value) {
  if (!Redactor::is_secret(name, value)) return;
  secrets.push_back({std::string(name), std::string(value)});
  // postgres://user:password@host: the password alone, too.
  const auto scheme = value.find("://");
  if (scheme == std::string_view::npos) return;
  const auto at = value.find('@', scheme);
  const auto colon = value.find(':', scheme + 3);
  if (at == std::string_view::npos || colon == std::string_view::npos || colon >= at) return;
  const std::string_view password = value.substr(colon + 1, at - colon - 1);
  if (Redactor::is_secret("password", password))
    secrets.push_back({std::string(name), std::string(password)});
}

// "Authorization: Bearer VALUE"; also what follows the scheme, alone.
void add_header(Secrets& secrets, std::string_view line) {
  const auto colon = line.find(':');
  if (colon == std::string_view::npos) return;
  const std::string name(trimmed(line.substr(0, colon)));
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (value.size() >= 4) secrets.push_back({name, std::string(value)});
  if (const auto space = value.rfind(' '); space != std::string_view::npos && value.size() - space > 4)
    secrets.push_back({name, std::string(value.substr(space + 1))});
}

// "--api-key=VALUE", "--api-key VALUE", or "--header" with what the servers that take it expect. Other
// arguments are seen by everybody, and aren't secrets.
void add_arguments(Secrets& secrets, const std::vector<std::string>& argv) {
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (!argv[i].starts_with("-")) continue;
    const auto equals = argv[i].find('=');
    const std::string name = argv[i].substr(0, equals);
    const std::string value = equals != std::string::npos ? argv[i].substr(equals + 1)
                              : i + 1 < argv.size()       ? argv[i + 1]
                                                          : std::string();
    if (name == "--header" || name == "-H")
      add_header(secrets, value);
    else if (Redactor::names_secret(name))
      add(secrets, name, value);
  }
}

void add_server(Secrets& secrets, const ServerConfig& server) {
  for (const auto& [name, value] : server.command.env) add(secrets, name, value);
  add_arguments(secrets, server.command.argv);
  for (const std::string& header : server.http.headers)
    if (const auto read = Credentials::from_headers({header}, own_variable))
      add_header(secrets, read->lines());
  add(secrets, "client_secret", server.http.oauth.client_secret);
}

}  // namespace

std::vector<Secret> secrets_in(const GatewayConfig& config) {
  Secrets secrets;
  for (const ServerEntry& entry : config.servers) add_server(secrets, entry.server);
  return secrets;
}

void add_secrets(Secrets& known, Secrets newer) {
  std::unordered_set<std::string_view> values;
  for (const Secret& secret : newer) values.insert(secret.value);
  std::erase_if(known, [&](const Secret& secret) { return values.contains(secret.value); });
  const std::size_t room = most_known - std::min(most_known, newer.size());
  if (known.size() > room) known.erase(known.begin(), known.end() - static_cast<std::ptrdiff_t>(room));
  std::ranges::move(newer, std::back_inserter(known));
}

}  // namespace mcpivot
