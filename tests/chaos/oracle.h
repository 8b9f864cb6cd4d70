// Remembers every request and every fault, and judges: was each promise of the design kept, under which
// faults? It reads what mcpivot says to the client; it does nothing itself.
#pragma once

#include <boost/json.hpp>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace chaos {

enum class Promise {
  one_answer,    // each id is answered exactly once; not at all once it was cancelled
  in_time,       // within its deadline
  connection,    // goes on, and only well-formed messages come over it
  bytes,         // pass as they are
  not_twice,     // what has an effect is executed once, and what was answered was executed
  says_why,      // a failure says what happened, and to which server
  model_knows,   // a death is told in a tool answer
  broken_build,  // is told, and takes nothing away
  count
};
std::string name_of(Promise promise);

struct Request {
  std::string id;  // as it is spelt
  std::string what;
  std::string server;
  long sent = 0;
  long deadline = 0;      // when it has to be answered
  std::string token{};    // what its server writes down when it executes it; empty: it does not count
  std::string expect{};   // these bytes stand in a good answer
  bool may_fail = false;  // the server itself is asked to fail

  long cancelled = -1;    // when
  bool is_over = false;   // mcpivot has seen that it is cancelled
  bool too_late = false;  // it was answered even so
  long answered = -1;
  int answers = 0;
  bool is_failure = false;
  std::string text{};  // of a failure
};

struct Fault {
  std::string what;
  std::string server;
  long begin = 0;
  long end = 0;  // for as long as it is felt
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
  // The client is of the modern era; and it has this listen, which stays open and has no answer.
  void is_modern() { modern_ = true; }
  void listens(const std::string& id) { listens_.insert(id); }

  // A line from mcpivot. If it is a request of the client, the line to answer it with comes back.
  std::string received(const std::string& line, long now);
  void connection_ended(long now);
  void terminal_hangs(const std::string& command, long now);
  // The answers that required input since the last time.
  struct Required {
    std::string id;  // of the request
    boost::json::object questions;
    std::string state;  // as JSON
  };
  std::vector<Required> take_required() { return std::exchange(required_, {}); }
  bool is_over(long now) const;  // nothing is waited for any more
  bool was_answered(const std::string& id) const;
  const Request& request(const std::string& id) const { return requests_.at(index_.at(id)); }

  // When all is over. `executed`: how often each token was.
  void judge(const std::map<std::string, int>& executed, long now);
  const std::vector<Violation>& violations() const { return violations_; }
  std::string table() const;    // promises and faults
  std::string summary() const;  // of the requests
  std::string trace() const;    // of all that happened, in the order of time

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
  std::vector<std::pair<long, std::string>> told_;  // what tool answers said of servers
  Counts counts_;
  bool modern_ = false;
  std::set<std::string> listens_;
  std::vector<Required> required_;
  bool ended_ = false;
};

}  // namespace chaos
