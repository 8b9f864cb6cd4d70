#include "rpc/answers.h"

#include <fmt/format.h>

#include "rpc/json_cursor.h"

namespace mcpivot {

std::string error_answer(std::string_view id, int code, std::string_view message, std::string_view data) {
  const std::string id_member = id.empty() ? std::string() : fmt::format(R"("id":{},)", id);
  return fmt::format(R"({{"jsonrpc":"2.0",{}"error":{{"code":{},"message":{}{}{}}}}})", id_member, code,
                     quote(message), data.empty() ? "" : R"(,"data":)", data);
}

std::string request_line(std::string_view id, std::string_view method, std::string_view params) {
  const std::string id_member = id.empty() ? std::string() : fmt::format(R"("id":{},)", id);
  const std::string params_member = params.empty() ? std::string() : fmt::format(R"(,"params":{})", params);
  return fmt::format(R"({{"jsonrpc":"2.0",{}"method":{}{}}})", id_member, quote(method), params_member);
}

std::string result_answer(std::string_view id, std::string_view result) {
  return fmt::format(R"({{"jsonrpc":"2.0","id":{},"result":{}}})", id, result);
}

std::string tool_answer(std::string_view id, std::string_view text, bool is_error) {
  return result_answer(
      id, fmt::format(R"({{"content":[{{"type":"text","text":{}}}],"isError":{}}})", quote(text), is_error));
}

std::string failure_answer(Method asked, std::string_view id, std::string_view words) {
  return asked == Method::tools_call ? tool_answer(id, words, true)
                                     : error_answer(id, code::connection_closed, words);
}

std::string cancellation(std::string_view id, std::string_view reason) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}}}}})", id,
      quote(reason));
}

}  // namespace mcpivot
