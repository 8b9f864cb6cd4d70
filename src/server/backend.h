// What a generation talks to: a child process, an HTTP daemon, a CLI that runs once per call. The generation
// handles requests and answers; its backend knows how their bytes travel, how to end it, and how to describe
// its end.
//
// One thread; a backend calls back from the event loop.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <expected>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/era.h"
#include "base/output_ring.h"
#include "config/server_config.h"
#include "mcp/catalog.h"
#include "rpc/link.h"
#include "server/kind_traits.h"

namespace mcpivot {

class Backend {
 public:
  struct Ending {
    std::string how;            // continues "it …": "was killed by SIGSEGV (core dumped)"
    bool from_outside = false;  // another program ended it: not its own fault
    bool forgotten = false;     // it is alive, but has forgotten our session
    bool unreachable = false;   // no process accepts connections there
    int exit_code = 0;          // as in a shell: 128 + the signal's number
  };
  using OnEnd = std::function<void(const Ending&)>;

  virtual ~Backend() = default;

  virtual Link& link() = 0;
  // Messages arrive from now on. `on_end` is called once, after the last of them, no matter which side ended
  // it.
  virtual void start(Link::Handler& handler, OnEnd on_end) = 0;
  // Ends it within twice the patience.
  virtual void end(std::chrono::milliseconds patience) = 0;
  // No handler is called any more, and nothing is kept open.
  virtual void close() = 0;

  // Which era its generation speaks, for transports where that makes a difference. Called before the first
  // message; legacy otherwise.
  virtual void speak(Era) {}
  // The tools of its server, whenever they have been listed. Removes those that a client of this transport
  // must not offer.
  virtual void learn_tools(std::vector<Item>& /*tools*/) {}

  // The handler of the link passes these on.
  virtual void on_link_broken(std::string_view) {}
  virtual void on_link_end(std::string_view) {}

  // How servers of its kind are treated.
  virtual const KindTraits& traits() const { return process_traits; }
  // "pid 4242", "http://127.0.0.1:8080/mcp"
  virtual std::string where() const = 0;
  virtual pid_t pid() const { return 0; }
  // The verb for a new generation of its kind in a notice.
  virtual std::string_view renewed() const { return "restarted"; }
  // Whether a new generation is news even if it offers the same: what the old one held in memory is lost.
  virtual bool news_if_unchanged() const { return true; }
  // Whether each call has a time limit of its own, so that neither the call limit nor the drain limit must be
  // imposed from outside.
  virtual bool calls_have_own_limits() const { return false; }
  // About how many calls it works on at the same time; the others queue in it. If clients share it, none of
  // them may have more than half of these in flight.
  virtual std::size_t calls_at_once() const { return 64; }
  // Further lines for the status.
  using Describe = std::function<void(std::string_view key, const std::string& value)>;
  virtual void describe(const Describe&) const {}
};

}  // namespace mcpivot
