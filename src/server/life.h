// The life of an instance, as a state machine. An event comes in, the state changes, and effects come out,
// which the instance then carries out. Nothing is done or called in here, so each step can be tested by
// itself; docs/life.md is generated from it.
//
// What is serving and what comes next are separate: a new generation starts while the old one serves. Builds,
// and the callers that wait for them, are in ReloadRounds; here they are only facts.
//
// Plain data; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace mcpivot {

class Life {
 public:
  // Why a call waits, or is lost, when one generation makes room for the next.
  static constexpr std::string_view words_of_room = "a new generation takes its place";

  // --- what serves

  // Nothing is running, and nothing should be.
  struct Stopped {
    enum class Why : std::uint8_t { unstarted, on_request, unneeded };
    Why why = Why::unstarted;
    std::string words;
  };
  // Nothing is serving yet, or any more; a generation is on its way.
  struct Starting {
    std::string words;
  };
  // A generation is serving.
  struct Ready {};
  // What served gets no new requests, and is ending.
  struct Ending {
    enum class For : std::uint8_t { stop, rest, room };
    For what;
    std::string words{};  // for the stop, if it is being stopped
  };
  // It couldn't be started. The next attempt is due later or, if the server is there and rejected us, when it
  // is needed.
  struct Failed {
    std::string words;
    bool ran = true;  // its program did run
    bool refused = false;
  };
  // It is ending for good.
  struct Leaving {
    std::string words;
  };
  using State = std::variant<Stopped, Starting, Ready, Ending, Failed, Leaving>;

  // --- what comes next

  enum class Next : std::uint8_t {
    nothing,
    room,   // a birth, once the earlier generations are gone
    later,  // a birth, after a delay
    birth,  // one is under way
    check   // it has started, and gets recorded calls before it may serve
  };

  // --- what happens

  // It is wanted.
  struct Wanted {
    std::string reason;
  };
  // A request came, and nothing is serving.
  struct Needed {};
  // A generation is due, whether a caller waits for it or not.
  struct Due {
    std::string reason;
  };
  // A round of reloads wants to begin; it may begin; its build is done; its build failed.
  struct RoundWaits {};
  struct RoundBegins {
    bool builds;
    bool renews;  // the daemon too, not only our session with it
    std::string reason;
  };
  struct Built {
    std::string reason;
  };
  struct BuildFailed {
    std::string words;
  };
  // The birth under way succeeded, failed, or must be retried soon, which isn't a failure.
  struct Born {
    int birth;            // which one: births()
    bool checks = false;  // it must be checked with recorded calls first
  };
  // The check is done. `held`: answers differ, or may differ, so the generation must not replace another one
  // before a user accepts it.
  struct Checked {
    int birth;
    bool held = false;
    std::string words{};  // for the callers that wait for it, if it is held
  };
  struct BirthFailed {
    int birth;
    std::string why;
    bool ran;
    std::string words;     // for the callers that wait for it
    bool refused = false;  // the server rejected us, and will until the cause is fixed
  };
  struct BirthPostponed {
    int birth;
    std::string words;
  };
  // The current generation is gone, and we didn't end it.
  struct Lost {
    std::string words;
  };
  struct Ended {};  // it is gone because we ended it
  struct Stop {
    std::string words;
    bool at_once;  // don't wait for the end of our session with it
  };
  struct Rest {};
  struct Configured {};
  // It is no longer in the configuration, or mcpivot ends.
  struct Retired {
    std::string words;
  };
  struct Farewell {
    std::string words;
  };
  using Event =
      std::variant<Wanted, Needed, Due, RoundWaits, RoundBegins, Built, BuildFailed, Born, Checked,
                   BirthFailed, BirthPostponed, Lost, Ended, Stop, Rest, Configured, Retired, Farewell>;

  // --- the facts at that time

  enum class Round : std::uint8_t { none, waits, builds, bears };
  struct Facts {
    Round round = Round::none;
    bool overlaps = true;         // two generations may run side by side
    bool comes_and_goes = false;  // by itself: an attempt to reach it isn't news, and costs little
    bool asked = false;           // requests wait
    bool serves = false;          // a generation can handle them
    bool others = false;          // earlier generations still exist
    bool stop_wanted = false;     // a caller waits for it to be stopped
    bool stops = false;           // what must stop is still running
    bool blocked = false;         // the daemon is being stopped: nothing can be started
    bool empty = false;           // nothing is left of it
    int number = 1;               // of the next generation
  };

  // --- what to do

  enum class Do : std::uint8_t {
    start,           // a generation, for this reason
    join_birth,      // callers that wait for a generation wait for the one under way
    end_birth,       // the birth under way isn't wanted any more
    check,           // it is checked with recorded calls
    end_current,     // it is asked to end
    detach_current,  // the same, and it is no longer the current one
    drain_current,   // the same, when it has finished its calls
    end_others,      // also generations that drain
    build,
    stop_build,
    begin_round,    // it may begin
    renew,          // the daemon, then start, for this reason
    fail_round,     // callers that wait for it are told this
    give_up_round,  // the same; and another instance must try out the change
    back_off,       // then a generation is due
    look_again,     // the same, soon
    cancel_back_off,
    release,         // requests that wait can be sent
    refuse_waiting,  // they are told this
    settle,          // no client needs to wait for the first handshake any longer
    stop_daemon,
    tell_stopped,  // the callers that wanted it stopped
    tell_gone
  };
  struct Effect {
    Do what;
    std::string words{};
    bool operator==(const Effect&) const = default;
  };
  using Effects = std::vector<Effect>;

  // Something has happened.
  Effects on(const Event& event, const Facts& facts);
  // All effects have been carried out. What can be done now that couldn't before?
  Effects next(const Facts& facts);

  const State& state() const { return state_; }
  Next coming() const { return next_; }
  // How many there were; the last one is the one under way, if any.
  int births() const { return births_; }
  template <class S>
  bool is() const {
    return std::holds_alternative<S>(state_);
  }
  template <class S>
  const S* get() const {
    return std::get_if<S>(&state_);
  }
  // As users and models see it.
  enum class Shown : std::uint8_t { stopped, starting, ready, failed };
  Shown shown() const;
  // There is a current generation, though it may be ending.
  bool has_current() const { return is<Ready>() || is<Ending>(); }
  // It rejected us, and hasn't been needed since.
  bool is_refused() const { return is<Failed>() && get<Failed>()->refused; }
  // Why it is not ready, in a sentence; empty if it is.
  std::string_view trouble() const;
  // Sets why it isn't ready: it takes longer than a caller wants to wait, or starts at its first use.
  void explain(std::string words);

 private:
  void on(const Wanted& event);
  void on(const Needed& event);
  void on(const Due& event);
  void on(const RoundWaits& event);
  void on(const RoundBegins& event);
  void on(const Built& event);
  void on(const BuildFailed& event);
  void on(const Born& event);
  void on(const Checked& event);
  void on(const BirthFailed& event);
  void on(const BirthPostponed& event);
  void on(const Lost& event);
  void on(const Ended& event);
  void on(const Stop& event);
  void on(const Rest& event);
  void on(const Configured& event);
  void on(const Retired& event);
  void on(const Farewell& event);

  void bear(const std::string& reason);
  void bear_again(const std::string& reason);
  void make_room();
  void renew(const std::string& reason);
  // Nothing has to end before a generation starts.
  bool has_room() const { return facts_.overlaps || !facts_.others; }
  // Also one that is being checked.
  bool bears() const { return next_ == Next::birth || next_ == Next::check; }
  bool is_under_way(int birth) const { return bears() && birth == births_; }
  void drop_back_off();
  void drop_birth();
  void drop_plans();
  void back_off();
  void do_(Do what, std::string words = {}) { effects_.push_back({what, std::move(words)}); }

  State state_ = Stopped{Stopped::Why::unstarted, "it has not been started"};
  Next next_ = Next::nothing;
  int births_ = 0;
  std::string reason_;  // for the last birth, or for one that waits for room
  Facts facts_;         // as they were when the event came
  Effects effects_;     // of that event
};

std::string_view text(Life::Shown state);

}  // namespace mcpivot
