// What a modern server needs to know before it can finish a call (`input_required`), as questions to a legacy
// client, and the client's answers in the form that the server expects.
//
// One thread.
#pragma once

#include <cstdint>
#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/ask.h"
#include "bridge/legacy_results.h"

namespace mcpivot {

class InputRound {
 public:
  struct Question {
    std::string key;  // as JSON text, as the server spelled it
    Ask ask;
    std::string params{};  // as JSON text; empty: none
    std::string answer{};
    enum class State : std::uint8_t { unasked, open, answered } state = State::unasked;
  };

  // Reads the result; the error says what is wrong with it, continuing "the server …".
  static std::expected<InputRound, std::string> read(const ResultParts& parts, std::size_t most_questions);

  std::vector<Question>& questions() { return questions_; }
  const std::vector<Question>& questions() const { return questions_; }

  // The client's answer to an open question. Returns whether it was the last one.
  bool answer(Question& question, std::string_view result);

  // The members that are added to the call's params for the next round, each followed by a comma.
  std::string response_members() const;

 private:
  bool asks_ = false;  // has inputRequests, even if only an empty object
  std::vector<Question> questions_;
  std::size_t unanswered_ = 0;
  std::string state_;  // requestState, as JSON text; empty: none
};

// Whether it needs an id that the modern era doesn't have; the params with it.
bool wants_elicitation_id(const InputRound::Question& question);
std::string with_elicitation_id(std::string_view params, std::string_view id);

}  // namespace mcpivot
