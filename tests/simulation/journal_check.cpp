#include "journal_check.h"

#include <fmt/format.h>

namespace simulation {

using mcpivot::CallRow;
using mcpivot::ClientId;

JournalCheck::JournalCheck(Oracle& oracle, const Bookkeeper& books)
    : oracle_(oracle),
      books_(books),
      queue_(1UL << 30),
      observer_(queue_, [] {}),
      book_({}, [this](const mcpivot::CallBook::Ended& one) { ended(one); }) {}

void JournalCheck::saw(const mcpivot::Seen& seen) {
  observer_.saw(seen);
  while (const auto entry = queue_.next()) book_.take(*entry, 0);
  queue_.drop();
  (void)book_.rows();
}

void JournalCheck::ended(const mcpivot::CallBook::Ended& ended) {
  const CallRow& call = ended.call;
  ++ended_[{static_cast<ClientId>(call.client), std::string(ended.id)}];
  if (call.outcome != mcpivot::RecordedCall::Outcome::cancelled && !mcpivot::read_message(ended.answer))
    oracle_.violate(fmt::format("the journal's call {} has ended without an answer", call.id));
  if (call.request == 0 || call.answer <= call.request)
    oracle_.violate(
        fmt::format("the journal's call {} has messages {} and {}", call.id, call.request, call.answer));
  if (!call.server.empty() && (call.sent < call.request || call.sent > call.answer))
    oracle_.violate(fmt::format("the journal's call {} was sent by message {}, between {} and {}", call.id,
                                call.sent, call.request, call.answer));
}

void JournalCheck::judge_rest() {
  for (const auto& [asked, count] : books_.ended()) {
    const auto found = ended_.find(asked);
    const int written = found == ended_.end() ? 0 : found->second;
    if (written < count || (written > count && !books_.is_gone(asked.first)))
      oracle_.violate(
          fmt::format("the journal has {} ends of {}, the observer saw {}", written, asked.second, count));
  }
}

}  // namespace simulation
