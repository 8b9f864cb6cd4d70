// What is judged of the modern era: what its clients may be told, what answers must contain, and how a call
// that takes several rounds ends.
#include <fmt/format.h>

#include <algorithm>

#include "mcp/era.h"
#include "oracle.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::find_member;
using mcpivot::Kind;
using mcpivot::Message;
using mcpivot::Method;
using mcpivot::string_value;

namespace {

constexpr std::string_view bad_state = "requestState is not valid";

}  // namespace

// A client counts as modern from its first modern request on, unless it sends `initialize` before or after.
void Oracle::given_request(int who, Request& request, const Message& message) {
  const Asked& asked = request.asked;
  if (message.known == Method::initialize && !message.version) {
    shaken_.insert(who);
    modern_.erase(who);
  } else if (asked.modern && !asked.faulty && message.known != Method::discover && !shaken_.contains(who)) {
    modern_.insert(who);
  }
  if (!asked.modern && message.known != Method::discover && message.known != Method::initialize)
    mixed_.insert(who);
  if (asked.logs) want_logs_.insert(who);
  if (asked.is_listen) subscribed_[who].insert(asked.uris.begin(), asked.uris.end());
  if (asked.of == 0) return;
  const auto call = requests_.find(asked.of);
  request.goes_on = asked.honesty == Asked::Honesty::good && call != requests_.end() &&
                    call->second.since > reconfigured_ && no_crowds && is_at_work && is_at_work(asked.of);
}

// What isn't an answer. A modern client is told nothing that it didn't ask for.
void Oracle::judge_unasked(int who, const Message& message) {
  if (message.subscription) return judge_subscription(who, message);
  if (!is_modern(who) || message.known == Method::progress || message.kind == Kind::error) return;
  if (message.known == Method::log_message && want_logs_.contains(who)) return;
  // It may have been asked before it was one.
  if (message.known == Method::cancelled &&
      questions_[who].erase(std::string(message.text(message.request_id))) > 0)
    return;
  violate("a modern client is told what it did not ask for: " + brief(message.raw));
}

void Oracle::judge_subscription(int who, const Message& message) {
  const auto wrong = [&](std::string_view what) {
    violate(fmt::format("a subscription {}: {}", what, brief(message.raw)));
  };
  Request* const request = find(message.text(message.subscription));
  if (request == nullptr || !request->asked.is_listen) return wrong("that nobody has");
  if (request->asked.who != who) return wrong("of somebody else");
  if (request->state != State::open) return wrong("that isn't open");
  if (message.known == Method::acknowledged) {
    if (std::exchange(request->acknowledged, true)) wrong("is acknowledged twice");
    return;
  }
  if (!request->acknowledged) return wrong("that was not acknowledged");
  if (!request->asked.methods.contains(string_value(message.text(message.method))))
    return wrong("tells what it isn't for");
  if (message.known == Method::resource_updated &&
      !request->asked.uris.contains(string_value(message.text(message.uri))))
    wrong("tells of another resource");
}

bool Oracle::judge_era(int who, Request& request, const Message& message) {
  const Asked& asked = request.asked;
  const auto wrong = [&](std::string_view what) {
    violate(fmt::format("{} {}: {}", asked.number, what, brief(message.raw)));
  };
  const std::string_view result = message.text(message.result);
  const std::string type = string_value(find_member(result, "resultType"));
  if (asked.faulty && message.kind != Kind::error) wrong("says nothing of its era, and is served");
  // Once the configuration changes, the name in its next round may belong to another server.
  if (request.goes_on && request.since > reconfigured_ && message.kind == Kind::error &&
      message.raw.find(bad_state) != std::string_view::npos)
    wrong("goes on with a call that waits for it, and is refused");
  if (asked.is_listen && !request.acknowledged && message.kind == Kind::result)
    wrong("is a listen that ends before it was acknowledged");
  if (message.kind != Kind::result) return true;
  if (!asked.modern) {
    if (type == "input_required") wrong("is of the legacy era, and is asked by its answer");
    return type != "input_required";
  }
  if (type != "complete" && type != "input_required") wrong("has an answer without a resultType");
  if (asked.cacheable && type == "complete" &&
      (find_member(result, "ttlMs").empty() || find_member(result, "cacheScope").empty()))
    wrong("has an answer that doesn't say how long it is good");
  if (type != "input_required") return true;
  if (!asked.carries) wrong("can't require input");
  const std::string_view state = find_member(result, "requestState");
  if (state.empty() && find_member(result, "inputRequests").empty()) wrong("requires nothing");
  if (!state.empty()) states_[who] = string_value(state);
  count_use(asked);
  return false;
}

// A requestState was used: that is right once, and only for the client that it was given to.
void Oracle::count_use(const Asked& asked) {
  if (asked.of == 0 || asked.state.empty()) return;
  if (asked.honesty == Asked::Honesty::forged)
    violate(fmt::format("{} has the requestState {}, which it was not given, and is served", asked.number,
                        asked.state));
  if (++uses_[asked.state] > 1)
    violate(
        fmt::format("the requestState {} is good for more than one retry ({})", asked.state, asked.number));
}

bool Oracle::was_answered_in_rounds(int number) const {
  return was_answered_well(number) || std::ranges::any_of(requests_, [&](const auto& entry) {
           return entry.second.asked.of == number && entry.second.well;
         });
}

std::string Oracle::state_of_another(int who) const {
  for (const auto& [other, state] : states_)
    if (other != who) return state;
  return {};
}

// --- what servers see

void Oracle::bad_retry(int number, const std::string& server, const std::string& state) {
  // A server that replaces a legacy one gets the states of that one's calls.
  if (odd_states_.contains(state) || state.starts_with("secret")) return;
  // Names may have come to mean another server: when the fleet changed, or when its servers had listed
  // theirs.
  constexpr Millis until_listed{5'000};
  const auto found = requests_.find(number);
  if (found != requests_.end() && found->second.since < reconfigured_ + until_listed) return;
  violate(fmt::format("{} was sent a retry of {} with a requestState that isn't good: {}", server, number,
                      state));
}

void Oracle::resumed(int number, const std::string& server, bool complete) {
  const auto found = requests_.find(number);
  if (found == requests_.end())
    return violate(fmt::format("{} goes on with {}, which nobody asked for", server, number));
  if (!complete && !found->second.asked.modern)
    violate(fmt::format("{} was sent a retry of {} without all that it asked", server, number));
}

}  // namespace simulation
