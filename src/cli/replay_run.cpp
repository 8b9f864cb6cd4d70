#include "cli/replay_run.h"

#include <fmt/format.h>
#include <signal.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/json.hpp>
#include <set>
#include <string_view>
#include <utility>

#include "base/duration_text.h"
#include "mcp/era.h"
#include "proc/guard.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "server/trial.h"
#include "server/verification.h"
#include "world/real_world.h"

namespace mcpivot {
namespace {

using std::chrono::milliseconds;

// A server that has not shaken hands by then isn't waited for.
constexpr milliseconds patience_with_start{30'000};

constexpr std::size_t most_rounds = 20;  // of input that a modern server asks for, in one call

// What the recorded client could be asked.
std::string hello_for(const std::vector<RecordedCall>& calls) {
  std::set<std::string> capabilities;
  for (const RecordedCall& call : calls)
    for (const Asked& asked : call.asked) {
      if (asked.method.starts_with("sampling/")) capabilities.insert(R"("sampling":{})");
      if (asked.method.starts_with("elicitation/")) capabilities.insert(R"("elicitation":{})");
      if (asked.method.starts_with("roots/")) capabilities.insert(R"("roots":{})");
    }
  return fmt::format(
      R"({{"protocolVersion":"2025-11-25","capabilities":{{{}}},"clientInfo":{{"name":"mcpivot replay","version":"1"}}}})",
      fmt::join(capabilities, ","));
}

// Why a call can't be made again, or its answer not be compared; empty: it can.
std::string fault_of(const RecordedCall& call) {
  using Outcome = RecordedCall::Outcome;
  if (call.method != "tools/call") return fmt::format("it is a {}", call.method);
  if (call.is_redacted) return "a secret in it was replaced";
  if (call.asks) return "it asked for input, and another call went on with it";
  if (!call.is_complete) return "part of it is missing";
  if (call.outcome == Outcome::cancelled) return "it was cancelled";
  if (call.outcome == Outcome::open || call.answer.empty()) return "it has no answer";
  return {};
}

class Play final : private Trial::User {
 public:
  explicit Play(const ReplayWish& wish)
      : wish_(wish), context_{.loop = loop_}, world_(context_, guard_), safe_(wish.server.replay_safe) {
    for (const RecordedCall& call : wish.calls) outcome_.played.push_back({.call = &call});
  }

  ReplayOutcome run() {
    guard_.start();
    Trial trial(world_, wish_.server, this);
    Alarm late(world_.timers());
    trial_ = &trial;
    late_ = &late;
    bool gone = false;
    trial.start(hello_for(wish_.calls), patience_with_start, [&] {
      gone = true;
      loop_.stop();
    });
    if (!gone) loop_.run();
    if (!trial.outcome()) {
      outcome_.trouble = trial.outcome().error();
      outcome_.last_words = trial.stderr_text();
    } else if (!trial.death().empty()) {
      outcome_.death = trial.death();
      outcome_.last_words = trial.stderr_text();
      if (at_ < outcome_.played.size() && asking_) outcome_.played[at_].end = Played::End::died;
    }
    return std::move(outcome_);
  }

 private:
  void on_ready(Generation& generation) override {
    generation_ = &generation;
    next();
  }

  // Whether a call is left out, and why.
  bool is_left_out(Played& played) const {
    const RecordedCall& call = *played.call;
    played.why = fault_of(call);
    if (!played.why.empty()) {
      played.end = Played::End::useless;
      return true;
    }
    const Item* const tool = trial_->outcome()->lists.catalog.find(ListKind::tools, call.tool);
    const bool was_missing = tool == nullptr && (call.is_error || call.tool_failed);
    if (was_missing) played.why = "the server has no such tool, and the recorded answer is an error";
    if (was_missing)
      played.end = Played::End::useless;
    else if (tool == nullptr)
      played.end = Played::End::gone;
    else if (!wish_.unsafe && !safe_.has(*tool))
      played.end = Played::End::unsafe;
    else
      return false;
    return true;
  }

  void next() {
    while (at_ < outcome_.played.size() && is_left_out(outcome_.played[at_])) ++at_;
    if (at_ == outcome_.played.size()) return trial_->end();
    const RecordedCall& call = *outcome_.played[at_].call;
    if (wish_.on_call) wish_.on_call(at_ + 1, call);
    asking_ = true;
    asked_ = 0;
    first_round_ = rounds_;
    ask({});
  }

  // `more`: additional members of a call's next round.
  void ask(std::string_view more) {
    const RecordedCall& call = *outcome_.played[at_].call;
    const std::string params = fmt::format(R"({{"name":{},"arguments":{}{}}})", quote(call.tool),
                                           call.arguments.empty() ? "{}" : call.arguments, more);
    const std::size_t number = at_;
    const std::size_t round = ++rounds_;
    const std::int64_t inquiry =
        generation_->inquire("tools/call", params, [this, number, round](const Message& answer) {
          if (number == at_ && round == rounds_ && asking_) on_answer(answer);
        });
    if (!asking_ || at_ != number || rounds_ != round) return;  // it has been answered
    late_->set(wish_.patience, [this, inquiry] {
      generation_->inquire_no_more(inquiry);
      outcome_.played[at_].end = Played::End::late;
      outcome_.played[at_].why = fmt::format("no answer within {}", duration_text(wish_.patience));
      go_on();
    });
  }

  void on_answer(const Message& answer) {
    if (answer.kind == Kind::result)
      if (const std::string more = input_for(answer.text(answer.result)); !more.empty()) return ask(more);
    Played& played = outcome_.played[at_];
    const bool is_error = answer.kind != Kind::result;
    const Answer now{.is_error = is_error,
                     .json = std::string(answer.text(is_error ? answer.error : answer.result))};
    played.diff = compare_answers({played.call->is_error, played.call->answer}, now, wish_.ignored);
    played.end = played.diff.same() ? Played::End::same : Played::End::differs;
    go_on();
  }

  void go_on() {
    late_->cancel();
    asking_ = false;
    ++at_;
    next();
  }

  // A modern server asks for input by its answer, and is called again with what the recorded client gave.
  // Empty: it doesn't, or the client gave nothing.
  std::string input_for(std::string_view result) {
    if (!is_input_required(result)) return {};
    if (rounds_ - first_round_ > most_rounds) return {};
    boost::system::error_code error;
    const std::string_view requested = find_member(result, "inputRequests");
    const boost::json::value requests = boost::json::parse(requested.empty() ? "{}" : requested, error);
    if (error || !requests.is_object()) return {};
    std::string responses;
    for (const auto& [key, question] : requests.as_object()) {
      const boost::json::value* const method =
          question.is_object() ? question.as_object().if_contains("method") : nullptr;
      if (method == nullptr || !method->is_string()) return {};
      const Asked* const asked = recorded(std::string(method->as_string()));
      if (asked == nullptr || asked->is_error) return {};
      responses += fmt::format("{}{}:{}", responses.empty() ? "" : ",", quote(key), asked->answer);
    }
    std::string more = responses.empty() ? "" : fmt::format(R"(,"inputResponses":{{{}}})", responses);
    if (const std::string_view state = find_member(result, "requestState"); !state.empty())
      more += fmt::format(R"(,"requestState":{})", state);
    return more;
  }

  // The answer that was given to the same question, in order; otherwise, to the same kind of question.
  void on_question(Generation& from, const Message& question) override {
    const std::string id(question.text(question.id));
    const std::string method = string_value(question.text(question.method));
    if (method == "ping") return from.answer(result_answer(id, "{}"));
    if (const Asked* const asked = recorded(method)) {
      from.answer(asked->is_error
                      ? fmt::format(R"({{"jsonrpc":"2.0","id":{},"error":{}}})", id, asked->answer)
                      : result_answer(id, asked->answer));
      return;
    }
    from.answer(error_answer(id, code::method_not_found,
                             fmt::format("the recorded client was not asked {} here", method)));
  }

  const Asked* recorded(const std::string& method) {
    const auto fits = [&](const Asked& asked) { return asked.method == method && !asked.answer.empty(); };
    if (asking_) {
      const std::vector<Asked>& list = outcome_.played[at_].call->asked;
      for (; asked_ < list.size(); ++asked_)
        if (fits(list[asked_])) return &list[asked_++];
    }
    if (method != "roots/list") return nullptr;
    for (const RecordedCall& call : wish_.calls)  // which servers may ask at any time
      for (const Asked& asked : call.asked)
        if (fits(asked)) return &asked;
    return nullptr;
  }

  const ReplayWish& wish_;
  Guard guard_;
  boost::asio::io_context loop_{1};
  LinkContext context_;
  RealWorld world_;
  SafeTools safe_;
  Trial* trial_ = nullptr;
  Alarm* late_ = nullptr;
  Generation* generation_ = nullptr;
  std::size_t at_ = 0;      // which call
  std::size_t asked_ = 0;   // how many of its questions have been asked
  std::size_t rounds_ = 0;  // requests that were made
  std::size_t first_round_ = 0;
  bool asking_ = false;
  ReplayOutcome outcome_;
};

}  // namespace

std::size_t ReplayOutcome::count(Played::End end) const {
  return static_cast<std::size_t>(std::ranges::count(played, end, &Played::end));
}

ReplayOutcome run_replay(const ReplayWish& wish) {
  ::signal(SIGPIPE, SIG_IGN);
  return Play(wish).run();
}

}  // namespace mcpivot
