// Adds a notice for the model to the answer of a tool call that passes through: as the first content block of
// a result, or before the message of an error. Everything else in the answer stays as it is.
//
// A heading goes into a block before that one, and nowhere else: structured results and errors get
// none.
//
// Any thread.
#pragma once

#include <string>
#include <string_view>

#include "rpc/edit.h"
#include "rpc/message.h"

namespace mcpivot {

// The heading of a pivot_call's answer: which server and tool gave it. A user who allowed pivot_call has not
// seen the tool's name. `tool` is as its server spells it in JSON.
std::string call_heading(std::string_view server, std::string_view tool);

class NoticeInAnswer {
 public:
  // `tool` is the tool's own definition as JSON, or empty if it isn't known. Notice and heading may be empty.
  NoticeInAnswer(const Message& answer, std::string_view notice, std::string_view tool,
                 std::string_view heading = {});

  // Adds the edits. The object must live until they have been applied.
  void add_to(Edits& edits) const;

  // Whether the answer has a place for it. One that announces a task has none.
  bool fits() const { return !text_.text.empty(); }
  // Whether the model certainly reads it there. Some clients show only `structuredContent` when there is one.
  bool delivered() const { return delivered_; }

 private:
  struct Insertion {
    std::size_t at = 0;
    std::string text;
  };
  void into_result(const Message& answer, std::string_view notice, std::string_view tool,
                   std::string_view heading);
  void into_error(const Message& answer, std::string_view notice);

  Insertion text_;
  Insertion structured_;
  bool delivered_ = false;
};

}  // namespace mcpivot
