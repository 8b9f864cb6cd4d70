#include "mcp/request_meta.h"

#include <fmt/format.h>

#include "base/contains.h"
#include "mcp/era.h"
#include "mcp/initialize.h"
#include "mcp/log_levels.h"
#include "rpc/answers.h"
#include "rpc/json_cursor.h"

namespace mcpivot {

std::string unsupported_version(const Message& request, bool modern) {
  return fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"error":{{"code":{},"message":"Unsupported protocol version","data":{{"supported":{},"requested":{}}}}}}})",
      request.text(request.id), code::unsupported_version, all_versions(modern),
      request.text(request.version));
}

bool wants_modern_again(const Message& answer) {
  const std::string_view error = answer.text(answer.error);
  if (find_member(error, "code") != std::to_string(code::unsupported_version)) return false;
  const std::string_view supported = find_member(find_member(error, "data"), "supported");
  return offers_modern(fmt::format(R"({{"supportedVersions":{}}})", supported.empty() ? "[]" : supported));
}

std::string fault_in_meta(const Message& request) {
  const auto fault = [&](std::string_view key, std::string_view what) {
    return error_answer(request.text(request.id), code::invalid_params,
                        fmt::format("params._meta: \"{}\" {}", key, what));
  };
  const std::string_view version = request.text(request.version);
  if (version.empty())
    return fault(
        meta_key::version,
        "is missing: this is a request of protocol version 2026-07-28, which each of them must name");
  if (!version.starts_with('"')) return fault(meta_key::version, "must be a string");
  if (!same_id(version, modern_version)) return unsupported_version(request, true);
  const std::string_view meta = request.text(request.meta);
  if (!find_member(meta, meta_key::client_capabilities).starts_with('{'))
    return fault(meta_key::client_capabilities, "must be an object");
  const std::string_view info = find_member(meta, meta_key::client_info);
  if (!info.empty() && !info.starts_with('{')) return fault(meta_key::client_info, "must be an object");
  const std::string_view level = find_member(meta, meta_key::log_level);
  if (!level.empty() && !contains(log_levels, string_value(level)))
    return fault(meta_key::log_level, fmt::format("must be one of {}", fmt::join(log_levels, ", ")));
  return {};
}

}  // namespace mcpivot
