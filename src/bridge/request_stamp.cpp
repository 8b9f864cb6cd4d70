#include "bridge/request_stamp.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "bridge/members.h"
#include "mcp/era.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Whether a key could be `_meta` in other capitals or with escapes, which some parsers treat as the same. May
// return true for others as well.
bool may_shadow_meta(std::string_view params) {
  for (std::size_t at = params.find_first_of("_\\"); at != std::string_view::npos;
       at = params.find_first_of("_\\", at + 1)) {
    const std::string_view next = params.substr(at + 1, 1);
    if (next == "m" || next == "M" || next == "u") return true;
  }
  return false;
}

}  // namespace

void RequestStamp::set(std::string_view hello, std::string_view level) {
  members_ = meta_members(hello, level);
  meta_member_ = fmt::format(R"("_meta":{{{}}})", members_);
  params_member_ = fmt::format(R"("params":{{{}}},)", meta_member_);
  more_members_ = "," + members_;
  more_meta_ = "," + meta_member_;
  keys_.clear();
  const std::string object = "{" + members_ + "}";
  JsonCursor cursor(object);
  cursor.object([&](const JsonCursor::Key& key) {
    keys_.push_back(lower(key.text));
    return cursor.value();
  });
}

bool RequestStamp::owns(std::string_view key) const {
  return std::ranges::any_of(
      keys_, [&](const std::string& own) { return own.size() == key.size() && own == lower(key); });
}

void RequestStamp::put(const Message& request, Edits& edits) const {
  const auto end_of = [](Span object) { return object.end() - 1; };
  if (!request.params) {
    edits.insert(request.raw.find('{') + 1, params_member_);
  } else if (!request.meta) {
    const std::string_view params = request.text(request.params);
    std::size_t left = 0;
    if (may_shadow_meta(params)) {
      left = remove_members(request.raw, request.params, edits,
                            [](std::string_view key, std::string_view) { return lower(key) == "_meta"; });
    } else {
      left = is_empty_container(params) ? 0 : 1;
    }
    edits.insert(end_of(request.params), left > 0 ? more_meta_ : meta_member_);
  } else if (request.text(request.meta).starts_with('{')) {
    const std::size_t left = remove_members(
        request.raw, request.meta, edits, [&](std::string_view key, std::string_view) { return owns(key); });
    edits.insert(end_of(request.meta), left > 0 ? more_members_ : members_);
  } else {
    edits.replace(request.meta, std::string_view(meta_member_).substr(8));
  }
}

}  // namespace mcpivot
