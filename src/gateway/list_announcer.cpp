#include "gateway/list_announcer.h"

#include <chrono>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::chrono::milliseconds pause{500};

}  // namespace

ListAnnouncer::ListAnnouncer(Timers& timers, Send send)
    : send_(std::move(send)),
      announcements_{Announcement(timers), Announcement(timers), Announcement(timers)} {}

void ListAnnouncer::changed(ListKind kind) {
  if (kind == ListKind::templates) kind = ListKind::resources;
  Announcement& announcement = announcements_[static_cast<std::size_t>(kind)];
  if (announcement.quiet.is_set()) {
    announcement.again = true;
  } else {
    announce(kind, announcement);
  }
}

void ListAnnouncer::announce(ListKind kind, Announcement& announcement) {
  send_(kind);
  announcement.quiet.set(pause, [this, kind, &announcement] {
    if (std::exchange(announcement.again, false)) announce(kind, announcement);
  });
}

}  // namespace mcpivot
