#include "rpc/answers.h"

#include <fmt/format.h>

#include "rpc/json_cursor.h"

namespace mcpivot {

std::string error_answer(std::string_view id, int code, std::string_view message) {
  const std::string id_member = id.empty() ? std::string() : fmt::format(R"("id":{},)", id);
  return fmt::format(R"({{"jsonrpc":"2.0",{}"error":{{"code":{},"message":{}}}}})", id_member, code,
                     quote(message));
}

std::string cancellation(std::string_view id, std::string_view reason) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","method":"notifications/cancelled","params":{{"requestId":{},"reason":{}}}}})", id,
      quote(reason));
}

}  // namespace mcpivot
