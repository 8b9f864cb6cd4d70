// A question that a legacy server asks in the middle of a call, and its translation into one of the
// `inputRequests` of a modern answer.
//
// Any thread.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "bridge/ask.h"
#include "rpc/message.h"

namespace mcpivot {

struct Question {
  Ask ask = Ask::elicitation;
  std::string id;       // the server's id for it, as JSON text; empty: it waits for no answer
  std::string request;  // {"method":…,"params":…}, the params byte for byte
  std::string key;      // the client's name for it
  bool asked = false;   // the client has it

  std::string_view params() const;
};

// A request of the server's as a question, if clients may be asked that.
std::optional<Question> question_in(const Message& request);

// The questions in an error -32042 ("open these URLs, then call again"). Empty: the error doesn't say which.
std::vector<Question> url_questions(const Message& error);

// Whether this can be an answer to it. The server checks the rest itself.
bool answers(const Question& question, std::string_view response);

// The server's answer when the client's will never come.
std::string no_answer(const Question& question);

// The answer to the client's request with this id: it must answer these questions first.
std::string input_required(std::string_view id, std::span<const Question> questions, std::string_view state);

}  // namespace mcpivot
