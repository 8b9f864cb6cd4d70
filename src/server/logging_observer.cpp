#include "server/logging_observer.h"

#include <utility>

#include "log/log.h"

namespace mcpivot {
namespace {

constexpr std::size_t garbage_shown = 500;

// The sender, or the recipient.
std::string peer(const Seen& seen) {
  if (seen.way == Seen::Way::to_server || seen.way == Seen::Way::from_server) return std::string(seen.server);
  return fmt::format("client {}", std::to_underlying(seen.client));
}

bool is_received(const Seen& seen) {
  return seen.way == Seen::Way::from_client || seen.way == Seen::Way::from_server;
}

// What a server prints by mistake is shown, because it helps to find the mistake; what a client sends is
// private.
void log_refused(const Seen& seen) {
  if (seen.way != Seen::Way::from_server || seen.raw.empty())
    return log_warn("{}: refused a message: {}", peer(seen), seen.why);
  const std::string_view shown = seen.raw.substr(0, garbage_shown);
  log_warn("{}: not forwarded, because it isn't an MCP message ({}): {}{}", peer(seen), seen.why, shown,
           shown.size() < seen.raw.size() ? "…" : "");
}

// Which request it is about, if any.
std::string_view request_of(const Seen& seen) {
  if (seen.message == nullptr) return {};
  const Message& message = *seen.message;
  return message.text(message.id               ? message.id
                      : message.request_id     ? message.request_id
                      : message.progress_token ? message.progress_token
                                               : message.method);
}

}  // namespace

void LoggingObserver::saw(const Seen& seen) {
  if (seen.what == Seen::What::cancelled) return;
  if (seen.what == Seen::What::dropped)
    return log_debug("{}: dropped {}: {}", peer(seen), request_of(seen), seen.why);
  const bool refused = is_received(seen) && seen.what == Seen::What::refused;
  if (refused) log_refused(seen);
  // A message that could be parsed was logged before it was refused.
  if (!log_enabled(LogLevel::trace) || (refused && (seen.message != nullptr || seen.raw.empty()))) return;
  log_trace("{} {} {}", peer(seen), is_received(seen) ? '>' : '<', seen.line());
}

}  // namespace mcpivot
