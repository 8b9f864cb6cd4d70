#include "server/sign_in_question.h"

#include <fmt/format.h>

#include "bridge/ask.h"
#include "bridge/question.h"
#include "bridge/round_params.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::string_view key = "sign_in";
// Of our requestStates: a server never sees them.
constexpr std::string_view mark = "mcpivot-sign-in-";
constexpr std::string_view url_mode = R"({"mode":"url"})";

// Without its last brace.
std::string question_params(const SignInQuestion& question) {
  return fmt::format(
      R"({{"mode":"url","url":{},"message":{})", quote(question.url),
      quote(fmt::format("The server \"{}\" wants you to sign in. The call goes on when you have done that in "
                        "your browser.",
                        question.server)));
}

}  // namespace

// A request that answers what its server asked in earlier rounds can't be repeated without those answers.
bool can_ask_to_sign_in(const Message& request, Era era, std::string_view hello) {
  if (!may_require_input(request.known) || request.request_state || request.task) return false;
  const std::string_view capabilities =
      era == Era::modern ? find_member(request.text(request.meta), meta_key::client_capabilities)
                         : find_member(hello, "capabilities");
  return missing_capability(Ask::elicitation, url_mode, capabilities).empty();
}

std::string ask_to_sign_in(const Message& request, Era era, const SignInQuestion& question) {
  const std::string_view id = request.text(request.id);
  const std::string params = question_params(question);
  if (era == Era::modern) {
    Question asked;
    asked.key = key;
    asked.request = fmt::format(R"({{"method":"{}","params":{}}}}})", method_of(Ask::elicitation), params);
    return input_required(id, {&asked, 1}, fmt::format("{}{}", mark, question.id));
  }
  return error_answer(
      id, code::url_elicitation_required,
      fmt::format("[mcpivot] server \"{}\" can't be used before you sign in: open {}", question.server,
                  question.url),
      fmt::format(R"({{"elicitations":[{},"elicitationId":{}}}]}})", params, quote(question.id)));
}

std::string sign_in_is_over(const SignInQuestion& question) {
  return request_line({}, "notifications/elicitation/complete",
                      fmt::format(R"({{"elicitationId":{}}})", quote(question.id)));
}

bool follows_sign_in(const Message& request) {
  return request.request_state && string_value(request.text(request.request_state)).starts_with(mark);
}

bool agrees_to_sign_in(const Message& request) {
  const RoundParams round = round_params(request);
  if (round.responses_twice) return false;
  const std::string_view response = find_member(request.text(round.responses), key);
  return string_value(find_member(response, "action")) == "accept";
}

}  // namespace mcpivot
