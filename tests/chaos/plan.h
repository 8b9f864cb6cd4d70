// What is going to happen, and when: drawn from a seed before anything runs, and written as plain lines that
// can be printed, cut down by hand, and played again.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace chaos {

struct Action {
  long at;  // in milliseconds from the start
  bool is_fault;
  std::string what;
  std::string target;    // a server, or "-"
  std::uint32_t number;  // decides sizes, durations and variants
};

// A kind of action that can be drawn.
struct Kind {
  std::string what;
  std::vector<std::string> targets;
  int weight;
};

// On average, there is one request every so many milliseconds.
std::vector<Action> draw_plan(std::uint64_t seed, long milliseconds, long between_requests,
                              const std::vector<Kind>& requests, const std::vector<Kind>& faults);

// One action in each line: "AT request|fault WHAT TARGET NUMBER". Other lines, and what follows "#", are
// notes.
std::string to_text(const std::vector<Action>& plan);
std::vector<Action> from_text(std::string_view text);  // throws what is wrong, and on which line

}  // namespace chaos
