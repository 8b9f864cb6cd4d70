// What a simulated server does in the modern era: it asks in its results, reports changes to clients that
// listen, and requires every request to identify its client. And how it adopts the era of its first message.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "actor.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::Era;
using mcpivot::find_member;
using mcpivot::Message;
using mcpivot::Method;
using mcpivot::request_line;
using mcpivot::string_value;
namespace meta_key = mcpivot::meta_key;

namespace {

constexpr int unsupported_version = -32022;

// All strings in a list.
std::set<std::string> strings_in(std::string_view list) {
  std::set<std::string> found;
  if (!list.starts_with('[')) return found;
  mcpivot::JsonCursor cursor(list);
  cursor.array([&] {
    mcpivot::Span value;
    if (!cursor.value(value)) return false;
    found.insert(string_value(value.of(list)));
    return true;
  });
  return found;
}

std::string with_subscription(std::string_view id, std::string_view params) {
  return fmt::format(R"({{"_meta":{{"{}":{}}}{}{})", meta_key::subscription, id,
                     params.empty() || params == "{}" ? "" : ",", params.empty() ? "}" : params.substr(1));
}

// No such client has the last of these, and only rude servers ask for it.
std::string method_for(const std::string& capabilities, int number, bool rude) {
  static constexpr auto all =
      std::to_array<std::pair<const char*, const char*>>({{"elicitation/create", "elicitation"},
                                                          {"sampling/createMessage", "sampling"},
                                                          {"roots/list", "roots"}});
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& [method, capability] = all[(i + static_cast<std::size_t>(number)) % all.size()];
    if (rude || find_member(capabilities, capability).starts_with('{')) return method;
  }
  return {};
}

}  // namespace

// --- eras

bool Actor::takes_era(const Message& message) {
  const Era spoken = message.version && message.known != Method::initialize ? Era::modern : Era::legacy;
  const bool has = spoken == Era::modern ? tongue_.modern : tongue_.legacy;
  if (!era_ && has) era_ = spoken;
  const bool opens = message.known == Method::initialize || message.known == Method::discover;
  if (era_ && (era_ == spoken || !opens)) return true;
  refused_era_ = refused_era_ || !era_;
  if (!era_ && tongue_.foreign == Tongue::Foreign::silence) return ledger_.ignored(script_.name), false;
  if (!era_ && tongue_.foreign == Tongue::Foreign::exit && body_.can_exit())
    return body_.die("exited with code 64, because of the era"), false;
  if (!era_) ledger_.refused_era(script_.name);
  if (spoken == Era::modern) {
    error(message.text(message.id), mcpivot::code::method_not_found, "Method not found (of the other era)");
  } else {
    error(message.text(message.id), unsupported_version, "Unsupported protocol version (the other era)");
  }
  return false;
}

// Every request identifies its client.
bool Actor::judge_modern(const Message& message) {
  const std::string_view meta = message.text(message.meta);
  const bool good = mcpivot::same_id(message.text(message.version), mcpivot::modern_version) &&
                    find_member(meta, meta_key::client_capabilities).starts_with('{');
  if (!good) {
    ledger_.wrong(script_.name, "is of the modern era, and was sent: " + std::string(message.raw));
    error(message.text(message.id), mcpivot::code::invalid_params, "_meta is missing");
    return false;
  }
  switch (message.known) {
    case Method::initialize:
    case Method::ping:
    case Method::set_level:
    case Method::resources_subscribe:
    case Method::resources_unsubscribe:
      ledger_.wrong(script_.name, "is of the modern era, and was sent: " + std::string(message.raw));
      error(message.text(message.id), mcpivot::code::method_not_found, "Method not found");
      return false;
    default:
      return true;
  }
}

void Actor::discover(const Message& message) {
  const std::string_view id = message.text(message.id);
  switch (birth_) {
    case Birth::dies_in_handshake:
      return body_.die("was killed by SIGSEGV");
    case Birth::rejects:
      return error(id, -32000, "not today");
    case Birth::no_version:
      return result(id, R"({"capabilities":{}})");
    case Birth::garbage:
      body_.say("Listening on port 3000");
      body_.say(R"({"jsonrpc":"2.0","id":)" + std::string(id) + R"(,"result":{"supportedVersions")");
      return;
    default:
      break;
  }
  const std::string_view client = find_member(message.text(message.meta), meta_key::client_info);
  shared_ = string_value(find_member(client, "name")) == "mcpivot";
  ready_ = true;
  result(
      id,
      fmt::format(
          R"({{"supportedVersions":["2026-07-28"{}],"capabilities":{{"tools":{{"listChanged":true}},"prompts":{{"listChanged":true}},"resources":{{"subscribe":true,"listChanged":true}},"logging":{{}},"completions":{{}}}},"_meta":{{"{}":{{"name":"{}","version":"1.{}"}}}},"instructions":"of {}","ttlMs":1000,"cacheScope":"public"}})",
          tongue_.legacy ? R"(,"2025-11-25")" : "", meta_key::server_info, script_.name, script_.revision,
          script_.name));
}

// --- listens

void Actor::listen(const Message& message) {
  const std::string id(message.text(message.id));
  const std::string_view wanted = find_member(message.text(message.params), "notifications");
  if (tongue_.listening == Tongue::Listening::refuses || tongue_.listening == Tongue::Listening::unknown) {
    was_rude_ = true;
    return error(id, tongue_.listening == Tongue::Listening::unknown ? -32601 : -32000, "nobody may listen");
  }
  Listen& listen = listens_[id];
  for (const char* list : {"tools", "prompts", "resources"})
    if (find_member(wanted, fmt::format("{}ListChanged", list)) == "true")
      listen.methods.insert(fmt::format("notifications/{}/list_changed", list));
  listen.uris = strings_in(find_member(wanted, "resourceSubscriptions"));
  if (std::ranges::any_of(listen.uris, [](const std::string& uri) { return uri.ends_with("/refused"); })) {
    listens_.erase(id);
    return error(id, mcpivot::code::invalid_params, "there is no such resource");
  }
  if (!listen.uris.empty()) listen.methods.insert("notifications/resources/updated");
  listen.acknowledgement =
      request_line({}, "notifications/subscriptions/acknowledged",
                   with_subscription(id, fmt::format(R"({{"notifications":{}}})", wanted)));
  if (tongue_.listening == Tongue::Listening::silence) {
    was_rude_ = true;
    return;
  }
  acknowledge(listen);
  if (tongue_.listening != Tongue::Listening::ends) return;
  was_rude_ = true;
  body_.after(Millis(static_cast<int>(listens_.size()) * 20), [this, id] {
    if (tongue_.listening == Tongue::Listening::ends && listens_.erase(id) > 0)
      result(id, with_subscription(id, {}));
  });
}

void Actor::acknowledge(Listen& listen) {
  if (!std::exchange(listen.acknowledged, true)) body_.say(listen.acknowledgement);
}

void Actor::announce(std::string_view method, std::string_view params) {
  if (!is_modern()) return body_.say(request_line({}, method, params));
  for (const auto& [id, listen] : listens_) {
    if (!listen.acknowledged || !listen.methods.contains(std::string(method))) continue;
    const std::string uri = string_value(find_member(params, "uri"));
    if (uri.empty() || listen.uris.contains(uri))
      body_.say(request_line({}, method, with_subscription(id, params)));
  }
}

// --- rounds

// Some ask once, some several times, and some only ask to be called again.
void Actor::require_input(const Call& call, int round, const std::set<std::string>& missing) {
  if (!open_.contains(call.id)) return;
  const bool only_state = call.number % 5 == 1;
  const bool no_state = call.number % 5 == 2 && round == 1;
  Round next{.number = call.number, .round = round, .keys = {}};
  std::string requests;
  for (const char* key : {"first", "sec\\u006fnd"}) {
    const std::string name = string_value(fmt::format(R"("{}")", key));
    const std::string method = method_for(call.capabilities, call.number + static_cast<int>(next.keys.size()),
                                          tongue_.rude && call.number % 8 == 5);
    if (only_state || method.empty() || (!missing.empty() && !missing.contains(name))) continue;
    if (name != "first" && call.number % 2 == 0) continue;
    next.keys.insert(name);
    requests +=
        fmt::format(R"({}"{}":{{"method":"{}","params":{{"n":{},"key":"{}","of":"{}","canary":"{}"}}}})",
                    requests.empty() ? "" : ",", key, method, call.number, name,
                    shared_ ? "shared-round" : "one", call.canary);
  }
  if (next.keys.empty() && !only_state) return finish(call);
  open_.erase(call.id);
  std::string more;
  if (!requests.empty()) more += fmt::format(R"(,"inputRequests":{{{}}})", requests);
  if (!no_state) {
    const std::string state =
        fmt::format("state \"{}\" of {}, {}, {}", ++script_.last_state, script_.name, call.number, round);
    more += fmt::format(R"(,"requestState":{})", mcpivot::quote(state));
    (*script_.rounds)[state] = std::move(next);
  }
  result(call.id, fmt::format(R"({{"resultType":"input_required"{}}})", more));
}

bool Actor::resume(const Call& call, const Message& message) {
  const std::string_view responses = find_member(message.text(message.params), "inputResponses");
  if (!message.request_state && responses.empty()) return false;
  const std::string state = string_value(message.text(message.request_state));
  std::set<std::string> asked{"first"};
  int round = 1;
  if (message.request_state) {
    const auto found = script_.rounds->find(state);
    if (found == script_.rounds->end() || found->second.used || found->second.number != call.number) {
      open_.erase(call.id);
      ledger_.bad_retry(call.number, script_.name, state);
      error(call.id, mcpivot::code::invalid_params, "this requestState is not valid");
      return true;
    }
    found->second.used = true;
    asked = found->second.keys;
    round = found->second.round;
  }
  std::set<std::string> missing;
  for (const std::string& key : asked) {
    const std::string_view response = find_member(responses, key);
    if (!response.starts_with('{')) {
      missing.insert(key);
      continue;
    }
    const std::string to = string_value(find_member(response, "to"));
    if (to != fmt::format("{}/{}", key, call.number) && find_member(response, "action") != R"("cancel")")
      ledger_.wrong(script_.name, "was given the answer to another question: " + std::string(message.raw));
  }
  ledger_.resumed(call.number, script_.name, missing.empty());
  if (!missing.empty()) {
    require_input(call, round, missing);
  } else if (round < 1 + call.number % 3 || (tongue_.rude && call.number % 8 == 6)) {
    require_input(call, round + 1, {});
  } else {
    finish(call);
  }
  return true;
}

}  // namespace simulation
