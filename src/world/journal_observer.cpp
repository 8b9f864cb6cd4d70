#include "world/journal_observer.h"

#include <algorithm>
#include <utility>

namespace mcpivot {
namespace {

using Head = JournalEntry::Head;

JournalEntry::Kind kind_of(const Message* message) {
  if (message == nullptr) return JournalEntry::Kind::unknown;
  switch (message->kind) {
    case Kind::request:
      return JournalEntry::Kind::request;
    case Kind::notification:
      return JournalEntry::Kind::notification;
    case Kind::result:
      return JournalEntry::Kind::result;
    case Kind::error:
      return JournalEntry::Kind::error;
  }
  return JournalEntry::Kind::unknown;
}

static_assert(std::to_underlying(Seen::Way::to_client) == std::to_underlying(JournalEntry::Way::to_client));
static_assert(std::to_underlying(Seen::What::dropped) == std::to_underlying(JournalEntry::What::dropped));
static_assert(std::to_underlying(Seen::What::cancelled) == std::to_underlying(JournalEntry::What::cancelled));

bool is_received(const Seen& seen) {
  return seen.way == Seen::Way::from_client || seen.way == Seen::Way::from_server;
}

std::uint32_t size_32(std::size_t size) {
  return static_cast<std::uint32_t>(size);
}

}  // namespace

// Whether a message leaves as it was received, except for ids and tokens: then the journal stores its text
// once.
bool JournalObserver::is_as_received(const Seen& seen) const {
  // A message that arrives may be at the same address as the one before it.
  if (is_received(seen) && seen.what == Seen::What::passed) return false;
  if (seen.message == nullptr || seen.message != last_message_ || seen.raw.data() != last_raw_ ||
      seen.raw.size() != last_size_)
    return false;
  const Message& message = *seen.message;
  return std::ranges::all_of(seen.edits, [&](const Edit& edit) {
    return edit.where == message.id || edit.where == message.progress_token ||
           edit.where == message.request_id;
  });
}

void JournalObserver::saw(const Seen& seen) {
  const bool same = is_as_received(seen);
  if (!same && is_received(seen)) {
    last_message_ = seen.message;
    last_raw_ = seen.raw.data();
    last_size_ = seen.raw.size();
  }
  std::size_t size = seen.raw.size();
  for (const Edit& edit : seen.edits) size += edit.with.size() - edit.where.size;
  const std::string_view id =
      seen.message == nullptr
          ? std::string_view()
          : seen.message->text(seen.message->kind == Kind::notification ? seen.message->request_id
                                                                        : seen.message->id);
  const Head head{
      .way = static_cast<JournalEntry::Way>(seen.way),
      .what = static_cast<JournalEntry::What>(seen.what),
      .kind = kind_of(seen.message),
      .terminal = seen.terminal,
      .bridged = seen.bridged,
      .same = same,
      .exchange = seen.exchange,
      .client = std::to_underlying(seen.client),
      .generation = {.client = std::to_underlying(seen.generation.instance.client),
                     .instance = seen.generation.instance.number,
                     .number = seen.generation.number,
                     .birth = seen.generation.birth},
      .pair = seen.pair,
      .when = std::chrono::duration_cast<std::chrono::nanoseconds>(seen.when.time_since_epoch()).count(),
      .size = size,
      .id_size = size_32(id.size()),
      .server_size = size_32(seen.server.size()),
      .why_size = size_32(seen.why.size()),
      .text_size = same ? 0 : size_32(size)};
  char* at = queue_.room(head);
  if (at == nullptr) return;
  const auto put = [&](std::string_view text) {
    if (text.empty()) return;
    std::memcpy(at, text.data(), text.size());
    at += text.size();
  };
  put(id);
  put(seen.server);
  put(seen.why);
  if (!same) splice(seen.raw, seen.edits, put);
  queue_.publish();
  if (queue_.is_asleep()) wake_();
}

}  // namespace mcpivot
