#include "bridge/ask.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

constexpr std::array<std::string_view, 3> methods{"elicitation/create", "sampling/createMessage",
                                                  "roots/list"};
constexpr std::array<std::string_view, 3> capability_names{"elicitation", "sampling", "roots"};

// Some programs treat null as absent.
bool has(std::string_view object, std::string_view key) {
  const std::string_view value = find_member(object, key);
  return !value.empty() && value != "null";
}

}  // namespace

std::string_view method_of(Ask ask) {
  return methods[static_cast<std::size_t>(ask)];
}

std::optional<Ask> ask_of(std::string_view method) {
  const auto found = std::ranges::find(methods, method);
  if (found == methods.end()) return std::nullopt;
  return static_cast<Ask>(found - methods.begin());
}

std::string_view capability_of(Ask ask) {
  return capability_names[static_cast<std::size_t>(ask)];
}

std::string missing_capability(Ask ask, std::string_view params, std::string_view capabilities) {
  const std::string name(capability_of(ask));
  if (!has(capabilities, name)) return name;
  const std::string_view own = find_member(capabilities, name);
  if (ask == Ask::sampling)
    return (has(params, "tools") || has(params, "toolChoice")) && !has(own, "tools") ? name + ".tools" : "";
  if (ask == Ask::roots) return "";
  const std::string_view spelled = find_member(params, "mode");
  const std::string mode = spelled.empty() ? "form" : string_value(spelled);
  // A client that names neither mode has forms, which are older than modes.
  if (mode == "form" && (has(own, "form") || !has(own, "url"))) return "";
  if (mode == "url" && has(own, "url")) return "";
  if (mode == "form" || mode == "url") return fmt::format("{}.{}", name, mode);
  // The server may have sent anything here; long text isn't repeated.
  return fmt::format("{}.{}", name, spelled.size() <= 200 ? spelled : "(a long text)");
}

}  // namespace mcpivot
