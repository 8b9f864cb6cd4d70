// A recorded call and its answer, with which a new build is compared. And the answers of newer builds that a
// user has accepted, which replace what was recorded before them.
//
// Plain data. One thread.
#pragma once

#include <chrono>
#include <cstddef>
#include <expected>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "mcp/answer_diff.h"

namespace mcpivot {

struct CheckedCall {
  std::string tool;         // as the server calls it
  std::string arguments{};  // JSON text; empty: none
  Answer answer{};          // the server's own
  std::chrono::system_clock::time_point when{};

  // The same for calls that are the same.
  std::string key() const { return tool + "\n" + (arguments.empty() ? "{}" : canonical_json(arguments)); }
};

struct RecordedCalls {
  std::vector<CheckedCall> calls{};   // the newest first
  std::vector<std::string> ignore{};  // paths in answers that may be different
  std::string why_none{};             // why there are none, if there is more to say than that
};

// The error says why they can't be read; like `why_none`, it reads on from "not checked: ".
using CallsToCheck = std::expected<RecordedCalls, std::string>;

class AcceptedAnswers {
 public:
  void add(std::string key, Answer answer, std::chrono::system_clock::time_point when) {
    if (answers_.size() >= most && !answers_.contains(key)) answers_.clear();  // they are asked again
    answers_.insert_or_assign(std::move(key), Accepted{std::move(answer), when});
  }
  // Null: no other answer has been accepted since then.
  const Answer* find(const std::string& key, std::chrono::system_clock::time_point recorded) const {
    const auto found = answers_.find(key);
    return found == answers_.end() || found->second.when < recorded ? nullptr : &found->second.answer;
  }

 private:
  static constexpr std::size_t most = 1000;
  struct Accepted {
    Answer answer;
    std::chrono::system_clock::time_point when;
  };
  std::map<std::string, Accepted> answers_;
};

}  // namespace mcpivot
