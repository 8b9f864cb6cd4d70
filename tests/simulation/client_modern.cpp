// What a simulated client does in the modern era: it identifies itself in each request, listens, and retries
// calls with the answers to questions; some retry with something else, twice, or never.
#include <fmt/format.h>

#include <utility>

#include "client.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace simulation {

using mcpivot::find_member;
using mcpivot::request_line;
using mcpivot::string_value;
namespace meta_key = mcpivot::meta_key;
using Honesty = Asked::Honesty;

std::string response_to(const std::string& method, std::string_view params) {
  const std::string to =
      fmt::format("{}/{}", string_value(find_member(params, "key")), find_member(params, "n"));
  if (method == "elicitation/create")
    return fmt::format(R"({{"action":"accept","content":{{}},"to":"{}"}})", to);
  if (method == "sampling/createMessage")
    return fmt::format(
        R"({{"role":"assistant","content":{{"type":"text","text":"yes"}},"model":"m","to":"{}"}})", to);
  if (method == "ping") return "{}";
  return fmt::format(R"({{"roots":[],"to":"{}"}})", to);
}

bool Client::speaks_modern(int number) const {
  switch (speech_) {
    case Speech::legacy:
      return false;
    case Speech::mixed:
      return number % 3 != 0;
    case Speech::modern:
    case Speech::dual:
      break;
  }
  return true;
}

std::string Client::capabilities() const {
  return Oracle::capabilities(seat_.who);
}

std::string Client::meta(const Asked& asked) const {
  std::string members = fmt::format(R"("{}":"2026-07-28","{}":{{"name":"sim{}","version":"1"}})",
                                    meta_key::version, meta_key::client_info, seat_.guest);
  if (!asked.faulty) members += fmt::format(R"(,"{}":{})", meta_key::client_capabilities, capabilities());
  if (asked.logs) members += fmt::format(R"(,"{}":"info")", meta_key::log_level);
  return members;
}

// Tells the oracle, and keeps what may have to be asked again.
std::string Client::line_of(Asked asked, const std::string& method, std::string members) {
  std::string meta_members =
      asked.has_token ? fmt::format(R"("progressToken":{})", Oracle::token(asked.number)) : "";
  if (asked.modern) {
    asked.faulty = is_faulty(asked.number) && method != "server/discover";
    asked.logs = asked.number % 6 == 0;
    asked.carries = method == "tools/call" || method == "prompts/get" || method == "resources/read";
    asked.cacheable = method.ends_with("/list") || method == "server/discover" || method == "resources/read";
    if (asked.carries) kept_[Oracle::spelled(asked.number)] = {method, members, asked};
    meta_members += (meta_members.empty() ? "" : ",") + meta(asked);
  }
  oracle_.will_ask(asked);
  if (!meta_members.empty())
    members += fmt::format(R"({}"_meta":{{{}}})", members.empty() ? "" : ",", meta_members);
  return request_line(Oracle::spelled(asked.number), method, "{" + members + "}");
}

// What discover said decides the era of everything else.
void Client::decide(std::string_view discovered) {
  const bool modern =
      find_member(discovered, "supportedVersions").find("2026-07-28") != std::string_view::npos;
  speech_ = modern ? Speech::modern : Speech::legacy;
  if (!modern) {
    initialize(own_number(), "2025-11-25");
    ready();
  }
  for (const auto& what : std::exchange(held_, {})) what();
}

void Client::listen(int number, const std::string& text) {
  if (!speaks_modern(number)) return;
  Asked asked{.number = number, .who = seat_.who, .server = {}, .modern = true, .is_listen = true};
  std::string wanted;
  std::string uris;
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string word(rest.substr(0, rest.find(',')));
    rest.remove_prefix(std::min(word.size() + 1, rest.size()));
    if (word.starts_with("sim:")) {
      asked.uris.insert(word);
      asked.methods.insert("notifications/resources/updated");
      uris += fmt::format(R"({}"{}")", uris.empty() ? "" : ",", word);
    } else {
      asked.methods.insert(fmt::format("notifications/{}/list_changed", word));
      wanted += fmt::format(R"({}"{}ListChanged":true)", wanted.empty() ? "" : ",", word);
    }
  }
  if (!uris.empty())
    wanted += fmt::format(R"({}"resourceSubscriptions":[{}])", wanted.empty() ? "" : ",", uris);
  listens_[Oracle::spelled(number)] = number;
  put(asked, "subscriptions/listen", fmt::format(R"("notifications":{{{}}})", wanted));
}

// --- rounds

bool Client::comes_back(int number) const {
  return number % 3 == 0 && number % 7 != 3 && number % 5 < 3 && number % 8 < 3 && number / 4 % 11 > 8;
}

void Client::later(Millis time, std::function<void()> what) {
  time_.later(time, [weak = std::weak_ptr(wire_), what = std::move(what)] {
    if (!weak.expired()) what();
  });
}

void Client::retry(const Kept& kept, const std::string& state, const std::string& responses,
                   Honesty honesty) {
  Asked asked = kept.asked;
  asked.of = kept.asked.of == 0 ? kept.asked.number : kept.asked.of;
  asked.number = own_number();
  asked.is_prompt = false;
  asked.state = string_value(state);
  asked.honesty = honesty;
  std::string members = kept.members;
  if (!responses.empty()) members += fmt::format(R"(,"inputResponses":{})", responses);
  if (!state.empty()) members += fmt::format(R"(,"requestState":{})", state);
  const std::string id = Oracle::spelled(asked.number);
  put(asked, kept.method, members);
  kept_[id].members = kept.members;  // the next round has its own
  if (honesty == Honesty::forged) kept_.erase(id);
  if (asked.number % 13 == 5)
    later(Millis(asked.number % 4), [this, number = asked.number] { cancel(number); });
}

void Client::come_back(const Kept& kept, std::string_view result) {
  const std::string state(find_member(result, "requestState"));
  const std::string_view requests = find_member(result, "inputRequests");
  std::string all;
  std::string wrong;
  if (!requests.empty()) {
    mcpivot::JsonCursor cursor(requests);
    cursor.object([&](const mcpivot::JsonCursor::Key& key) {
      mcpivot::Span where;
      if (!cursor.value(where)) return false;
      const std::string_view request = where.of(requests);
      all += fmt::format(
          R"({}"{}":{})", all.empty() ? "" : ",", key.text,
          response_to(string_value(find_member(request, "method")), find_member(request, "params")));
      wrong = fmt::format(R"({{"{}":7}})", key.text);
      return true;
    });
    all = "{" + all + "}";
  }
  const auto again = [this, kept](Millis time, const std::string& with, const std::string& responses,
                                  Honesty honesty) {
    later(time, [=, this] { retry(kept, with, responses, honesty); });
  };
  const Millis soon(kept.asked.number % 5);
  constexpr Millis late{1'500};
  switch (kept.asked.number / 4 % 11) {
    case 0:  // it never comes back
      return;
    case 1:
      return again(late, state, all, Honesty::good);
    case 2:  // without an answer, and then with what is asked again
      return again(soon, state, requests.empty() ? "" : "{}", Honesty::good);
    case 3:  // with more than was asked for
      return again(soon, state, all.empty() ? "" : R"({"nobody's":{"x":1},)" + all.substr(1), Honesty::good);
    case 4:
      again(soon, R"("forged")", all, Honesty::forged);
      return again(late, state, all, Honesty::good);
    case 5: {
      // In the run that this one is compared with, there is no other client to take it from.
      const std::string another = keeps_transcript ? "" : oracle_.state_of_another(seat_.who);
      if (!another.empty()) again(soon, mcpivot::quote(another), all, Honesty::forged);
      return again(late, state, all, Honesty::good);
    }
    case 6:  // twice
      again(soon, state, all, Honesty::good);
      if (!state.empty()) again(soon + Millis(1), state, all, Honesty::odd);
      return;
    case 7:  // with what can't be an answer
      if (!state.empty() && !all.empty()) again(soon, state, wrong, Honesty::odd);
      return again(late, state, all, Honesty::good);
    case 8: {  // in another call
      Kept other = kept;
      // pivot_call passes on what it knows alone, so the difference must lie in the arguments of what it
      // calls.
      const auto arguments = other.members.find(R"("canary":)");
      if (arguments == std::string::npos) {
        other.members += R"(,"other":1)";
      } else {
        other.members.insert(arguments, R"("other":1,)");
      }
      if (!state.empty()) later(soon, [=, this] { retry(other, state, all, Honesty::odd); });
      return again(late, state, all, Honesty::good);
    }
    default:
      return again(soon, state, all, Honesty::good);
  }
}

}  // namespace simulation
