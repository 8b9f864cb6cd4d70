// The client that works through mcpivot: makes each kind of request that a plan may name, and tells the
// oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "oracle.h"
#include "plan.h"
#include "world.h"

namespace chaos {

class Client {
 public:
  Client(World& world, Oracle& oracle, bool modern) : world_(world), oracle_(oracle), modern_(modern) {
    if (modern_) oracle_.is_modern();
  }

  static const std::vector<Kind>& kinds();
  void greet();
  void make(const Action& action);  // a request of these kinds

  // An independent tool call; returns its id. `arguments` is JSON.
  std::string call(const std::string& what, const std::string& server, const std::string& tool,
                   const std::string& arguments, bool may_fail = false);
  // Reads what mcpivot sends until then, or until its end: then returns false.
  bool listen(long until);

 private:
  void line(const std::string& text);
  std::string next_id();
  // Sends `"method":…,"params":…` under its own id.
  std::string request(Request request, const std::string& method, const std::string& params);
  std::string call(Request request, const std::string& tool, const std::string& arguments,
                   bool with_progress = false);
  void cancel_later(const std::string& id, long milliseconds);
  void open_listen(const std::string& id, const std::string& filter);
  // For a modern client: repeats the call with the answers to the questions.
  void call_again(const Oracle::Required& required);
  std::string meta(const std::string& more) const;

  World& world_;
  Oracle& oracle_;
  bool modern_;
  // A modern client's requests that may be answered with a question, by their ids.
  struct Asking {
    std::string server, method, params, expect;
    std::uint32_t number;
  };
  std::map<std::string, Asking> asking_;
  long next_ = 0;
  long next_token_ = 0;
};

}  // namespace chaos
