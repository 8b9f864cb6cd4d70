#include "server/replay.h"

#include <algorithm>

#include "base/contains.h"
#include "rpc/edit.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Whether a call's argument is this value: "connect" as it stands, other JSON by its text.
bool has_argument(std::string_view params, const ReplayRule& rule) {
  if (rule.key.empty()) return true;
  const std::string_view value = find_member(find_member(params, "arguments"), rule.key);
  return value.starts_with('"') ? string_value(value) == rule.value : value == rule.value;
}

// A token of the client's own might be an id of ours, toward the server.
constexpr std::string_view token_of_nobody = R"("repeated by mcpivot")";

bool same_uri(std::string_view params, std::string_view other) {
  return same_id(find_member(params, "uri"), find_member(other, "uri"));
}

}  // namespace

void Replay::learn(const Generation::Requests::Request& request, const Message& answer) {
  const bool call = request.known == Method::tools_call && !rules_.empty();
  const bool setting = request.known == Method::set_level || request.known == Method::resources_subscribe ||
                       request.known == Method::resources_unsubscribe;
  if ((!call && !setting) || answer.kind != Kind::result) return;
  const Message asked = request.kept.message();
  if (setting) return learn_setting(request.known, asked.text(asked.params));
  learn_call(asked, answer);
}

void Replay::learn_setting(Method method, std::string_view params) {
  if (method == Method::set_level) {
    memory_.log_level = params;
    return;
  }
  std::erase_if(memory_.subscriptions, [&](const std::string& kept) { return same_uri(kept, params); });
  if (method == Method::resources_subscribe) memory_.subscriptions.emplace_back(params);
}

// How a task ends is not known yet, and nobody would fetch the result of another one.
void Replay::learn_call(const Message& request, const Message& answer) {
  if (request.task || find_member(answer.text(answer.result), "isError") == "true") return;
  const std::string line =
      spliced(request.raw, Edits().replace(request.progress_token, token_of_nobody).list());
  const Message repeated = *read_message(line);
  const std::string_view params = repeated.text(repeated.params);
  for (const ReplayRule& rule : rules_) {
    if (!request.name || string_value(request.text(request.name)) != rule.tool) continue;
    if (!has_argument(params, rule)) continue;
    std::erase_if(memory_.calls, [&](const Kept& kept) { return kept.rule == rule; });
    memory_.calls.push_back({rule, std::string(params)});
    return;
  }
}

std::vector<Replay::Call> Replay::calls() const {
  std::vector<Call> calls;
  if (!memory_.log_level.empty()) calls.push_back({"logging/setLevel", memory_.log_level, "the log level"});
  for (const std::string& params : memory_.subscriptions)
    calls.push_back(
        {"resources/subscribe", params, "the subscription of " + std::string(find_member(params, "uri"))});
  for (const Kept& kept : memory_.calls)
    if (contains(rules_, kept.rule))
      calls.push_back({"tools/call", kept.params, "the call of " + kept.rule.tool});
  return calls;
}

void Replay::drop(const Call& call) {
  if (call.method == "logging/setLevel") memory_.log_level.clear();
  if (call.method == "resources/subscribe") std::erase(memory_.subscriptions, call.params);
  if (call.method == "tools/call")
    std::erase_if(memory_.calls, [&](const Kept& kept) { return kept.params == call.params; });
}

}  // namespace mcpivot
