#include "bridge/question.h"

#include <fmt/format.h>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

bool is_object(std::string_view value) {
  return value.starts_with('{');
}

}  // namespace

std::string_view Question::params() const {
  return find_member(request, "params");
}

std::optional<Question> question_in(const Message& request) {
  const std::string method = string_value(request.text(request.method));
  const auto ask = ask_of(method);
  if (!ask) return std::nullopt;
  Question question;
  question.ask = *ask;
  question.id = request.text(request.id);
  question.request = fmt::format(R"({{"method":"{}")", method);
  if (request.params) question.request += fmt::format(R"(,"params":{})", request.text(request.params));
  question.request += '}';
  return question;
}

std::vector<Question> url_questions(const Message& error) {
  const std::string_view list = find_member(find_member(error.text(error.error), "data"), "elicitations");
  std::vector<Question> questions;
  JsonCursor cursor(list);
  const bool sound = cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    const std::string_view params = where.of(list);
    const std::string_view mode = find_member(params, "mode");
    if (!find_member(params, "url").starts_with('"') || (!mode.empty() && string_value(mode) != "url"))
      return false;
    Question question;
    question.request = fmt::format(R"({{"method":"{}","params":{}{}}})", method_of(Ask::elicitation),
                                   mode.empty() ? R"({"mode":"url",)" : "{", params.substr(1));
    questions.push_back(std::move(question));
    return true;
  });
  if (!sound) questions.clear();
  return questions;
}

bool answers(const Question& question, std::string_view response) {
  if (!is_object(response)) return false;
  switch (question.ask) {
    case Ask::elicitation: {
      const std::string action = string_value(find_member(response, "action"));
      return action == "accept" || action == "decline" || action == "cancel";
    }
    case Ask::sampling: {
      const std::string_view content = find_member(response, "content");
      return is_object(content) || content.starts_with('[');
    }
    case Ask::roots:
      return find_member(response, "roots").starts_with('[');
  }
  return false;
}

std::string no_answer(const Question& question) {
  if (question.ask == Ask::elicitation) return result_answer(question.id, R"({"action":"cancel"})");
  return error_answer(question.id, code::internal_error, "the client did not answer");
}

std::string input_required(std::string_view id, std::span<const Question> questions, std::string_view state) {
  std::string requests;
  for (const Question& question : questions)
    requests += fmt::format(R"({}"{}":{})", requests.empty() ? "" : ",", question.key, question.request);
  return result_answer(
      id, fmt::format(R"({{"resultType":"input_required","inputRequests":{{{}}},"requestState":"{}"}})",
                      requests, state));
}

}  // namespace mcpivot
