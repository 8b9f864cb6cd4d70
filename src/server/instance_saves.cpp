// What happens to a call while something newer than the current generation is on its way: it waits for that,
// for a while, or its answer says that it is from the old one.
#include <fmt/format.h>

#include <utility>

#include "base/duration_text.h"
#include "server/instance.h"

namespace mcpivot {

// A request that continues a call must reach the generation that has the call. Later calls don't overtake
// held ones.
bool Instance::must_hold(const Generation& serving, const Message& message) const {
  if (message.known != Method::tools_call || !config_->waits_for_saves() || message.request_state ||
      serving.has_parked(message))
    return false;
  return waiting_.any(true) || source_.changes().saved() || source_.unsettled(true);
}

void Instance::hold(const ToServer& asked) {
  if (!waiting_.hold(asked.asker, asked.message, asked.sent_before, asked.edits.list(),
                     source_.changes().patience()))
    refuse_crowded(asked.asker, asked.message);
}

// Not at once: a swap may be under way.
void Instance::changes_over() {
  if (!waiting_.any(true)) return;
  held_timer_.set(std::chrono::milliseconds(0), [this] {
    if (source_.changes().saved() || source_.unsettled(false)) return;
    for (const auto& waiting : waiting_.take_all(true)) let_go(waiting);
  });
}

// Sends it to the current generation, new or not.
void Instance::let_go(const WaitingRoom::Waiting& held) {
  const Message message = held.message.message();
  ToServer asked(held.asker, message, held.sent_before);
  request(asked, Hold::never);
}

// For the model, if the answer may not reflect its last change. Empty: nothing newer is known.
std::string Instance::remark_on_answer(const GenerationId& from) const {
  const std::string whose =
      fmt::format("[mcpivot] this answer is from {} {} of \"{}\"", traits().life, from.number, config_->name);
  if (current_ && current_->id() != from)
    return fmt::format("{}; {} {} is serving now. Call again to test the new one.", whose, traits().life,
                       current_->number());
  const Changes::Change* const change = source_.changes().latest();
  const std::string what =
      change == nullptr
          ? "files were saved just now"
          : fmt::format("{}, {} ago", change->reason, duration_text(world_.timers().since(change->since)));
  return fmt::format(
      "{}. A newer one is on its way ({}). To test the change, call again when it is serving{}.", whose, what,
      config_->control.rebuild.empty() ? std::string()
                                       : fmt::format("; {} waits for the build", config_->control.rebuild));
}

bool Instance::is_outdated(const GenerationId& from) const {
  return (current_ && current_->id() != from) || source_.changes().latest() != nullptr ||
         source_.unsettled(false);
}

}  // namespace mcpivot
