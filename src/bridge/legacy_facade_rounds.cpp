// The rounds of a call that requires input: questions up to the client, the call down again with the answers.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "bridge/facade_ids.h"
#include "bridge/legacy_facade.h"
#include "bridge/members.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

using State = InputRound::Question::State;

std::string_view name_of(Method method) {
  return method == Method::prompts_get  ? "prompts/get"
         : method == Method::tools_call ? "tools/call"
                                        : "resources/read";
}

// The call under another id, with these members in its params.
std::string with_responses(const Message& call, std::string_view id, std::string_view members) {
  Edits edits;
  edits.replace(call.id, id);
  // First, so that it precedes what is removed at the same position. There is always a `_meta` after it.
  edits.insert(call.params.begin + 1, members);
  remove_members(call.raw, call.params, edits, [](std::string_view key, std::string_view) {
    const std::string name = lower(key);
    return name == "inputresponses" || name == "requeststate";
  });
  return spliced(call.raw, edits.list());
}

}  // namespace

void LegacyFacade::on_answer(Calls::iterator at, const Message& message) {
  const std::int64_t own = at->first;
  const Method asked = at->second.method;
  Edits edits;
  if (at->second.round > 0) edits.replace(message.id, edits.keep(IdText(own).view()));
  if (message.kind == Kind::error) {
    fit_error(message, asked, edits);
  } else {
    const ResultParts parts = parts_of(message.text(message.result));
    if (is_input_required(parts)) return on_input_required(at, parts);
    if (!is_complete(parts))
      return fail(own,
                  fmt::format("the server answered with the result type {}, which a client of 2025-11-25 "
                              "doesn't know",
                              parts.type.size() <= 200 ? parts.type : "(a long text)"));
    fit_result(message, asked, parts, edits);
  }
  close(at);
  ends_.to_client(message, edits.list());
}

void LegacyFacade::on_input_required(Calls::iterator at, const ResultParts& parts) {
  const std::int64_t own = at->first;
  Call& call = at->second;
  if (call.kept.empty())
    return fail(own,
                "the server answered with input_required, which is allowed for tools/call, prompts/get and "
                "resources/read only");
  if (call.round == limits_.rounds)
    return fail(own,
                fmt::format("the server still requires input after {} rounds; mcpivot gave up", call.round));
  auto input = InputRound::read(parts, limits_.questions);
  if (!input) return fail(own, "the server " + input.error());

  std::vector<std::string> lines;
  const Sharer* const one = sharer(call.client);
  const std::string_view capabilities =
      one != nullptr ? one->capabilities : find_member(hello_, "capabilities");
  for (const InputRound::Question& question : input->questions()) {
    const std::string_view method = method_of(question.ask);
    if (const std::string lacks = missing_capability(question.ask, question.params, capabilities);
        !lacks.empty())
      return fail(own,
                  fmt::format("the server asked for {} in {}, but the client doesn't have the capability {}",
                              method, name_of(call.method), lacks));
    lines.push_back(request_line(ask_id(own, call.round, lines.size()), method,
                                 wants_elicitation_id(question)
                                     ? with_elicitation_id(question.params, ends_.secret())
                                     : question.params));
    if (const auto readable = read_message(lines.back()); !readable)
      return fail(own, fmt::format("the server asked for {} with ambiguous params: {}", method,
                                   readable.error().reason));
  }
  call.input = std::make_unique<InputRound>(std::move(*input));
  if (lines.empty()) return send_again(own);
  ask(own, lines);
}

// The client may answer while it is being asked, or cancel the call.
void LegacyFacade::ask(std::int64_t own, const std::vector<std::string>& lines) {
  const int round = calls_.at(own).round;
  const std::uint64_t client = calls_.at(own).client;
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const auto at = calls_.find(own);
    if (at == calls_.end() || at->second.round != round || !at->second.input) return;
    at->second.input->questions()[i].state = State::open;
    ends_.ask(client, *read_message(lines[i]));
  }
}

void LegacyFacade::on_client_answer(const Message& message, std::span<const Edit> edits,
                                    std::uint64_t client) {
  const std::string line = spliced(message.raw, edits);
  const auto answer = read_message(line);
  const auto id = answer ? read_facade_id(answer->text(answer->id)) : std::nullopt;
  if (!id) return ends_.to_server(message, edits);  // asked before its era was known
  if (id->what != FacadeId::What::ask) return;
  const auto at = calls_.find(id->own);
  if (at == calls_.end() || at->second.round != id->round || !at->second.input) return;
  // No client may answer for another, but we may for any.
  if (client != 0 && at->second.client != client && sharer(at->second.client) != nullptr) return;
  InputRound& input = *at->second.input;
  if (id->question >= input.questions().size()) return;
  InputRound::Question& question = input.questions()[id->question];
  if (question.state != State::open) return;

  bool last = false;
  if (answer->kind == Kind::result) {
    last = input.answer(question, answer->text(answer->result));
  } else if (question.ask == Ask::elicitation) {
    last = input.answer(question, R"({"action":"cancel"})");
  } else {
    const std::string_view error = answer->text(answer->error);
    question.state = State::answered;
    return fail(id->own,
                fmt::format("the server asked for {}, and the client answered with an error: {} ({})",
                            method_of(question.ask), string_value(find_member(error, "message")),
                            find_member(error, "code")));
  }
  if (last) send_again(id->own);
}

void LegacyFacade::send_again(std::int64_t own) {
  Call& call = calls_.at(own);
  const std::string members = std::exchange(call.input, nullptr)->response_members();
  const std::string id = retry_id(own, ++call.round);
  call.progress.next_round();
  const auto first = read_message(call.kept.raw());
  const std::string line = first ? with_responses(*first, id, members) : std::string();
  const auto message = read_message(line);
  if (!message)
    return fail(own, "the client's answers can't be sent to the server: " + message.error().reason);
  ends_.to_server(*message, {});
}

// The client no longer needs to answer what it is being asked.
void LegacyFacade::withdraw(std::int64_t own, std::uint64_t client, int round, const InputRound& input) {
  for (std::size_t i = 0; i < input.questions().size(); ++i) {
    if (input.questions()[i].state != State::open) continue;
    const std::string line =
        cancellation(ask_id(own, round, i), "the call that this belongs to has finished");
    ends_.ask(client, *read_message(line));
  }
}

void LegacyFacade::fail(std::int64_t own, std::string_view why) {
  const auto at = calls_.find(own);
  const int round = at->second.round;
  const std::uint64_t client = at->second.client;
  const auto input = std::move(at->second.input);
  close(at);
  if (input) withdraw(own, client, round, *input);
  say(error_answer(IdText(own).view(), code::internal_error, why));
}

}  // namespace mcpivot
