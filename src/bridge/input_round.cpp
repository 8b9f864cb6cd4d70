#include "bridge/input_round.h"

#include <fmt/format.h>

#include <set>

#include "rpc/json_cursor.h"
#include "rpc/message.h"

namespace mcpivot {
namespace {

// Some servers treat null as absent.
bool is_absent(std::string_view value) {
  return value.empty() || value == "null";
}

// A server may put anything where a name should be; long text isn't repeated.
std::string_view shown(std::string_view json) {
  return json.size() <= 200 ? json : "(a long text)";
}

std::expected<InputRound::Question, std::string> question_of(std::string_view key, std::string_view request) {
  if (!request.starts_with('{'))
    return std::unexpected(fmt::format("asked a question ({}) that isn't an object", shown(key)));
  const std::string_view method = find_member(request, "method");
  const std::string_view params = find_member(request, "params");
  const auto ask = ask_of(string_value(method));
  if (!ask)
    return std::unexpected(method.empty()
                               ? fmt::format("asked a question ({}) without a method", shown(key))
                               : fmt::format("asked for {}, which clients can't be asked", shown(method)));
  if (!params.empty() && !params.starts_with('{'))
    return std::unexpected(fmt::format("asked for {} with params that aren't an object", method_of(*ask)));
  if (params.empty() && *ask != Ask::roots)
    return std::unexpected(fmt::format("asked for {} without params", method_of(*ask)));
  return InputRound::Question{.key = std::string(key), .ask = *ask, .params = std::string(params)};
}

}  // namespace

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

bool wants_elicitation_id(const InputRound::Question& question) {
  return question.ask == Ask::elicitation && same_id(find_member(question.params, "mode"), R"("url")") &&
         find_member(question.params, "elicitationId").empty();
}

std::string with_elicitation_id(std::string_view params, std::string_view id) {
  return fmt::format(R"({{"elicitationId":"{}",{})", id, params.substr(1));
}

}  // namespace mcpivot
