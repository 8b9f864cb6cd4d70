// What a simulated MCP server does: it shakes hands, lists, and does with each call what the call's own
// arguments say ({"do":"die","after":5}): answer, fail, hang, die, talk nonsense, ask back, flood, change its
// tools, begin a task.
//
// It keeps the era of its first message, as servers with the official SDK do. actor_modern.cpp has what it
// does in the modern era.
//
// It doesn't know its surroundings, only its Body, which must outlive it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>

#include "base/era.h"
#include "ledger.h"
#include "mcp/catalog.h"
#include "rpc/message.h"
#include "script.h"
#include "virtual_time.h"

namespace simulation {

class Actor {
 public:
  class Body {
   public:
    virtual ~Body() = default;
    // Counts all processes and sessions so far.
    virtual int number() const = 0;
    virtual void say(std::string line) = 0;
    // Nothing happens if it is dead by then.
    virtual void after(Millis time, std::function<void()> what) = 0;
    virtual void die(const std::string& how) = 0;
    virtual bool can_exit() const = 0;  // a daemon doesn't end with one of its sessions
    virtual void stop_reading(Millis time) = 0;
    virtual std::size_t longest_message() const = 0;
    // One of its requests will never be answered, although it keeps running (only daemons).
    virtual void lose(const std::string& id, bool reached) = 0;
    // A call of a CLI is a run of its program, with its own time limit.
    virtual Millis limit_of_calls() const = 0;
    virtual mcpivot::Clock::Time now() const = 0;
    // It has several clients, so what it lists depends on who asks.
    virtual bool for_many() const = 0;
    // Whether this process serves; whether another one does; and whether a build with other answers is held
    // back.
    virtual bool serves() const = 0;
    virtual bool another_serves() const = 0;
    virtual bool gates() const = 0;
  };

  // `is_cli`: it only has tools, and what a call does ends only that call.
  Actor(Body& body, Script& script, Ledger& ledger, Birth birth, bool is_cli, int generation);
  void start();

  void hear(std::string_view line);
  // It sends something that nobody asked for.
  void blurt(std::string_view what);
  // From now on it works correctly, and says so.
  void heal();
  // The calls that it has not answered, by their numbers.
  std::vector<int> open() const;
  // Tasks whose results no client has fetched.
  std::size_t tasks() const { return tasks_.size(); }
  mcpivot::Clock::Time last_task() const;
  bool answered() const { return answered_; }
  // The canary of its last caller; empty: there was no call, or the caller has none.
  const std::string& canary() const { return canary_; }
  // The era of its first message; nothing: there was none that it understood.
  std::optional<mcpivot::Era> era() const { return era_; }
  // Whether it ended or rejected the handshake because of the era.
  bool refused_era() const { return refused_era_; }
  // Its listens: those that it has acknowledged and not ended; and whether it has treated all of them well.
  std::size_t listens() const { return listens_.size(); }
  bool hears_listens() const { return tongue_.listening == Tongue::Listening::good && !was_rude_; }
  // Its questions that are neither answered nor withdrawn.
  std::size_t questions() const { return questions_.size(); }
  int revision() const { return script_.revision; }

 private:
  struct Call {
    std::string id;
    std::string token;
    std::string tool;
    std::string how;  // "do"
    std::string canary;
    std::string level;         // of log messages, in the modern era
    std::string capabilities;  // of who calls, in the modern era
    int number = 0;
    int after = 0;
    bool task = false;
    bool structured = false;
    mcpivot::Clock::Time began{};  // as a task
  };

  struct Listen {
    std::set<std::string> methods;  // of notifications
    std::set<std::string> uris;
    bool acknowledged = false;
    std::string acknowledgement;
  };

  void stop(const std::string& id);
  void on_answer(const mcpivot::Message& message);
  bool takes_era(const mcpivot::Message& message);
  void on_request(const mcpivot::Message& message);
  void initialize(const mcpivot::Message& message);
  void list(const mcpivot::Message& message, mcpivot::ListKind kind);
  void call(const mcpivot::Message& message);
  // A recorded call, before it serves.
  void check(const Call& call, int kind);
  void perform(const Call& call);
  void finish(const Call& call);
  void flood(const Call& call);
  void ask(const Call& call);
  void change_tools();
  // One of its own questions.
  void put(const std::string& id, std::string_view method, std::string_view params);
  void withdraw(const std::string& id, std::string_view why);
  // To every client that wants to know, in that client's era.
  void announce(std::string_view method, std::string_view params);

  // In the modern era.
  bool is_modern() const { return era_ == mcpivot::Era::modern; }
  bool judge_modern(const mcpivot::Message& message);
  bool is_rudely_asked(const Call& call) const { return tongue_.rude && call.number % 8 == 3; }
  void discover(const mcpivot::Message& message);
  void listen(const mcpivot::Message& message);
  void acknowledge(Listen& listen);
  // The call is answered with `input_required`.
  void require_input(const Call& call, int round, const std::set<std::string>& missing);
  // It was called again with this state; false: it wasn't.
  bool resume(const Call& call, const mcpivot::Message& message);

  void result(std::string_view id, std::string_view result);
  void error(std::string_view id, int code, std::string_view words);
  std::string content(const Call& call) const;
  void log(std::string_view params);

  Body& body_;
  Script& script_;
  Ledger& ledger_;
  Birth birth_;
  Tongue tongue_;
  std::optional<mcpivot::Era> era_;
  bool refused_era_ = false;
  bool was_rude_ = false;  // to a listen
  bool is_cli_;
  int generation_;
  bool shared_ = false;  // mcpivot itself is its client
  int held_ = -1;        // it answered a recorded call differently, and must not serve: the deaths until then
  std::string canary_;
  bool ready_ = false;
  bool slept_ = false;
  bool listed_ = false;
  int asked_ = 0;
  bool answered_ = false;  // a call
  struct Open {
    int number;
    std::string canary;
  };
  std::map<std::string, Open> open_;   // by id
  std::map<int, Call> asking_;         // calls that wait for the client, by the id of the question
  std::map<std::string, Call> tasks_;  // by their ids
  std::set<std::string> questions_;    // the ids of those that have no answer
  std::set<std::string> withdrawn_;
  std::map<std::string, Listen> listens_;  // by their ids, as JSON text
};

}  // namespace simulation
