#include "mcp/notice.h"

#include <fmt/format.h>

#include "rpc/json_cursor.h"

namespace mcpivot {

std::string call_heading(std::string_view server, std::string_view tool) {
  return fmt::format("[mcpivot] server \"{}\", tool \"{}\"", server, string_value(tool));
}

NoticeInAnswer::NoticeInAnswer(const Message& answer, std::string_view notice, std::string_view tool,
                               std::string_view heading) {
  if (answer.kind == Kind::result) {
    into_result(answer, notice, tool, heading);
  } else if (!notice.empty()) {
    into_error(answer, notice);
  }
}

void NoticeInAnswer::into_result(const Message& answer, std::string_view notice, std::string_view tool,
                                 std::string_view heading) {
  const std::string_view result = answer.text(answer.result);
  const std::string_view content = find_member(result, "content");
  if (!content.starts_with('[') || (heading.empty() && notice.empty())) return;
  text_.at = span_of(answer.raw, content).begin + 1;
  for (const std::string_view words : {heading, notice})
    if (!words.empty())
      text_.text +=
          fmt::format(R"({}{{"type":"text","text":{}}})", text_.text.empty() ? "" : ",", quote(words));
  if (!is_empty_container(content)) text_.text += ",";
  if (notice.empty()) return;
  const std::string_view structured = find_member(result, "structuredContent");
  delivered_ = structured.empty();
  const std::string_view schema = find_member(tool, "outputSchema");
  if (structured.starts_with('{') && !schema.empty() &&
      find_member(schema, "additionalProperties") != "false") {
    structured_.at = span_of(answer.raw, structured).begin + 1;
    structured_.text =
        fmt::format(R"("_mcpivot":{}{})", quote(notice), is_empty_container(structured) ? "" : ",");
  }
}

void NoticeInAnswer::into_error(const Message& answer, std::string_view notice) {
  const std::string_view message = find_member(answer.text(answer.error), "message");
  if (!message.starts_with('"')) return;
  const std::string quoted = quote(fmt::format("{}\n\n", notice));
  text_.at = span_of(answer.raw, message).begin + 1;
  text_.text = quoted.substr(1, quoted.size() - 2);
  delivered_ = true;
}

void NoticeInAnswer::add_to(Edits& edits) const {
  if (!text_.text.empty()) edits.insert(text_.at, text_.text);
  if (!structured_.text.empty()) edits.insert(structured_.at, structured_.text);
}

}  // namespace mcpivot
