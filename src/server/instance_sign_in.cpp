// A server that wants its user to sign in: a client that can open addresses is asked to, and its calls go on
// when that is done.
#include <fmt/format.h>

#include <utility>

#include "bridge/round_params.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/instance.h"

namespace mcpivot {

// False: it must be told in words.
bool Instance::ask_to_sign_in(Asker asker, const Message& message) {
  if (asker.client != client() || is_shared() || !can_ask_to_sign_in(message, asker.era, replay_.hello))
    return false;
  const std::string url = world_.sign_in_address(*config_);
  if (url.empty()) return false;
  if (sign_in_question_.url != url)
    sign_in_question_ = {.id = world_.secret(), .server = config_->name, .url = url};
  clients_.refuse(asker, mcpivot::ask_to_sign_in(message, asker.era, sign_in_question_));
  return true;
}

bool Instance::asks_for_sign_in(const Generation::Requests::Request& request, const ToClient& said) {
  if (said.message.kind != Kind::error) return false;
  const std::string_view data = find_member(said.message.text(said.message.error), "data");
  const std::string_view status = find_member(data, "httpStatus");
  return (status == "401" || status == "403") && ask_to_sign_in(request.origin, request.kept.message());
}

// A modern client that was asked calls again. What it says to us isn't for the server; the rest waits until
// the user is done.
void Instance::request_after_sign_in(const ToServer& asked) {
  const Message& message = asked.message;
  if (!agrees_to_sign_in(message))
    return clients_.refuse(
        asked.asker,
        failure_answer(message.known, message.text(message.id),
                       fmt::format("[mcpivot] server \"{}\" wants the user to sign in, and the user did not "
                                   "agree to. The next call asks again.",
                                   config_->name)));
  Edits edits;
  edits.add_all(asked.edits.list());
  for (const Span& ours : round_params(message).cut) edits.replace(ours, {});
  const KeptMessage plain(message, edits.list());
  if (!world_.sign_in_address(*config_).empty()) {
    if (!signing_in_.add(asked.asker, plain.message(), asked.sent_before))
      refuse_crowded(asked.asker, message);
    return;
  }
  const Message again = plain.message();
  request(asked.asker, again);
}

// Requests that wait for it are served, or told why not.
void Instance::sign_in_over(const std::string& trouble) {
  const SignInQuestion question = std::exchange(sign_in_question_, {});
  if (!trouble.empty()) {
    for (const auto& one : signing_in_.take_all())
      refuse_unsigned(one.asker, one.message.message(), fmt::format("the sign-in failed: {}", trouble));
    return;
  }
  if (life_.is_refused()) happens(Life::Needed{});
  if (!question.id.empty() && client_era_ == Era::legacy)
    clients_.tell({.client = client()}, sign_in_is_over(question));
  release_signing_in();
}

// The sign-in works now, or may: a request that the server still rejects asks for another one.
void Instance::release_signing_in() {
  for (const auto& one : signing_in_.take_all()) {
    const Message message = one.message.message();
    ToServer asked(one.asker, message, one.sent_before);
    request(asked);
  }
}

// In the meantime, it may serve requests that need no sign-in.
void Instance::refuse_unsigned(Asker asker, const Message& message, const std::string& why) const {
  clients_.refuse(
      asker, failure_answer(message.known, message.text(message.id),
                            fmt::format("[mcpivot] server \"{}\" can't be used: {}", config_->name, why)));
}

}  // namespace mcpivot
