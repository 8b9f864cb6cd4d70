#include "bridge/modern_answer.h"

#include <fmt/format.h>

#include "rpc/answers.h"
#include "rpc/json_cursor.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

constexpr std::string_view complete = R"("complete")";

// Whether a client may cache the result, so that it must say for how long.
bool is_cacheable(Method asked) {
  switch (asked) {
    case Method::tools_list:
    case Method::prompts_list:
    case Method::resources_list:
    case Method::resource_templates_list:
    case Method::resources_read:
      return true;
    default:
      return false;
  }
}

}  // namespace

bool make_modern(const Message& answer, Method asked, Edits& edits) {
  if (answer.kind == Kind::error) {
    if (error_code(answer) == code::resource_not_found) replace_code(answer, code::invalid_params, edits);
    return true;
  }
  const std::string_view result = answer.text(answer.result);
  if (!result.starts_with('{')) return false;
  bool empty = true;
  bool has_type = false;
  bool has_ttl = !is_cacheable(asked);
  bool has_scope = has_ttl;
  JsonCursor cursor(result);
  cursor.object([&](const JsonCursor::Key& key) {
    Span value;
    if (!cursor.value(value)) return false;
    empty = false;
    const std::string decoded = key.escaped ? unescape(key.text) : std::string();
    const std::string_view name = key.escaped ? decoded : key.text;
    if (name == "resultType") {
      has_type = true;
      edits.replace({answer.result.begin + value.begin, value.size}, complete);
    }
    has_ttl = has_ttl || name == "ttlMs";
    has_scope = has_scope || name == "cacheScope";
    return true;
  });
  std::string members;
  if (!has_type) members += R"("resultType":"complete",)";
  if (!has_ttl) members += R"("ttlMs":0,)";
  if (!has_scope) members += R"("cacheScope":"private",)";
  if (members.empty()) return true;
  if (empty) members.pop_back();
  edits.insert(answer.result.begin + 1, edits.keep(members));
  return true;
}

int error_code(const Message& error) {
  const std::string_view spelled = find_member(error.text(error.error), "code");
  if (!spelled.starts_with('-')) return 0;
  const std::int64_t positive = own_id(spelled.substr(1));
  return positive > 0 && positive < 100'000 ? -static_cast<int>(positive) : 0;
}

void replace_code(const Message& error, int code, Edits& edits) {
  edits.replace(span_of(error.raw, find_member(error.text(error.error), "code")),
                edits.keep(fmt::format("{}", code)));
}

}  // namespace mcpivot
