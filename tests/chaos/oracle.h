// Remembers every request and every fault, and judges: was each promise of the design kept, under which
// faults? It reads what mcpivot sends to the client; it does nothing itself.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chaos {

enum class Promise {
  one_answer,    // each id is answered exactly once, or never if it was cancelled
  in_time,       // within its deadline
  connection,    // continues, and carries only well-formed messages
  bytes,         // pass unchanged
  not_twice,     // what has an effect runs once, and what was answered did run
  says_why,      // a failure says what happened, and to which server
  model_knows,   // a death is reported in a tool result
  broken_build,  // is reported, and takes nothing away
  count
};
std::string name_of(Promise promise);

struct Request {
  std::string id;  // as it is spelt
  std::string what;
  std::string server;
  long sent = 0;
  long deadline = 0;      // when it has to be answered
  std::string token{};    // what its server records when it runs it; empty: it doesn't count
  std::string expect{};   // a good answer contains these bytes
  bool may_fail = false;  // the server itself is told to fail

  long cancelled = -1;    // when
  bool is_over = false;   // mcpivot has seen the cancellation
  bool too_late = false;  // it was answered anyway
  long answered = -1;
  int answers = 0;
  bool is_failure = false;
  std::string text{};  // of a failure
};

struct Fault {
  std::string what;
  std::string server;
  long begin = 0;
  long end = 0;  // for as long as it has an effect
};

struct Violation {
  Promise promise;
  long at;
  std::string what;
};

class Oracle {
 public:
  void sent(Request request);
  void cancelled(const std::string& id, long now);
  void felt(Fault fault) { faults_.push_back(std::move(fault)); }
  // The client is of the modern era; and it has this listen, which stays open without an answer.
  void is_modern() { modern_ = true; }
  void listens(const std::string& id) { listens_.insert(id); }

  // A line from mcpivot. If it is a request to the client, returns the line to answer it with.
  std::string received(const std::string& line, long now);
  void connection_ended(long now);
  void terminal_hangs(const std::string& command, long now);
  // The answers that required input since the last call.
  struct Required {
    std::string id;  // of the request
    boost::json::object questions;
    std::string state;  // as JSON
  };
  std::vector<Required> take_required() { return std::exchange(required_, {}); }
  bool is_over(long now) const;  // nothing more is waited for
  bool was_answered(const std::string& id) const;
  const Request& request(const std::string& id) const { return requests_.at(index_.at(id)); }

  // When everything is over. `executed`: how often each token ran.
  void judge(const std::map<std::string, int>& executed, long now);
  const std::vector<Violation>& violations() const { return violations_; }
  std::string table() const;    // promises and faults
  std::string summary() const;  // of the requests
  std::string trace() const;    // of everything that happened, in order of time

 private:
  using Counts = std::map<std::string, std::map<Promise, std::pair<long, long>>>;  // tried, broken

  void violate(Promise promise, long at, std::string what);
  void answer(const std::string& id, const boost::json::object& message, const std::string& line, long now);
  void notified(const boost::json::object& message, const std::string& line, long now);
  void judge_modern(const Request& request, const boost::json::object& message, long now);
  void judge_request(const Request& request, const std::map<std::string, int>& executed, long now);
  void judge_deaths();
  void count(Promise promise, long begin, long end, bool kept);

  std::vector<Request> requests_;
  std::map<std::string, std::size_t> index_;  // by id
  std::vector<Fault> faults_;
  std::vector<Violation> violations_;
  std::vector<std::pair<long, std::string>> told_;  // what tool results said about servers
  Counts counts_;
  bool modern_ = false;
  std::set<std::string> listens_;
  std::vector<Required> required_;
  bool ended_ = false;
};

}  // namespace chaos
