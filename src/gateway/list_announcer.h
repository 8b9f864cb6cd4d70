// Tells clients that a list changed, so that the last change always arrives: some clients miss a second
// notification shortly after the first, so one that comes too soon is held back until things are quiet.
//
// One thread.
#pragma once

#include <array>
#include <functional>
#include <string_view>

#include "mcp/catalog.h"
#include "server/timers.h"

namespace mcpivot {

class ListAnnouncer {
 public:
  using Send = std::function<void(ListKind kind)>;
  ListAnnouncer(Timers& timers, Send send);

  void changed(ListKind kind);

 private:
  struct Announcement {
    explicit Announcement(Timers& timers) : quiet(timers) {}
    Alarm quiet;
    bool again = false;  // there is something new to announce when it rings
  };
  void announce(ListKind kind, Announcement& announcement);

  Send send_;
  std::array<Announcement, 3> announcements_;  // tools, prompts, resources; templates are resources here
};

}  // namespace mcpivot
