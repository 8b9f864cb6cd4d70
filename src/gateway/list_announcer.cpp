#include "gateway/list_announcer.h"

#include <chrono>
#include <utility>

namespace mcpivot {
namespace {

constexpr std::chrono::milliseconds pause{500};

}  // namespace

ListAnnouncer::ListAnnouncer(boost::asio::io_context& loop, Send send)
    : send_(std::move(send)), announcements_{Announcement(loop), Announcement(loop), Announcement(loop)} {}

void ListAnnouncer::changed(ListKind kind) {
  if (kind == ListKind::templates) kind = ListKind::resources;
  Announcement& announcement = announcements_[static_cast<std::size_t>(kind)];
  if (announcement.waiting) {
    announcement.again = true;
  } else {
    announce(kind, announcement);
  }
}

void ListAnnouncer::announce(ListKind kind, Announcement& announcement) {
  send_(words(kind).notification);
  announcement.waiting = true;
  announcement.quiet.expires_after(pause);
  announcement.quiet.async_wait([this, kind, &announcement](const boost::system::error_code& error) {
    announcement.waiting = false;
    if (!error && std::exchange(announcement.again, false)) announce(kind, announcement);
  });
}

}  // namespace mcpivot
