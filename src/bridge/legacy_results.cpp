#include "bridge/legacy_results.h"

#include "bridge/members.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// The first official SDK rejects a whole list because of one tool with another kind of schema.
bool is_object_schema(std::string_view schema) {
  return same_id(find_member(schema, "type"), R"("object")");
}

void fit_tools(std::string_view raw, std::string_view tools, Edits& edits) {
  JsonCursor cursor(tools);
  cursor.array([&] {
    Span where;
    if (!cursor.value(where)) return false;
    const std::string_view tool = where.of(tools);
    const std::string_view schema = find_member(tool, "outputSchema");
    if (!schema.empty() && !is_object_schema(schema))
      remove_members(raw, span_of(raw, tool), edits,
                     [](std::string_view key, std::string_view) { return key == "outputSchema"; });
    return true;
  });
}

}  // namespace

ResultParts parts_of(std::string_view result) {
  ResultParts parts;
  if (!result.starts_with('{')) return parts;
  JsonCursor cursor(result);
  cursor.object([&](const JsonCursor::Key& key) {
    Span where;
    if (!cursor.value(where)) return false;
    const std::string decoded = key.escaped ? unescape(key.text) : std::string();
    const std::string_view name = key.escaped ? decoded : key.text;
    const std::string_view value = where.of(result);
    if (name == "resultType") parts.type = value;
    if (name == "structuredContent") parts.structured = value;
    if (name == "tools") parts.tools = value;
    if (name == "inputRequests") parts.input_requests = value;
    if (name == "requestState") parts.request_state = value;
    return true;
  });
  return parts;
}

bool is_complete(const ResultParts& parts) {
  return parts.type.empty() || same_id(parts.type, R"("complete")");
}

bool is_input_required(const ResultParts& parts) {
  return same_id(parts.type, R"("input_required")");
}

void fit_result(const Message& answer, Method asked, const ResultParts& parts, Edits& edits) {
  if (asked == Method::tools_call && !parts.structured.empty() && !parts.structured.starts_with('{')) {
    remove_members(answer.raw, answer.result, edits,
                   [](std::string_view key, std::string_view) { return key == "structuredContent"; });
  } else if (asked == Method::tools_list && parts.tools.starts_with('[')) {
    fit_tools(answer.raw, parts.tools, edits);
  }
}

void fit_error(const Message& answer, Method asked, Edits& edits) {
  if (asked != Method::resources_read) return;
  const std::string_view error = answer.text(answer.error);
  const std::string_view code = find_member(error, "code");
  if (code == "-32602" && find_member(find_member(error, "data"), "uri").starts_with('"'))
    edits.replace(span_of(answer.raw, code), "-32002");
}

}  // namespace mcpivot
