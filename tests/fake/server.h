// A small, correct MCP server: the handshake, lists with pages, prompts, resources, logging, completion,
// timers, cancellation, and its own requests to the client; of the legacy era, the modern one (2026-07-28)
// or whichever its first message is of. What it does on a tool call is in tools.h. One thread; `run()`
// returns when stdin ends.
#pragma once

#include <boost/json.hpp>
#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>

#include "options.h"
#include "wire.h"

namespace fake {

struct Call {
  boost::json::value id;
  boost::json::object arguments;
  boost::json::value progress_token;  // null if there is none
  std::string log_level{};            // that a modern one asks for
  boost::json::object round{};        // what a modern retry brings: inputResponses, requestState
};

class Server {
 public:
  explicit Server(const Options& options);
  void run();

  // What tools use.
  const Options& options() const { return options_; }
  Wire& wire() { return wire_; }
  void answer(const Call& call, std::string_view text, bool is_error = false);
  void answer_with(const Call& call, const boost::json::value& result);
  void after(std::chrono::milliseconds delay, std::function<void()> action);
  // A call that is answered later: `finish` is true if it is still wanted, and then forgets it.
  void begin(const Call& call) { open_.insert(boost::json::serialize(call.id)); }
  bool is_open(const Call& call) const { return open_.contains(boost::json::serialize(call.id)); }
  bool finish(const Call& call) { return open_.erase(boost::json::serialize(call.id)) > 0; }
  // Asks the client; its whole answer (with `result` or `error`) goes to `on_answer`.
  void ask(const boost::json::value& id, std::string_view method, const boost::json::value& params,
           std::function<void(const boost::json::object&)> on_answer);
  boost::json::value next_request_id() { return next_request_id_++; }
  void log(const Call& call, std::string_view level, std::string_view text);
  void mutate();                       // one more tool, and a notification
  void touch(const std::string& uri);  // this resource has changed
  bool is_modern() const { return modern_; }
  long calls() const { return calls_; }
  std::set<std::string> tasks_;
  // For tools that answer differently when they are called again, as they choose.
  std::map<std::string, boost::json::array> rounds;
  std::string seen() const;
  const std::string& last_line() const { return seen_.back(); }
  boost::json::object state() const;

 private:
  using Method = boost::json::value (Server::*)(const boost::json::object& params);
  struct Refusal {
    int code;
    std::string message;
  };
  static const std::map<std::string, Method>& methods();

  void receive(std::string_view line);
  void receive_request(const boost::json::object& message, const std::string& method);
  void receive_notification(const boost::json::object& message, std::string_view method);
  void receive_answer(const boost::json::object& message);
  void handle(const boost::json::value& id, const std::string& method, const boost::json::object& params);
  void handle_call(const boost::json::value& id, const boost::json::object& params);
  void remember(std::string_view line);
  boost::json::object capabilities() const;

  // The modern era, in server_modern.cpp.
  bool admits(const boost::json::object& message, const std::string& method);
  boost::json::value in_its_era(const std::string& method, boost::json::value result) const;
  boost::json::value discover() const;
  void listen(const boost::json::value& id, const boost::json::object& params);
  void announce(std::string_view method, const char* wish);
  static std::string log_level_of(const boost::json::object& meta);

  void fire_timers();
  void write_journal(std::string_view tool, const boost::json::object& arguments) const;
  boost::json::value paged(const char* key, boost::json::array all, const boost::json::object& params) const;

  boost::json::value initialize(const boost::json::object& params);
  boost::json::value ping(const boost::json::object& params);
  boost::json::value task_result(const boost::json::object& params);
  boost::json::value list_tools(const boost::json::object& params);
  boost::json::value list_prompts(const boost::json::object& params);
  boost::json::value get_prompt(const boost::json::object& params);
  boost::json::value list_resources(const boost::json::object& params);
  boost::json::value list_templates(const boost::json::object& params);
  boost::json::value read_resource(const boost::json::object& params);
  boost::json::value subscribe(const boost::json::object& params);
  boost::json::value unsubscribe(const boost::json::object& params);
  boost::json::value set_level(const boost::json::object& params);
  boost::json::value complete(const boost::json::object& params);

  const Options options_;
  Wire wire_;
  std::multimap<std::chrono::steady_clock::time_point, std::function<void()>> timers_;
  bool modern_;                                                                        // speaks that era
  bool pinned_ = false;                                                                // for good
  std::map<std::string, std::pair<boost::json::value, boost::json::object>> listens_;  // id and filter
  std::set<std::string> open_;                                                         // ids, serialised
  std::map<std::string, std::function<void(const boost::json::object&)>> asked_;
  long next_request_id_ = 0;
  long calls_ = 0;
  long answered_calls_ = 0;
  int mutations_ = 0;
  std::deque<std::string> seen_;
  std::size_t seen_bytes_ = 0;
  boost::json::value client_;  // the params of initialize
  int initialized_ = 0;        // how often that notification came
  std::string log_level_ = "debug";
  std::set<std::string> subscriptions_;
  boost::json::array cancelled_;
};

// Exits with a code ("3") or dies by a signal ("SIGSEGV").
[[noreturn]] void die(const std::string& how);

}  // namespace fake
