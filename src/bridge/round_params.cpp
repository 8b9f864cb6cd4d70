#include "bridge/round_params.h"

#include <algorithm>

#include "base/hash.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

// Calls take(key, member, value) for each member of the params, with positions in the message.
template <class Take>
void each_param(const Message& request, Take&& take) {
  const std::string_view params = request.text(request.params);
  JsonCursor cursor(params);
  cursor.members([&] {
    cursor.next();
    const auto start = static_cast<std::uint32_t>(cursor.offset());
    JsonCursor::Key key;
    Span value;
    if (!cursor.key(key) || !cursor.value(value)) return false;
    const Span member{request.params.begin + start, value.end() - start};
    value.begin += request.params.begin;
    if (key.escaped) {
      take(unescape(key.text), member, value);
    } else {
      take(key.text, member, value);
    }
    return true;
  });
}

}  // namespace

RoundParams round_params(const Message& request) {
  RoundParams found;
  bool kept_one = false;  // a member that stays came before
  bool cut_last = false;  // what stays must not begin with a comma
  Span last;
  each_param(request, [&](std::string_view key, Span member, Span value) {
    if (cut_last && !kept_one) found.cut.back().size = member.begin - found.cut.back().begin;
    cut_last = key == "inputResponses" || key == "requestState" || key == "task";
    if (key == "inputResponses") {
      found.responses_twice = static_cast<bool>(found.responses);
      found.responses = value;
    }
    if (!cut_last) {
      kept_one = true;
    } else if (kept_one) {
      found.cut.push_back({last.end(), member.end() - last.end()});
    } else {
      found.cut.push_back(member);
    }
    last = member;
  });
  return found;
}

std::string request_digest(const Message& request) {
  std::string salient = string_value(request.text(request.method));
  each_param(request, [&](std::string_view key, Span member, Span) {
    if (key == "_meta" || key == "inputResponses" || key == "requestState") return;
    salient += '\n';
    salient += request.text(member);
  });
  return sha256(salient);
}

}  // namespace mcpivot
