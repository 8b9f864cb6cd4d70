#include "bridge/modern_calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/contains.h"
#include "base/greediest.h"
#include "bridge/modern_answer.h"
#include "mcp/era.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

// No state of ours is longer.
constexpr std::size_t longest_state = 256;

constexpr std::string_view bad_state =
    "this requestState is not valid for this request: it is unknown, expired, already used or another "
    "request's. Call again without requestState and inputResponses.";
// The owner of the core's own calls, during which no client can be asked.
constexpr std::uint64_t nobody = 0;
constexpr std::string_view lost_while_parked =
    "the server was lost while the call waited for the client's input. The call may have taken effect; "
    "mcpivot did not retry it.";

// The capability that the client's request lacks for it to be asked this; empty: none.
std::string missing_capability(const Question& question, const Message& request) {
  return missing_capability(question.ask, question.params(),
                            find_member(request.text(request.meta), meta_key::client_capabilities));
}

// The error that tells a client which capability its request needs: "sampling.tools" is
// {"sampling":{"tools":{}}}.
std::string lacking(std::int64_t id, std::string_view capability, std::string_view why) {
  std::string required = "{}";
  for (auto dot = capability.rfind('.');; dot = capability.rfind('.')) {
    const bool outermost = dot == std::string_view::npos;
    required =
        fmt::format(R"({{{}:{}}})", quote(outermost ? capability : capability.substr(dot + 1)), required);
    if (outermost) break;
    capability = capability.substr(0, dot);
  }
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":{},"data":{{"requiredCapabilities":{}}}}}}})",
      id, code::missing_capability, quote(why), required);
}

// As JSON text, or empty. Most requests have none, and a search is quicker than reading the members.
std::string_view log_level_of(const Message& request) {
  const std::string_view meta = request.text(request.meta);
  if (meta.find("/logLevel") == std::string_view::npos && meta.find('\\') == std::string_view::npos)
    return {};
  return find_member(meta, meta_key::log_level);
}

// What is cut out needs no edits.
bool lies_within(Span where, std::span<const Span> cut) {
  return std::ranges::any_of(
      cut, [&](Span gone) { return where.begin >= gone.begin && where.end() <= gone.end(); });
}

}  // namespace

void ModernCalls::request(std::int64_t id, const Message& message, std::span<const Edit> edits,
                          std::uint64_t client) {
  const std::string_view level = log_level_of(message);
  if (!level.empty() && !log_level(level))
    return refuse(
        id, code::invalid_params,
        fmt::format("{} must be one of the protocol's log levels, debug to emergency", meta_key::log_level));
  if (calls_.contains(id) || resumed_.contains(id))
    return refuse(id, code::invalid_request, "another request with this id is open");
  const RoundParams params = round_params(message);
  if (message.request_state) {
    resume(id, message, edits, client, params);
  } else {
    begin(id, message, edits, client, params);
  }
}

void ModernCalls::begin(std::int64_t id, const Message& message, std::span<const Edit> edits,
                        std::uint64_t client, const RoundParams& params) {
  const std::string_view level = log_level_of(message);
  Call& call = calls_[id];
  call.above = id;
  call.method = message.known;
  call.client = client;
  if (!level.empty()) call.level = log_level(level);
  call.has_token = static_cast<bool>(message.progress_token);
  if (may_require_input(message.known)) call.asked.keep(message, edits);
  if (!level.empty()) logs_.want(level);
  if (params.cut.empty()) return ends_.to_server(message, edits);
  Edits all;
  for (const Edit& edit : edits)
    if (!lies_within(edit.where, params.cut)) all.add_all({&edit, 1});
  for (const Span gone : params.cut) all.replace(gone, "");
  ends_.to_server(message, all.list());
}

void ModernCalls::resume(std::int64_t id, const Message& retry, std::span<const Edit> edits,
                         std::uint64_t client, const RoundParams& params) {
  const std::int64_t below = find_state(retry.text(retry.request_state));
  if (below == 0) return refuse(id, code::invalid_params, bad_state);
  Call& call = calls_.at(below);
  Parking& parking = *call.parking;
  const KeptMessage as_sent(retry, edits);
  if (parking.expires <= clock_.now() || call.client != client ||
      parking.digest != request_digest(as_sent.message()))
    return refuse(id, code::invalid_params, bad_state);
  const auto responses = responses_in(retry, params, parking.questions);
  if (!responses) return refuse(id, code::invalid_params, responses.error());

  // From here on, the state is used up, and the retry takes the call's place.
  states_.erase(parking.state);
  call.above = id;
  resumed_[id] = below;
  call.has_token = static_cast<bool>(retry.progress_token);
  call.asked = as_sent;
  const std::string_view level = log_level_of(retry);
  call.level = level.empty() ? std::nullopt : log_level(level);
  bool accepted = true;
  std::vector<std::string> lines;
  for (const Response& response : *responses) {
    const Question& question = parking.questions[response.question];
    if (question.id.empty()) {
      accepted = accepted && string_value(find_member(response.text, "action")) == "accept";
    } else {
      lines.push_back(result_answer(question.id, response.text));
    }
  }
  std::vector<Question> open;
  for (std::size_t i = 0; i < parking.questions.size(); ++i)
    if (std::ranges::find(*responses, i, &Response::question) == responses->end())
      open.push_back(std::move(parking.questions[i]));
  parking.questions = std::move(open);
  if (parking.ended) return call_again(below, id, retry, edits, client, params, accepted);

  if (!level.empty()) logs_.want(level);
  for (const std::string& line : lines) ends_.to_server(line);
  release_progress(below);
  const auto found = calls_.find(below);
  if (found == calls_.end() || found->second.above != id) return;  // it has ended in the meantime
  if (!found->second.parking->answer.empty()) {
    Call finished = take(found);
    const auto kept = std::move(finished.parking);
    deliver(below, std::move(finished), kept->answer.message());
    for (Question& question : kept->questions) ask(std::move(question));
  } else if (!found->second.parking->questions.empty()) {
    park(below);
  } else {
    found->second.parking.reset();
  }
}

std::expected<std::vector<ModernCalls::Response>, std::string> ModernCalls::responses_in(
    const Message& retry, const RoundParams& params, const std::vector<Question>& asked) {
  std::vector<Response> responses;
  if (!params.responses) return responses;
  const std::string_view all = retry.text(params.responses);
  if (params.responses_twice || !all.starts_with('{'))
    return std::unexpected("inputResponses must be one object. Retry with the same requestState.");
  std::string wrong;
  JsonCursor cursor(all);
  cursor.object([&](const JsonCursor::Key& spelled) {
    Span where;
    if (!cursor.value(where)) return false;
    const std::string key = spelled.escaped ? unescape(spelled.text) : std::string(spelled.text);
    const auto question = std::ranges::find(asked, key, &Question::key);
    if (question == asked.end() || !question->asked) return true;
    const auto index = static_cast<std::size_t>(question - asked.begin());
    if (std::ranges::find(responses, index, &Response::question) != responses.end()) {
      wrong = fmt::format("inputResponses has \"{}\" twice. Retry with the same requestState.", key);
    } else if (!answers(*question, where.of(all))) {
      wrong = fmt::format(
          "the value of \"{}\" in inputResponses is not a result of its request. Retry with the same "
          "requestState.",
          key);
    }
    responses.push_back({index, where.of(all)});
    return true;
  });
  if (!wrong.empty()) return std::unexpected(std::move(wrong));
  return responses;
}

// The server ended the call before it ran, and wanted some URLs to be opened first.
void ModernCalls::call_again(std::int64_t below, std::int64_t id, const Message& retry,
                             std::span<const Edit> edits, std::uint64_t client, const RoundParams& params,
                             bool accepted) {
  const auto found = calls_.find(below);
  if (accepted && !found->second.parking->questions.empty()) return park(below);
  take(found);
  if (accepted) return begin(id, retry, edits, client, params);
  constexpr std::string_view words =
      "the server needs the user to open a URL before it can do this, and the user did not agree to";
  if (retry.known != Method::tools_call) return refuse(id, code::internal_error, words);
  const std::string line = tool_answer(IdText(id).view(), words, true);
  const Message answer = *read_message(line);
  Edits modern;
  make_modern(answer, retry.known, modern);
  ends_.to_client(answer, modern.list());
}

// Sends what the server reported while its client couldn't be told.
void ModernCalls::release_progress(std::int64_t below) {
  Call& call = calls_.at(below);
  if (call.parking->progress.empty()) return;
  const KeptMessage kept = std::exchange(call.parking->progress, {});
  if (!call.has_token) return;
  const Message message = kept.message();
  const IdText token(call.above);
  Edits edits;
  ends_.to_client(message, edits.replace(message.progress_token, token.view()).list());
}

// Asks the client all questions of its parked call.
void ModernCalls::park(std::int64_t below) {
  Call& call = calls_.at(below);
  Parking& parking = *call.parking;
  for (Question& question : parking.questions) {
    if (question.key.empty()) question.key = fmt::format("{}-{}", capability_of(question.ask), ++keys_);
    question.asked = true;
  }
  if (parking.digest.empty()) parking.digest = request_digest(call.asked.message());
  parking.state = ends_.secret();
  parking.expires = clock_.now() + patience_;
  parking.turn = ++turns_;
  states_[parking.state] = below;
  const std::int64_t id = std::exchange(call.above, 0);
  resumed_.erase(id);
  const std::string line = input_required(IdText(id).view(), parking.questions, parking.state);
  make_room();
  say(id, line);
}

void ModernCalls::make_room() {
  while (states_.size() > most_parked) {
    const auto client_of = [&](const auto& state) { return calls_.at(state.second).client; };
    const std::uint64_t client = greediest(states_, client_of);
    std::vector<std::int64_t> theirs;
    for (const auto& state : states_)
      if (client_of(state) == client) theirs.push_back(state.second);
    give_up(*std::ranges::min_element(theirs, {},
                                      [&](std::int64_t below) { return calls_.at(below).parking->turn; }));
  }
}

void ModernCalls::give_up(std::int64_t below) {
  const Call call = take(calls_.find(below));
  Parking& parking = *call.parking;
  states_.erase(parking.state);
  if (!parking.ended && parking.answer.empty())
    ends_.to_server(cancellation(IdText(below).view(), "the client did not return with its answers"));
  for (Question& question : parking.questions) {
    if (question.id.empty()) continue;
    if (question.asked) {
      ends_.to_server(no_answer(question));
    } else {
      ask(std::move(question));
    }
  }
}

void ModernCalls::expire() {
  const Clock::Time now = clock_.now();
  std::vector<std::int64_t> late;
  for (const auto& [state, below] : states_)
    if (calls_.at(below).parking->expires <= now) late.push_back(below);
  for (const std::int64_t below : late) {
    const auto found = calls_.find(below);
    if (found != calls_.end() && found->second.above == 0 && found->second.parking->expires <= now)
      give_up(below);
  }
}

void ModernCalls::forget(std::uint64_t client) {
  std::vector<std::int64_t> theirs;
  for (const auto& [state, below] : states_)
    if (calls_.at(below).client == client) theirs.push_back(below);
  for (const std::int64_t below : theirs) {
    const auto found = calls_.find(below);
    if (found != calls_.end() && found->second.parking && found->second.above == 0) give_up(below);
  }
}

std::vector<std::string> ModernCalls::states() const {
  std::vector<std::string> all;
  for (const auto& [state, below] : states_) all.push_back(state);
  return all;
}

bool ModernCalls::cancel(std::int64_t id, const Message& cancelled, std::span<const Edit> edits) {
  const auto resumed = resumed_.find(id);
  const std::int64_t below = resumed != resumed_.end() ? resumed->second : id;
  const auto found = calls_.find(below);
  if (found == calls_.end()) return is_over(id);
  if (found->second.above != id) return true;  // that request has its answer
  take(found);
  if (below == id) return ends_.to_server(cancelled, edits), true;
  const IdText known(below);
  Edits all;
  all.add_all(edits, cancelled.request_id).replace(cancelled.request_id, known.view());
  ends_.to_server(cancelled, all.list());
  return true;
}

bool ModernCalls::answer(const Message& message) {
  const std::int64_t below = own_id(message.text(message.id));
  const auto found = calls_.find(below);
  if (found == calls_.end()) return is_over(below);
  if (found->second.parking) {
    hold_answer(below, message);
  } else {
    deliver(below, take(found), message);
  }
  return true;
}

void ModernCalls::hold_answer(std::int64_t below, const Message& answer) {
  Parking& parking = *calls_.at(below).parking;
  if (parking.ended || !parking.answer.empty()) return;
  parking.answer.keep(answer);
  // No client will be asked for this call again.
  std::vector<Question> waiting;
  for (Question& question : parking.questions)
    if (!question.asked) waiting.push_back(std::move(question));
  std::erase_if(parking.questions, [](const Question& question) { return !question.asked; });
  for (Question& question : waiting) ask(std::move(question));
}

ModernCalls::Call ModernCalls::take(Calls::iterator call) {
  note_ended(call->first);
  if (resumed_.erase(call->second.above) > 0) note_ended(call->second.above);
  return std::move(calls_.extract(call).mapped());
}

void ModernCalls::deliver(std::int64_t below, Call call, const Message& answer) {
  if (answer.kind == Kind::error && !call.lacks.empty())
    return say(
        call.above,
        lacking(
            call.above, call.lacks,
            fmt::format(
                "the server asked for something that needs the capability {}, which the client doesn't have",
                call.lacks)));
  if (answer.kind == Kind::error && error_code(answer) == code::url_elicitation_required &&
      ask_for_urls(below, call, answer))
    return;
  const IdText id(call.above);
  Edits edits;
  if (call.above != below) edits.replace(answer.id, id.view());
  if (answer.kind == Kind::error && error_code(answer) == code::url_elicitation_required) {
    replace_code(answer, code::internal_error, edits);  // the modern era has no such code
  } else if (!make_modern(answer, call.method, edits)) {
    return refuse(call.above, code::internal_error, "the server's result is not an object");
  }
  ends_.to_client(answer, edits.list());
}

// False: this error passes, under another code.
bool ModernCalls::ask_for_urls(std::int64_t below, Call& call, const Message& error) {
  if (!may_require_input(call.method)) return false;
  std::vector<Question> questions = url_questions(error);
  if (questions.empty()) return false;
  if (questions.size() > most_questions) questions.resize(most_questions);
  if (!missing_capability(questions.front(), call.asked.message()).empty()) {
    say(call.above, lacking(call.above, "elicitation.url",
                            "the server needs the user to open a URL first, and the client doesn't support "
                            "elicitation in mode \"url\""));
    return true;
  }
  call.parking = std::make_unique<Parking>();
  call.parking->ended = true;
  call.parking->questions = std::move(questions);
  calls_[below] = std::move(call);
  park(below);
  return true;
}

bool ModernCalls::progress(const Message& message) {
  const std::int64_t below = own_id(message.text(message.progress_token));
  const auto found = calls_.find(below);
  if (found == calls_.end()) return is_over(below);
  const Call& call = found->second;
  if (call.parking) {
    if (call.parking->answer.empty()) call.parking->progress.keep(message);
    return true;
  }
  if (call.above == below) return false;  // as it is
  if (!call.has_token) return true;
  const IdText token(call.above);
  Edits edits;
  ends_.to_client(message, edits.replace(message.progress_token, token.view()).list());
  return true;
}

bool ModernCalls::take_back(std::string_view question_id) {
  bool found = false;
  for (const auto& [state, below] : states_)
    found |= std::erase_if(calls_.at(below).parking->questions, [&](const Question& question) {
               return !question.id.empty() && same_id(question.id, question_id);
             }) > 0;
  return found;
}

void ModernCalls::ask(Question question) {
  question.asked = false;
  question.key.clear();
  const auto refuse_it = [&](int code, std::string_view why) {
    ends_.to_server(error_answer(question.id, code, why));
  };
  const std::string_view params = question.params();
  if (!params.starts_with('{') && !(params.empty() && question.ask == Ask::roots))
    return refuse_it(code::invalid_params, "params must be an object");
  const std::int64_t below = carrier();
  if (below == 0)
    return refuse_it(code::method_not_found,
                     "the client can be asked only during a tools/call, prompts/get or resources/read of its "
                     "own, and none is open");
  Call& call = calls_.at(below);
  if (const std::string lacks = missing_capability(question, call.asked.message()); !lacks.empty()) {
    if (is_only_carrier(below)) call.lacks = lacks;
    return refuse_it(code::method_not_found, "the client doesn't have the capability " + lacks);
  }
  // In the answer to the client it is nested deeper than here.
  if (!read_message(input_required("0", {&question, 1}, "")))
    return refuse_it(code::invalid_params, "the params are nested too deeply");
  if (call.parking) {
    std::vector<Question>& waiting = call.parking->questions;
    if (waiting.size() >= most_questions)
      return refuse_it(code::internal_error, "too many questions wait for the client's answers");
    const auto same = [&](const Question& other) { return same_id(other.id, question.id); };
    if (std::ranges::none_of(waiting, same)) waiting.push_back(std::move(question));
    return;
  }
  call.parking = std::make_unique<Parking>();
  call.parking->questions.push_back(std::move(question));
  park(below);
}

std::int64_t ModernCalls::carrier() const {
  std::int64_t parked = 0;
  for (const auto& [below, call] : calls_) {
    if (!may_require_input(call.method) || call.client == nobody) continue;
    if (!call.parking) return below;
    if (parked == 0 && !call.parking->ended && call.parking->answer.empty()) parked = below;
  }
  return parked;
}

// Whether questions can only belong to this call.
bool ModernCalls::is_only_carrier(std::int64_t below) const {
  return std::ranges::none_of(calls_, [&](const auto& entry) {
    return entry.first != below && may_require_input(entry.second.method);
  });
}

std::optional<std::int64_t> ModernCalls::lost(std::int64_t id) {
  const auto found = calls_.find(id);
  if (found == calls_.end()) return is_over(id) ? std::optional<std::int64_t>(0) : std::nullopt;
  if (found->second.parking) {
    const std::string line = error_answer(IdText(id).view(), code::internal_error, lost_while_parked);
    hold_answer(id, *read_message(line));
    return 0;
  }
  return take(found).above;
}

std::optional<int> ModernCalls::wanted_log_level() const {
  std::optional<int> level;
  for (const auto& [below, call] : calls_) {
    if (!call.level || call.above == 0) continue;
    if (level) return std::nullopt;
    level = call.level;
  }
  return level;
}

std::int64_t ModernCalls::find_state(std::string_view request_state) const {
  if (!request_state.starts_with('"') || request_state.size() > longest_state) return 0;
  const auto found = states_.find(string_value(request_state));
  return found == states_.end() ? 0 : found->second;
}

// The server has never seen the id of a retry, either.
bool ModernCalls::is_over(std::int64_t id) const {
  return id != 0 && (resumed_.contains(id) || contains(ended_, id));
}

void ModernCalls::refuse(std::int64_t id, int code, std::string_view why) {
  say(id, error_answer(IdText(id).view(), code, why));
}

// An answer of our own, which may contain too deeply nested values from others.
void ModernCalls::say(std::int64_t id, std::string_view answer) {
  note_ended(id);
  if (const auto message = read_message(answer)) return ends_.to_client(*message, {});
  const std::string error =
      error_answer(IdText(id).view(), code::internal_error, "the server's questions are nested too deeply");
  ends_.to_client(*read_message(error), {});
}

}  // namespace mcpivot
