#include "server/life.h"

#include <fmt/format.h>

#include <type_traits>
#include <utility>

namespace mcpivot {
namespace {

template <class... F>
struct Cases : F... {
  using F::operator()...;
};

// Includes what went wrong before, for callers that wait for a start that may fail again.
std::string starting_words(int number, const Life::State& before) {
  const auto* const failed = std::get_if<Life::Failed>(&before);
  std::string words = fmt::format("it is starting (generation {})", number);
  if (failed != nullptr)
    words += fmt::format("; last time {}", failed->words.substr(0, failed->words.find('\n')));
  return words;
}

// An instance that is ending for good is no longer started, built or stopped.
template <class Event>
constexpr bool concerns_leaving(const Event&) {
  return std::is_same_v<Event, Life::Retired> || std::is_same_v<Event, Life::Farewell>;
}

}  // namespace

Life::Effects Life::on(const Event& event, const Facts& facts) {
  facts_ = facts;
  if (!is<Leaving>() || std::visit([](const auto& one) { return concerns_leaving(one); }, event))
    std::visit([this](const auto& one) { on(one); }, event);
  return std::exchange(effects_, {});
}

Life::Effects Life::next(const Facts& facts) {
  facts_ = facts;
  const bool round_may_begin = !is<Ending>() && !is<Leaving>() && has_room();
  const bool idle =
      next_ == Next::nothing && facts.round == Round::none && !facts.blocked && !facts.stop_wanted;
  if (facts.stop_wanted && !facts.stops) {
    do_(Do::tell_stopped);
  } else if (is<Leaving>()) {
    if (facts.empty) do_(Do::tell_gone);
  } else if (facts.round == Round::waits && round_may_begin) {
    do_(Do::begin_round);
  } else if (next_ == Next::room && !facts.others && !has_current()) {
    next_ = Next::nothing;
    bear(reason_);
  } else if ((is<Stopped>() || is_refused()) && idle && facts.asked && has_room()) {
    bear("started for this call");
  } else if ((is<Starting>() || (is<Failed>() && !is_refused())) && idle) {
    bear("again");
  } else if (facts.asked && facts.serves) {
    do_(Do::release);
  }
  return std::exchange(effects_, {});
}

// --- births

// Unless one is under way, or isn't possible.
void Life::bear(const std::string& reason) {
  if (bears() || facts_.blocked || is<Leaving>()) return;
  drop_back_off();
  next_ = Next::nothing;
  if (!facts_.overlaps) {  // it can't run twice, nor during a build
    if (facts_.round == Round::builds || facts_.round == Round::waits) return;
    if (facts_.others || has_current()) {  // it could run twice when that one was started
      make_room();
      next_ = Next::room;
      reason_ = reason;
      return;
    }
  }
  next_ = Next::birth;
  ++births_;
  reason_ = reason;
  const bool tried_before = facts_.comes_and_goes && is<Failed>();  // so another attempt is not news
  if (!has_current() && !tried_before) state_ = Starting{starting_words(facts_.number, state_)};
  do_(Do::start, reason);
}

// The birth under way may be older than what is wanted.
void Life::bear_again(const std::string& reason) {
  const bool ends_one = bears();
  drop_birth();
  if (ends_one && !facts_.overlaps) facts_.others = true;
  bear(reason);
}

void Life::drop_back_off() {
  if (next_ != Next::later) return;
  next_ = Next::nothing;
  do_(Do::cancel_back_off);
}

void Life::drop_birth() {
  if (bears()) do_(Do::end_birth);
  if (bears() || next_ == Next::room) next_ = Next::nothing;
}

// Cancels whatever was to come next.
void Life::drop_plans() {
  drop_back_off();
  do_(Do::stop_build);
  drop_birth();
}

void Life::back_off() {
  next_ = Next::later;
  do_(Do::back_off);
}

// If it is ending because it was idle, it is started again when it has ended.
void Life::on(const Wanted& event) {
  const auto* const ending = get<Ending>();
  if (is<Stopped>()) return bear(event.reason);
  if (ending == nullptr || ending->what != Ending::For::rest || next_ != Next::nothing) return;
  next_ = Next::room;
  reason_ = event.reason;
}

// After a failure it waits for the next attempt, unless an attempt costs little or may succeed now; if the
// server refused us, this is the next attempt.
void Life::on(const Needed&) {
  if (facts_.stop_wanted) return;
  const auto* const failed = get<Failed>();
  const bool down = is<Stopped>() || (is<Starting>() && next_ == Next::nothing) ||
                    (failed != nullptr && (!failed->ran || failed->refused)) ||
                    (facts_.comes_and_goes && !has_current());
  // Otherwise next() starts it when there is room, if the request still waits then.
  const bool only_for_requests = is<Stopped>() || is_refused();
  if (down && (has_room() || !only_for_requests)) bear("started for this call");
}

void Life::on(const Due& event) {
  if (next_ == Next::later) next_ = Next::nothing;
  bear(event.reason);
}

void Life::on(const Born& event) {
  if (!is_under_way(event.birth)) return;
  if (event.checks) {
    next_ = Next::check;
    return do_(Do::check);
  }
  next_ = Next::nothing;
  state_ = Ready{};
}

// A generation that answers differently is still better than none.
void Life::on(const Checked& event) {
  if (next_ != Next::check || event.birth != births_) return;
  if (event.held && has_current()) {
    drop_birth();
    if (facts_.round != Round::builds) do_(Do::fail_round, event.words);
    return;
  }
  next_ = Next::nothing;
  state_ = Ready{};
}

// Callers that wait for a build wait for its outcome. A server that rejects us isn't asked over and over, so
// no caller waits for another answer.
void Life::on(const BirthFailed& event) {
  if (!is_under_way(event.birth)) return;
  next_ = Next::nothing;
  if (facts_.round != Round::builds) do_(Do::fail_round, event.words);
  if (has_current()) return;
  state_ = Failed{.words = event.why, .ran = event.ran, .refused = event.refused};
  do_(Do::settle);
  if (!event.refused) return back_off();
  if (facts_.round == Round::none || facts_.round == Round::bears) do_(Do::refuse_waiting, event.why);
}

void Life::on(const BirthPostponed& event) {
  if (!is_under_way(event.birth)) return;
  if (!has_current()) state_ = Starting{event.words};
  next_ = Next::later;
  do_(Do::look_again, reason_);
}

// --- reloads

void Life::make_room() {
  if (!is<Ready>()) return;
  state_ = Ending{Ending::For::room};
  do_(Do::end_current);
}

// A server that can't run twice makes room first.
void Life::on(const RoundWaits&) {
  if (facts_.overlaps) return;
  drop_birth();
  make_room();
}

void Life::on(const RoundBegins& event) {
  if (event.builds) {
    if (is<Stopped>()) state_ = Starting{"it is being built"};
    return do_(Do::build);
  }
  if (event.renews) return renew(event.reason);
  facts_.round = Round::bears;
  if (facts_.comes_and_goes) {  // a session can't be older than what was asked for
    if (bears()) return do_(Do::join_birth);
    return bear(event.reason);
  }
  bear_again(event.reason);
}

// A generation that was started before the build ended may run the old code.
void Life::on(const Built& event) {
  facts_.round = Round::bears;
  if (facts_.comes_and_goes) return renew(event.reason);
  bear_again(event.reason);
}

void Life::renew(const std::string& reason) {
  drop_back_off();
  drop_birth();
  do_(Do::renew, reason);
}

void Life::on(const BuildFailed& event) {
  do_(Do::fail_round, event.words);
}

// --- ends

void Life::on(const Lost& event) {
  state_ = Starting{event.words};
  if (next_ == Next::nothing && !facts_.blocked) back_off();
}

void Life::on(const Ended&) {
  const auto* const ending = get<Ending>();
  if (facts_.round != Round::none || (ending != nullptr && ending->what == Ending::For::room)) {
    state_ = Starting{std::string(words_of_room)};
  } else if (ending != nullptr && ending->what == Ending::For::rest) {
    state_ =
        Stopped{Stopped::Why::unneeded, "it was stopped because nobody needed it; the next call starts it"};
  } else {
    state_ = Stopped{Stopped::Why::on_request, ending != nullptr ? ending->words : std::string()};
  }
}

void Life::on(const Stop& event) {
  drop_plans();
  do_(Do::give_up_round);
  if (has_current() && !event.at_once) {
    if (is<Ready>()) do_(Do::end_current);
    state_ = Ending{Ending::For::stop, event.words};
  } else {
    if (has_current()) do_(Do::detach_current);
    state_ = Stopped{Stopped::Why::on_request, event.words};
  }
  if (!event.at_once) do_(Do::end_others);
  do_(Do::settle);
  if (event.at_once) do_(Do::stop_daemon);
}

// Not while the next generation is wanted.
void Life::on(const Rest&) {
  if (!is<Ready>() || next_ != Next::nothing) return;
  state_ = Ending{Ending::For::rest};
  do_(Do::end_current);
}

// A birth under way would use the old configuration; one that still waits for room won't.
void Life::on(const Configured&) {
  if (next_ != Next::room) drop_birth();
}

void Life::on(const Retired& event) {
  drop_plans();
  do_(Do::refuse_waiting, event.words);
  do_(Do::give_up_round);
  if (has_current()) do_(Do::drain_current);
  state_ = Leaving{event.words};
  do_(Do::settle);
}

void Life::on(const Farewell& event) {
  drop_plans();
  do_(Do::refuse_waiting, event.words);
  do_(Do::give_up_round);
  do_(Do::settle);
  do_(Do::end_current);  // perhaps again, with less patience
  do_(Do::end_others);
  state_ = Leaving{event.words};
}

// --- words

std::string_view Life::trouble() const {
  return std::visit(Cases{[](const Ready&) { return std::string_view(); },
                          [](const Ending& ending) {
                            return ending.what == Ending::For::room ? words_of_room
                                   : ending.what == Ending::For::stop
                                       ? "it is being stopped on request"
                                       : "it is being stopped because nobody needs it";
                          },
                          [](const auto& other) { return std::string_view(other.words); }},
                    state_);
}

void Life::explain(std::string words) {
  std::visit(Cases{[](Ready&) {}, [](Ending&) {}, [&](auto& other) { other.words = std::move(words); }},
             state_);
}

Life::Shown Life::shown() const {
  return std::visit(
      Cases{[](const Starting&) { return Shown::starting; }, [](const Ready&) { return Shown::ready; },
            [](const Failed&) { return Shown::failed; },
            [](const Ending& ending) {
              return ending.what == Ending::For::room ? Shown::starting : Shown::stopped;
            },
            [](const auto&) { return Shown::stopped; }},
      state_);
}

std::string_view text(Life::Shown state) {
  switch (state) {
    case Life::Shown::stopped:
      return "stopped";
    case Life::Shown::starting:
      return "starting";
    case Life::Shown::ready:
      return "ready";
    case Life::Shown::failed:
      return "failed";
  }
  return "?";
}

}  // namespace mcpivot
