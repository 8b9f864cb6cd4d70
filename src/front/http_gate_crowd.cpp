// What terminals learn about HTTP clients, and how they end a session.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/utf8.h"
#include "front/http_gate.h"
#include "mcp/era.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

using std::chrono::duration_cast;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Enough to tell sessions apart. A uid is useless for connecting: that takes the sealed id.
constexpr std::size_t short_id = 10;
constexpr std::size_t most_stored = 1'000;
constexpr std::size_t longest_program = 60;

std::chrono::sys_seconds now() {
  return std::chrono::floor<seconds>(std::chrono::system_clock::now());
}

std::string short_id_of(const std::string& uid) {
  return uid.substr(0, short_id);
}

std::string name_of(const std::string& principal) {
  return principal.empty() ? nameless : principal;
}

// "claude-code 2.1.0", from what a client says about itself, which may be anything.
std::string program_in(std::string_view hello) {
  const std::string_view info = find_member(hello, "clientInfo");
  std::string program;
  for (const char* member : {"name", "version"}) {
    const std::string_view text = find_member(info, member);
    if (text.starts_with('"')) program += (program.empty() ? "" : " ") + string_value(text);
  }
  return shown_text(program, longest_program);
}

seconds since(std::chrono::sys_seconds time) {
  return std::max(now() - time, seconds(0));
}

}  // namespace

std::vector<ClientFacts> HttpGate::facts() const {
  const Clock::Time at = world_.timers().now();
  std::vector<ClientFacts> all;
  for (const auto& [id, life] : lives_) {
    WebClient& client = *life.client;
    const bool modern = client.era() == Era::modern;
    const bool idle = client.calls() == 0;
    all.push_back({.id = id,
                   .name = name_of(life.who.principal),
                   .profile = life.profile,
                   .session = short_id_of(life.uid),
                   .era = client.era(),
                   .version = string_value(modern ? std::string_view(modern_version) : client.version()),
                   .program = program_in(client.desk().hello()),
                   .age = duration_cast<milliseconds>(at - client.began()),
                   .idle = idle ? duration_cast<milliseconds>(at - client.last_used()) : milliseconds(0),
                   .made = client.calls_made(),
                   .under_way = client.calls(),
                   .streams = client.streams()});
  }
  std::ranges::reverse(all);  // ids count up
  return all;
}

std::string HttpGate::label(ClientId client) const {
  const auto found = lives_.find(client);
  if (found == lives_.end()) return {};
  const Life& life = found->second;
  const std::string name = name_of(life.who.principal);
  return life.uid.empty() ? name : fmt::format("{} ({})", name, short_id_of(life.uid));
}

SessionFacts HttpGate::facts_of(const Life& life) const {
  const auto idle = world_.timers().now() - life.client->last_used();
  return {.id = short_id_of(life.uid),
          .name = name_of(life.who.principal),
          .profile = life.profile,
          .program = program_in(life.client->desk().hello()),
          .live = true,
          .age = since(life.expires - settings_.session_life),
          .idle = life.client->calls() == 0 ? duration_cast<seconds>(idle) : seconds(0)};
}

SessionFacts HttpGate::facts_of(const SessionRecord& record) const {
  return {.id = short_id_of(record.uid),
          .name = name_of(record.principal),
          .profile = record.profile,
          .program = program_in(record.hello),
          .live = false,
          .age = since(record.expires - settings_.session_life),
          .idle = since(record.updated)};
}

// Live sessions, and sessions that are only in the store.
SessionList HttpGate::sessions_with(const SessionDb::Listed& stored) const {
  SessionList list;
  for (const auto& [uid, id] : sessions_)
    if (const Life& life = lives_.at(id); life.expires != std::chrono::sys_seconds())
      list.sessions.push_back(facts_of(life));
  for (const SessionRecord& record : stored.records)
    if (!sessions_.contains(record.uid) && !store_.revoked(record.uid))
      list.sessions.push_back(facts_of(record));
  std::ranges::stable_sort(list.sessions, {}, &SessionFacts::idle);
  list.left_out = stored.all - std::min(stored.all, stored.records.size());
  return list;
}

void HttpGate::list_sessions(std::function<void(SessionList)> then) {
  store_.list({}, now(), most_stored, [this, then = std::move(then)](const SessionDb::Listed& stored) {
    then(sessions_with(stored));
  });
}

void HttpGate::end_session(const std::string& id,
                           std::function<void(std::expected<SessionFacts, std::string>)> then) {
  store_.list(id, now(), 2, [this, id, then = std::move(then)](const SessionDb::Listed& stored) {
    std::map<std::string, SessionFacts> meant;  // by uid
    for (const auto& [uid, client] : sessions_)
      if (!id.empty() && uid.starts_with(id)) meant.emplace(uid, facts_of(lives_.at(client)));
    for (const SessionRecord& record : stored.records)
      if (!id.empty() && !store_.revoked(record.uid)) meant.emplace(record.uid, facts_of(record));
    if (meant.size() != 1)
      return then(std::unexpected(fmt::format(
          "{} with \"{}\"; \"mcpivot sessions\" lists them",
          meant.empty() ? "no session has an id that begins" : "several sessions have an id that begins",
          shown_text(id))));
    const auto& [uid, facts] = *meant.begin();
    revoke(uid, [this, then, ended = facts](bool written) {
      if (written) return then(ended);
      then(
          std::unexpected(fmt::format("session {} has ended, but may come back when mcpivot is restarted: {}",
                                      ended.id, store_.trouble())));
    });
  });
}

}  // namespace mcpivot
