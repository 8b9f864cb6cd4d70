// Judges what the core does: remembers every request from the moment at which the core got it, and
// every line that the core sends. It does nothing itself.
//
// A promise that is broken is a sentence in broken(); the run goes on.
#pragma once

#include <fmt/format.h>

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/hash.h"
#include "ledger.h"
#include "rpc/message.h"
#include "server/instance.h"
#include "virtual_time.h"

namespace simulation {

// What a request is, as its maker knows it.
struct Asked {
  int number = 0;
  int who = 0;         // the client is 0, a terminal 1 and up, a guest -1 and down; others in each life
  std::string server;  // whose words are a good answer; empty: nobody's
  bool may_repeat = false;
  bool is_call = false;  // of a server's tool: its nonce must come back
  bool has_token = false;
  bool is_task = false;
  bool is_prompt = false;  // its server answers by itself, soon
  bool cancellable = true;
  bool in_batch = false;  // its answer may already be in the batch when it is cancelled
  std::string heading{};  // of a call by pivot_call: what its answer begins with, as JSON spells it
  Millis limit{100'000};

  // Of the modern era: what each answer must have depends on the request.
  bool modern = false;
  bool faulty = false;     // its `_meta` isn't one
  bool carries = false;    // its answer may be `input_required`
  bool cacheable = false;  // its answer says for how long it is valid
  bool logs = false;       // it wants log messages
  // A retry: of which call, with which requestState; and that it is forged, or used before.
  int of = 0;
  std::string state{};
  enum class Honesty : std::uint8_t { good, odd, forged } honesty = Honesty::good;
  // A listen: for which notifications, and resources.
  bool is_listen = false;
  std::set<std::string> methods{};
  std::set<std::string> uris{};
};

class Oracle final : public Ledger {
 public:
  explicit Oracle(const mcpivot::Clock& clock) : clock_(clock) {}

  // An id (or token) that a client gives its request of this number: of all spellings that JSON has.
  static std::string spelled(int number);
  static std::string token(int number);
  // What a client has in all its calls.
  static std::string canary(int who);
  // The capabilities that a client declares; some declare fewer.
  static std::string capabilities(int who);
  // This server is shared, now or later: what its guests call may be answered by it.
  void may_share(const std::string& server) { shared_.insert(server); }

  // Announces a request, before the core is given it.
  void will_ask(Asked asked);
  void given(int who, const mcpivot::Message& message);
  void taken();
  // The core sends something to a client or a terminal.
  void said(int who, std::string_view line);
  // No one waits for the answers of this one anymore.
  void gone(int who);

  // Ledger
  void executed(int number, const std::string& server) override;
  int died(const std::string& server, const std::vector<int>& open) override;
  void buried(const std::string& server, pid_t pid, int death, bool answered) override;
  void born(const std::string& server) override;
  void runs_twice(const std::string& server) override {
    violate(server + " cannot run twice, and was started while another one runs");
  }
  bool serves(const std::string& server, pid_t pid) const override {
    return is_current && is_current(server, pid);
  }
  void ended_with_tasks(const std::string& server, Millis since_last) override;
  void not_yet(int number) override;
  void finished(int number) override;
  void refused_era(const std::string& server) override { refused_era_.insert(server); }
  void ignored(const std::string& server) override { ignored_[server] = clock_.now(); }
  int starts_of(const std::string& server) const {
    const auto found = starts_.find(server);
    return found == starts_.end() ? 0 : found->second;
  }
  // Whether the last process of this one has done so.
  bool has_refused_era(const std::string& server) const { return refused_era_.contains(server); }
  void bad_retry(int number, const std::string& server, const std::string& state) override;
  void resumed(int number, const std::string& server, bool complete) override;
  void wrong(const std::string& server, const std::string& what) override {
    violate(fmt::format("{} {}", server, brief(what)));
  }
  // The plan does something: what should happen by itself may not.
  void meddled() { due_.clear(); }
  // The configuration has changed: names may mean other servers.
  void reconfigured() { reconfigured_ = clock_.now(); }
  // Someone stopped this server: it stays so until it gets a request, or someone wants it back.
  void stopped(const std::string& server) { stopped_.insert(server); }
  bool expects_stop(const std::string& server) const {
    return stop_wanted_ == server && !stopped_.contains(server);
  }
  void wanted_back() {
    stopped_.clear();
    stop_wanted_.clear();
  }
  // So whatever was to happen before still does.
  void stop_was_refused() {
    stopped_.erase(stop_wanted_);
    stop_wanted_.clear();
  }
  void sent_to(const std::string& server, std::string_view line) override;

  // As of now: whether the user lets a server's tool be called, whether this is the process that serves,
  // whether the model hears of a server, and the server itself.
  std::function<bool(const std::string& server, std::string_view tool)> allows;
  std::function<bool(const std::string& server, pid_t pid)> is_current;
  std::function<bool(const std::string& server)> tells_model;
  std::function<const mcpivot::Instance*(const std::string& server)> server_called;
  // Whether a server that is to go on is at work on this call.
  std::function<bool(int number)> is_at_work;
  std::function<bool(const std::string& server)> is_being_stopped;  // a daemon
  // Whose server this is; as in Asked.
  std::function<int(const std::string& server)> whose;
  // No one in this plan ever stops reading, or hangs from the start.
  bool all_listen = false;
  // In this plan there are never so many calls at once that some are dropped for others.
  bool no_crowds = false;

  // Whether this client is of the modern era, as it has shown so far.
  bool is_modern(int who) const { return modern_.contains(who) && !mixed_.contains(who); }
  // A requestState that another client was given; empty: there is none.
  std::string state_of_another(int who) const;

  bool was_answered(int number) const;
  bool was_answered_well(int number) const;
  // The same, or one of its retries was.
  bool was_answered_in_rounds(int number) const;
  // When everything must be over; at the end of mcpivot, also what otherwise stays open.
  void judge_end(bool of_mcpivot);
  // Every silent death must have been reported by now.
  void judge_deaths(int who);
  // mcpivot is shutting down: what it hasn't reported, it never will.
  void forget_deaths() { untold_.clear(); }
  // A guest is gone, and with it the servers whose names end so.
  void forget_servers(const std::string& suffix);

  void violate(std::string what);
  // Writes down what happens, for people to read, if anyone wants to.
  void trace(std::string_view who, std::string_view what) const;
  static bool tracing;
  const std::vector<std::string>& broken() const { return broken_; }
  std::uint64_t hash() const { return hash_.value() ^ (said_ << 1U); }

 private:
  enum class State : std::uint8_t { none, planned, open, answered, withdrawn, abandoned };
  struct Request {
    Asked asked;
    State state = State::none;
    bool well = false;  // answered by its own server
    int executed = 0;
    mcpivot::Clock::Time finished{};  // by its server, the last time
    int extra = 0;                    // how often it may be, beyond once
    int death = 0;                    // of its server, while it was under way
    bool goes_on = false;             // a retry, and its call waits for it
    bool acknowledged = false;        // a listen
    mcpivot::Clock::Time since{};
  };

  Request* find(std::string_view id);
  void answered(int who, const mcpivot::Message& message);
  void judge_words(Request& request, const mcpivot::Message& message);
  void judge_apart(int who, std::string_view line);
  void note_question(int who, std::string_view line, const mcpivot::Message& message);
  void judge_capabilities(const std::string& server, const mcpivot::Message& call);
  void note_deaths(int who, std::string_view line);
  void heard(std::string_view line);
  void judge_excuse(const Asked& asked, std::string_view raw);
  // Of the modern era.
  void given_request(int who, Request& request, const mcpivot::Message& message);
  void judge_unasked(int who, const mcpivot::Message& message);
  void judge_subscription(int who, const mcpivot::Message& message);
  // False: there is no more to be judged.
  bool judge_era(int who, Request& request, const mcpivot::Message& message);
  void count_use(const Asked& asked);
  std::string brief(std::string_view line) const;

  const mcpivot::Clock& clock_;
  std::unordered_map<int, Request> requests_;
  int cancelled_ = 0;  // just now, and no server has been told
  struct Untold {
    int number;
    std::string server;
  };
  std::vector<Untold> untold_;
  int deaths_ = 0;
  int deaths_of_guests_ = 0;
  std::set<std::string> shared_;                     // servers that ever were
  std::map<int, std::set<std::string>> subscribed_;  // who ever was, to what
  std::set<std::string> stopped_;
  std::string stop_wanted_;  // of this server: it is the last request to mcpivot itself
  int stop_asked_ = 0;       // by this request
  std::map<std::string, mcpivot::Clock::Time> due_;  // when servers must have been started again
  std::map<std::string, int> starts_;
  std::set<std::string> refused_era_;                    // servers whose last process did
  std::map<std::string, mcpivot::Clock::Time> ignored_;  // when servers last said nothing to something
  std::set<int> modern_;                                 // clients
  std::set<int> mixed_;                                  // those that ever made a request of the legacy era
  std::set<int> shaken_;                                 // those that ever said `initialize`
  std::set<int> want_logs_;                              // those that ever asked for log messages
  std::map<int, std::set<std::string>> questions_;       // the ids of those that each was asked
  // Of those in rounds of shared servers: the call that each belongs to, by its id.
  std::map<int, std::map<std::string, int>> rounds_;
  std::map<int, std::string> states_;  // the latest requestState of each
  std::map<std::string, int> uses_;    // of a requestState that came to something
  std::set<std::string> odd_states_;   // such as clients were not given
  mcpivot::Clock::Time reconfigured_{};
  std::vector<std::string> broken_;
  mcpivot::ContentHash hash_;
  std::uint64_t said_ = 0;
};

}  // namespace simulation
