// The MCP client of the benchmark: it initializes a subject, makes calls, times them, and checks
// every answer in full once the clock has stopped (the id, the text, valid JSON), so that a broken proxy
// cannot look fast. Everything here throws SubjectError.
#pragma once

#include <simdjson.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "subject.h"
#include "times.h"

class Client {
 public:
  // Starts the subject and sends `initialize`; `start_time()` is then how long the answer took.
  explicit Client(const std::vector<std::string>& command);

  Clock::duration start_time() const { return start_time_; }
  pid_t pid() const { return subject_.pid(); }

  // The rest of the handshake. Must come before any call.
  void finish_handshake();

  // One call of about 200 bytes, answered with the text that it contains.
  Clock::duration call_with_text();

  // One small call, answered with a text of `size` bytes.
  Clock::duration call_for_size(size_t size);

  // `calls` calls of about 200 bytes, never more than `in_flight` of them unanswered. Each is a separate
  // write(), as with any real client.
  Clock::duration stream(size_t calls, size_t in_flight);

 private:
  struct Answer {
    uint64_t id = 0;
    simdjson::dom::element result;
    Clock::time_point arrived;
  };

  Answer exchange(uint64_t id, std::string_view request);
  Clock::duration timed_call(uint64_t id, std::string_view request, std::string_view expected_text);
  std::optional<Answer> parse(std::string_view line);
  void check_stream(std::string_view answers, uint64_t first_id, size_t calls);

  Clock::time_point started_;
  Subject subject_;
  Clock::duration start_time_{};
  simdjson::dom::parser parser_;
  uint64_t next_id_ = 1;
  std::string expected_;  // the sample text of the size that was asked for last
};
