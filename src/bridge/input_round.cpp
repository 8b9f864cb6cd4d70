#include "bridge/input_round.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>

#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

constexpr std::array<std::string_view, 3> methods{"elicitation/create", "sampling/createMessage",
                                                  "roots/list"};

std::optional<InputRound::Ask> ask_of(std::string_view method) {
  const auto found = std::ranges::find(methods, string_value(method));
  if (found == methods.end()) return std::nullopt;
  return static_cast<InputRound::Ask>(found - methods.begin());
}

// To some servers null is the same as absent.
bool is_absent(std::string_view value) {
  return value.empty() || value == "null";
}

// A server may put anything where a name should be; it isn't repeated at any length.
std::string_view shown(std::string_view json) {
  return json.size() <= 200 ? json : "(a long text)";
}

std::expected<InputRound::Question, std::string> question_of(std::string_view key, std::string_view request) {
  if (!request.starts_with('{'))
    return std::unexpected(fmt::format("asked a question ({}) that isn't an object", shown(key)));
  const std::string_view method = find_member(request, "method");
  const std::string_view params = find_member(request, "params");
  const auto ask = ask_of(method);
  if (!ask)
    return std::unexpected(method.empty()
                               ? fmt::format("asked a question ({}) without a method", shown(key))
                               : fmt::format("asked for {}, which clients can't be asked", shown(method)));
  if (!params.empty() && !params.starts_with('{'))
    return std::unexpected(fmt::format("asked for {} with params that aren't an object", method_of(*ask)));
  if (params.empty() && *ask != InputRound::Ask::roots)
    return std::unexpected(fmt::format("asked for {} without params", method_of(*ask)));
  return InputRound::Question{.key = std::string(key), .ask = *ask, .params = std::string(params)};
}

}  // namespace

std::string_view method_of(InputRound::Ask ask) {
  return methods[static_cast<std::size_t>(ask)];
}

std::expected<InputRound, std::string> InputRound::read(const ResultParts& parts,
                                                        std::size_t most_questions) {
  InputRound round;
  if (!is_absent(parts.request_state)) round.state_ = parts.request_state;
  if (is_absent(parts.input_requests)) {
    if (round.state_.empty())
      return std::unexpected("requires input, but names neither inputRequests nor a requestState");
    return round;
  }
  const std::string_view requests = parts.input_requests;
  if (!requests.starts_with('{')) return std::unexpected("sent inputRequests that aren't an object");
  round.asks_ = true;
  std::string fault;
  std::set<std::string> keys;
  JsonCursor cursor(requests);
  cursor.object([&](const JsonCursor::Key& key) {
    Span request;
    if (!cursor.value(request)) return false;
    const std::string spelled = fmt::format(R"("{}")", key.text);
    if (round.questions_.size() == most_questions) {
      fault = fmt::format("asked more than {} questions at once", most_questions);
    } else if (!keys.insert(string_value(spelled)).second) {
      fault = fmt::format("asked two questions under the key {}", shown(spelled));
    } else if (auto question = question_of(spelled, request.of(requests))) {
      round.questions_.push_back(std::move(*question));
    } else {
      fault = question.error();
    }
    return fault.empty();
  });
  if (!fault.empty()) return std::unexpected(std::move(fault));
  round.unanswered_ = round.questions_.size();
  return round;
}

bool InputRound::answer(Question& question, std::string_view result) {
  question.answer = result;
  question.state = Question::State::answered;
  return --unanswered_ == 0;
}

std::string InputRound::response_members() const {
  std::string members;
  if (asks_) {
    members = R"("inputResponses":{)";
    for (const Question& question : questions_)
      members +=
          fmt::format("{}{}:{}", &question == questions_.data() ? "" : ",", question.key, question.answer);
    members += "},";
  }
  if (!state_.empty()) members += fmt::format(R"("requestState":{},)", state_);
  return members;
}

std::string missing_capability(const InputRound::Question& question, std::string_view hello) {
  const std::string_view capabilities = find_member(hello, "capabilities");
  const auto lacks = [](std::string_view object, std::string_view key) {
    return is_absent(find_member(object, key));
  };
  switch (question.ask) {
    case InputRound::Ask::roots:
      return lacks(capabilities, "roots") ? "roots" : "";
    case InputRound::Ask::sampling: {
      if (lacks(capabilities, "sampling")) return "sampling";
      const bool tools = !lacks(question.params, "tools") || !lacks(question.params, "toolChoice");
      return tools && lacks(find_member(capabilities, "sampling"), "tools") ? "sampling.tools" : "";
    }
    case InputRound::Ask::elicitation:
      break;
  }
  if (lacks(capabilities, "elicitation")) return "elicitation";
  const std::string_view modes = find_member(capabilities, "elicitation");
  const std::string_view wanted = find_member(question.params, "mode");
  const std::string mode = wanted.empty() ? "form" : string_value(wanted);
  // One that names neither mode has forms: they are older than modes.
  if (mode == "form" && (!lacks(modes, "form") || lacks(modes, "url"))) return "";
  if (mode == "url" && !lacks(modes, "url")) return "";
  return "elicitation." + (mode == "form" || mode == "url" ? mode : std::string(shown(wanted)));
}

bool wants_elicitation_id(const InputRound::Question& question) {
  return question.ask == InputRound::Ask::elicitation &&
         same_id(find_member(question.params, "mode"), R"("url")") &&
         find_member(question.params, "elicitationId").empty();
}

std::string with_elicitation_id(std::string_view params, std::string_view id) {
  return fmt::format(R"({{"elicitationId":"{}",{})", id, params.substr(1));
}

}  // namespace mcpivot
