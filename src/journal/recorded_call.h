// A call as the journal has it: what was asked, what was answered, and what the server asked meanwhile.
// Code that repeats, compares or keeps calls works with this.
//
// Plain data. Any thread. JSON texts are as they were on the wire, except for secrets, which are replaced.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace mcpivot {

// A question of the server's during the call, and what the client answered.
struct Asked {
  std::string method;
  std::string params{};  // raw JSON; empty: none
  std::string answer{};  // raw JSON of the result or the error; empty: none came
  bool is_error = false;
  bool operator==(const Asked&) const = default;
};

struct RecordedCall {
  enum class Outcome : std::uint8_t {
    open,        // no answer was seen
    ok,          // a result
    tool_error,  // a result with isError
    error,       // a JSON-RPC error
    cancelled,   // the client cancelled it
  };

  std::int64_t id = 0;   // counts up from 1 in its session
  std::string session;   // of the run of mcpivot that wrote it; session:id names a call
  std::string client;    // as it calls itself
  std::string server;    // empty: mcpivot answered itself
  std::string tool;      // as the server calls it
  std::string called{};  // as the client called it
  std::string method = "tools/call";
  std::string arguments{};   // raw JSON, as the server got them; empty: none
  std::string answer{};      // raw JSON of the result or the error, as the server sent it; empty: none
  bool is_error = false;     // the answer is a JSON-RPC error
  bool tool_failed = false;  // result.isError
  bool is_complete = true;   // false: something is missing (a gap), cut, or several calls share questions
  bool asks = false;  // the answer asks for input (`input_required`): another call goes on with this one
  bool is_redacted = false;  // a secret was replaced in the arguments or in the answer
  Outcome outcome = Outcome::open;
  int generation = 0;  // of the server
  std::chrono::system_clock::time_point when{};
  std::chrono::microseconds took{};
  std::uint64_t bytes_in = 0;   // of the request, as the client sent it
  std::uint64_t bytes_out = 0;  // of the answer, as the client got it
  std::vector<Asked> asked{};
  bool operator==(const RecordedCall&) const = default;

  // "1f3a:17"
  std::string name() const { return session + ":" + std::to_string(id); }
};

}  // namespace mcpivot
