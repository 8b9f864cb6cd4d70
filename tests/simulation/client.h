// A simulated AI client: it asks what the plan says, answers what servers ask it, fetches a list again when
// it is told that it changed, and reports everything it receives to the oracle. Some are legacy clients,
// some are modern, some support both eras, and some mix them.
//
// What it does about answers that require input is in client_modern.cpp.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "oracle.h"
#include "plan.h"
#include "wire.h"

namespace simulation {

// Numbers of the requests that a client makes without a plan begin here.
constexpr int first_own_number = 10'000'000;

// "TOOL ,"do":"die" +token +task" as a plan has it.
struct CallText {
  std::string tool;
  std::string arguments;  // with the number in them
  bool token = false;
  bool task = false;
  bool in_batch = false;
};
CallText call_from(const std::string& text, int number);

// A client's answer to a server's question, which the server can recognise.
std::string response_to(const std::string& method, std::string_view params);

class Client final : private Wire::Peer {
 public:
  // `who` is as the oracle has it; `guest` is "~g1", behind the names of its servers.
  struct Seat {
    int who = 0;
    std::string guest{};
  };
  Client(VirtualTime& time, Oracle& oracle, std::uint64_t seed, int& own_numbers, Seat seat);
  ~Client() override { wire_->forget_peer(); }

  mcpivot::Link& link() { return *wire_; }
  void start(mcpivot::Link::Handler& handler) { wire_->start(handler); }
  const Wire& wire() const { return *wire_; }

  // `how`: the version of a legacy client; "modern", "dual" or "mixed", and "-blind" behind it: it doesn't
  // ask or shake hands first.
  void hello(int number, const std::string& how);
  void ready();
  void call(const std::string& server, int number, const CallText& call);
  void call_through(const std::string& server, int number, const CallText& call);
  // By the name that the client is to use; `server` answers.
  void call_named(const std::string& name, const std::string& server, int number, const CallText& call);
  void control(int number, const std::string& text);
  void batch(const std::string& server, int number, const std::string& text);
  void ask(int number, const std::string& method, const std::string& params);
  // "tools,prompts,sim://alpha/one"; only a client that has the modern era does that.
  void listen(int number, const std::string& text);
  void cancel(int number);
  void notify(const std::string& method, const std::string& params);
  void noise(int kind);
  void stop_reading(Millis time);
  void read_again() { wire_->read_again(); }
  // It disconnects, and the core learns that.
  void vanish(std::function<void()> when_known);

  // Questions of servers that it hasn't answered and that weren't withdrawn.
  std::size_t asked() const { return asked_.size(); }
  // Asks for the list again, and checks that it is still what the client was told last.
  void check_list();
  bool list_is_right() const { return !list_differs_; }
  // It has asked which eras are supported, and waits for the answer before anything else.
  bool is_undecided() const { return speech_ == Speech::dual; }
  // Whether it does its part when it is asked in a call with this number, in one round.
  bool comes_back(int number) const;
  // Calls of a client that mixes eras may be rejected.
  bool asks_at_rest() const { return speech_ != Speech::mixed; }
  bool has_modern() const { return speech_ != Speech::legacy; }
  // Whether it asks this in the modern era.
  bool speaks_modern(int number) const;
  // It doesn't say in this request who it is, so that is rejected.
  bool is_faulty(int number) const { return speech_ == Speech::mixed && number % 20 == 7; }
  void when_decided(std::function<void()> what) { held_.push_back(std::move(what)); }

  // Everything it received, if transcripts are kept.
  static bool keeps_transcript;
  const std::string& transcript() const { return transcript_; }
  const Seat& seat() const { return seat_; }
  bool greeted() const { return greeted_; }
  bool is_ready() const { return ready_; }
  int own_number() { return first_own_number + ++own_numbers_; }

 private:
  enum class Speech : std::uint8_t { legacy, modern, dual, mixed };
  // A request that may be answered with `input_required`.
  struct Kept {
    std::string method;
    std::string members;  // of its params
    Asked asked;
  };

  void hear(std::string_view line) override;
  void hear_end() override {}
  void given(const mcpivot::Message& message) override { oracle_.given(seat_.who, message); }
  void taken() override { oracle_.taken(); }
  void sent(std::string_view line) override;
  void emptied() override;

  std::string name_for(const std::string& server, const std::string& tool, int number, bool& sure) const;
  std::string with_canary(std::string arguments) const;
  Asked expected(int number, std::string server, const CallText& call) const;
  // Asks, in its own era. Returns the line, if it is part of a batch.
  std::string line_of(Asked asked, const std::string& method, std::string members);
  void put(const Asked& asked, const std::string& method, std::string members);
  std::string call_members(const std::string& name, const CallText& call) const;
  void answer(const mcpivot::Message& request);
  void hear_answer(const mcpivot::Message& message);
  void learn_names(const mcpivot::Message& message);

  // In the modern era.
  std::string meta(const Asked& asked) const;
  std::string capabilities() const;
  void decide(std::string_view discovered);
  void initialize(int number, const std::string& version);
  void come_back(const Kept& kept, std::string_view result);
  // Calls again. `state` and `responses` are JSON text, or empty.
  void retry(const Kept& kept, const std::string& state, const std::string& responses,
             Asked::Honesty honesty);
  void later(Millis time, std::function<void()> what);

  VirtualTime& time_;
  Oracle& oracle_;
  Seat seat_;
  std::string transcript_;
  std::shared_ptr<Wire> wire_;
  int& own_numbers_;
  std::set<std::string, std::less<>> names_;  // of the tools that it knows
  std::set<std::string> asked_;               // the ids of what servers ask
  std::set<std::string, std::less<>> early_;  // what it asked before the handshake doesn't count
  int check_ = 0;                             // the number of the list that is compared
  bool listed_ = false;
  bool list_differs_ = false;
  std::function<void()> when_known_;
  int hello_ = 0;     // its number
  int discover_ = 0;  // the number of the request that decides the era
  Speech speech_ = Speech::legacy;
  std::vector<std::function<void()>> held_;
  std::map<std::string, Kept, std::less<>> kept_;    // by id
  std::map<std::string, int, std::less<>> listens_;  // their numbers by their ids
  std::set<int> tool_listens_;                       // for tools, acknowledged
  bool greeted_ = false;
  bool ready_ = false;
  bool batches_ = false;  // the handshake allows them
};

}  // namespace simulation
