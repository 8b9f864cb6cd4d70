// What a simulated MCP server does: it shakes hands, lists, and does with each call what the call's own
// arguments say ({"do":"die","after":5}): answer, fail, hang, die, talk nonsense, ask back, flood, change its
// tools, begin a task.
//
// It knows nothing of what it lives in: that is its body, which must outlive it.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

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
    virtual void say(std::string line) = 0;
    // Nothing happens if it is dead by then.
    virtual void after(Millis time, std::function<void()> what) = 0;
    virtual void die(const std::string& how) = 0;
    virtual void stop_reading(Millis time) = 0;
    virtual std::size_t longest_message() const = 0;
    // One of the requests that it was sent will have no answer, though it goes on (daemons alone).
    virtual void lose(const std::string& id, bool reached) = 0;
    // A call of a CLI is a run of its program, which ends by a limit of its own.
    virtual Millis limit_of_calls() const = 0;
    virtual mcpivot::Clock::Time now() const = 0;
  };

  // `is_cli`: it has tools alone, and what a call does ends that call alone.
  Actor(Body& body, Script& script, Ledger& ledger, Birth birth, bool is_cli, int generation);
  void start();

  void hear(std::string_view line);
  // It says something that nobody asked for.
  void blurt(std::string_view what);
  // From now on it works as it should, and says so.
  void heal();
  // The calls that it has not answered, by their numbers.
  std::vector<int> open() const;
  // Tasks whose results nobody has fetched.
  std::size_t tasks() const { return tasks_.size(); }
  mcpivot::Clock::Time last_task() const;
  bool answered() const { return answered_; }
  // Of whoever called it last; empty: nobody who has one.
  const std::string& canary() const { return canary_; }

 private:
  struct Call {
    std::string id;
    std::string token;
    std::string tool;
    std::string how;  // "do"
    std::string canary;
    int number = 0;
    int after = 0;
    bool task = false;
    bool structured = false;
    mcpivot::Clock::Time began{};  // as a task
  };

  void stop(const std::string& id);
  void on_request(const mcpivot::Message& message);
  void initialize(const mcpivot::Message& message);
  void list(const mcpivot::Message& message, mcpivot::ListKind kind);
  void call(const mcpivot::Message& message);
  void perform(const Call& call);
  void finish(const Call& call);
  void flood(const Call& call);
  void ask(const Call& call);
  void change_tools();
  void result(std::string_view id, std::string_view result);
  void error(std::string_view id, int code, std::string_view words);
  std::string content(const Call& call) const;
  void log(std::string_view params);

  Body& body_;
  Script& script_;
  Ledger& ledger_;
  Birth birth_;
  bool is_cli_;
  int generation_;
  bool shared_ = false;  // mcpivot itself is its client
  std::string canary_;
  bool ready_ = false;
  bool listed_ = false;
  int asked_ = 0;
  bool answered_ = false;              // a call
  std::map<std::string, int> open_;    // number by id
  std::map<int, Call> asking_;         // calls that wait for the client, by the id of the question
  std::map<std::string, Call> tasks_;  // by their ids
};

}  // namespace simulation
