#include "server/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/contains.h"
#include "mcp/era.h"
#include "mcp/log_levels.h"
#include "mcp/resource_uri.h"
#include "rpc/answers.h"
#include "rpc/edit.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Whether a call's argument is this value: strings are compared without quotes, other JSON by its text.
bool has_argument(std::string_view params, const ReplayRule& rule) {
  if (rule.key.empty()) return true;
  const std::string_view value = find_member(find_member(params, "arguments"), rule.key);
  return value.starts_with('"') ? string_value(value) == rule.value : value == rule.value;
}

// The client's own token might equal one of our ids at the server.
constexpr std::string_view token_of_nobody = R"("repeated by mcpivot")";

// Whether it answers questions of an earlier round, which the next generation has not asked.
bool goes_on_with_a_call(const Message& request) {
  return request.request_state || !find_member(request.text(request.params), "inputResponses").empty();
}

// A URI can be spelled in several ways. What isn't a string is as good as its text.
std::string uri_in(std::string_view params) {
  const std::string_view uri = find_member(params, "uri");
  return uri.starts_with('"') ? string_value(uri) : std::string(uri);
}

// Lower is more verbose.
std::size_t rank_of_level(std::string_view params) {
  return rank_of(string_value(find_member(params, "level")));
}

}  // namespace

bool Replay::learn(const Generation::Requests::Request& request, const Message& answer) {
  const bool call = request.known == Method::tools_call && !rules_.empty();
  const bool setting = request.known == Method::set_level || request.known == Method::resources_subscribe ||
                       request.known == Method::resources_unsubscribe;
  if ((!call && !setting) || answer.kind != Kind::result) return true;
  const Message asked = request.kept.message();
  if (setting) return learn_setting(request.origin.client, request.known, asked.text(asked.params));
  learn_call(request.origin.client, asked, answer);
  return true;
}

bool Replay::learn_setting(ClientId by, Method method, std::string_view params) {
  Settings& settings = settings_[whose(by)];
  if (method == Method::set_level) {
    settings.log_level = params;
    return true;
  }
  settings.subscriptions.erase(uri_in(params));
  if (method != Method::resources_subscribe) return true;
  if (settings.subscriptions.size() >= most_subscriptions) return false;
  settings.subscriptions.emplace(uri_in(params), params);
  return true;
}

// Not tasks: how one ends isn't known yet, and no client would fetch the result of another.
void Replay::learn_call(ClientId by, const Message& request, const Message& answer) {
  const std::string_view result = answer.text(answer.result);
  if (request.task || goes_on_with_a_call(request) || is_input_required(result)) return;
  if (answer.is_error) return;
  const std::string line =
      spliced(request.raw, Edits().replace(request.progress_token, token_of_nobody).list());
  const Message repeated = *read_message(line);
  const std::string_view params = repeated.text(repeated.params);
  for (const ReplayRule& rule : rules_) {
    if (!request.name || string_value(request.text(request.name)) != rule.tool) continue;
    if (!has_argument(params, rule)) continue;
    std::erase_if(calls_, [&](const Made& made) { return made.call.rule == rule; });
    calls_.push_back({whose(by), {rule, std::string(params)}});
    return;
  }
}

std::string Replay::level() const {
  std::string most;
  for (const auto& [client, settings] : settings_)
    if (!settings.log_level.empty() &&
        (most.empty() || rank_of_level(settings.log_level) < rank_of_level(most)))
      most = settings.log_level;
  return most;
}

std::vector<std::string> Replay::subscriptions_of(ClientId client) const {
  return memory(client).subscriptions;
}

bool Replay::has_subscriptions() const {
  return std::ranges::any_of(settings_,
                             [](const auto& entry) { return !entry.second.subscriptions.empty(); });
}

bool Replay::is_subscribed(std::string_view uri) const {
  return std::ranges::any_of(settings_,
                             [&](const auto& entry) { return entry.second.subscriptions.contains(uri); });
}

std::vector<ClientId> Replay::subscribers(std::string_view uri) const {
  std::vector<ClientId> all;
  for (const auto& [client, settings] : settings_)
    if (std::ranges::any_of(settings.subscriptions,
                            [&](const auto& entry) { return is_within(uri, entry.first); }))
      all.push_back(client);
  return all;
}

Replay::Memory Replay::memory(ClientId client) const {
  Memory memory;
  if (const auto found = settings_.find(client); found != settings_.end()) {
    memory.log_level = found->second.log_level;
    for (const auto& [uri, params] : found->second.subscriptions) memory.subscriptions.push_back(params);
  }
  for (const Made& made : calls_)
    if (made.by == client) memory.calls.push_back(made.call);
  return memory;
}

// Calls that others have made since take precedence.
void Replay::set_memory(ClientId client, Memory memory) {
  settings_[client] = {.log_level = std::move(memory.log_level)};
  for (const std::string& params : memory.subscriptions)
    learn_setting(client, Method::resources_subscribe, params);
  for (Kept& call : memory.calls)
    if (std::ranges::none_of(calls_, [&](const Made& made) { return made.call.rule == call.rule; }))
      calls_.push_back({client, std::move(call)});
}

std::vector<Replay::Call> Replay::calls() const {
  std::vector<Call> calls;
  if (const std::string most = level(); !most.empty())
    calls.push_back({"logging/setLevel", most, "the log level"});
  std::set<std::string_view> subscribed;
  for (const auto& [client, settings] : settings_)
    for (const auto& [uri, params] : settings.subscriptions)
      if (subscribed.insert(uri).second)
        calls.push_back({"resources/subscribe", params,
                         "the subscription of " + std::string(find_member(params, "uri"))});
  for (const auto& [by, kept] : calls_)
    if (contains(rules_, kept.rule))
      calls.push_back({"tools/call", kept.params, "the call of " + kept.rule.tool});
  return calls;
}

void Replay::drop(const Call& call) {
  for (auto& [client, settings] : settings_) {
    if (call.method == "logging/setLevel" && settings.log_level == call.params) settings.log_level.clear();
    if (call.method == "resources/subscribe") settings.subscriptions.erase(uri_in(call.params));
  }
  if (call.method == "tools/call")
    std::erase_if(calls_, [&](const Made& made) { return made.call.params == call.params; });
}

std::string too_many_subscriptions(std::string_view id) {
  return error_answer(
      id, code::invalid_request,
      fmt::format("there are already {} subscriptions, which is the limit", Replay::most_subscriptions));
}

}  // namespace mcpivot
