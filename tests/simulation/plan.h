// What is going to happen, and when: drawn from a seed before anything runs, and written as plain lines that
// can be printed, cut down, kept and played again.
//
// An action is independent: it names servers and requests by names and numbers that mean the same when
// other actions are removed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

enum class Deed : std::uint8_t {
  // in the configuration, and by people who control mcpivot from outside
  fleet,    // this is the configuration from now on
  trouble,  // the file has errors
  hup,      // SIGHUP
  quit,     // SIGTERM: mcpivot ends, and is started again
  disk,     // nothing can be saved (1), or it can again (0), or what was saved is damaged (2)
  // of the client
  hello,    // initialize
  ready,    // notifications/initialized
  call,     // of a tool of a server
  through,  // the same by pivot_call
  control,  // of a tool of mcpivot's
  batch,    // three calls at once
  crowd,    // more calls than may wait
  ask,      // any other request
  cancel,
  notify,
  noise,   // something that isn't a message
  deaf,    // it stops reading, for so many milliseconds
  vanish,  // it leaves; mcpivot ends, and another one starts
  // of further clients, each with its own servers; they connect when they first do something
  guest,  // does what the first words say
  part,   // is gone
  // of terminals
  type,   // a terminal calls a tool
  leave,  // it is gone
  // of servers
  kill,
  blurt,  // sends something that nobody asked for
  daemon,
  births,
  builds,
  save,
  replace,
  slow,    // it ends as late as it may
  tongue,  // the eras that its program has from now on (1: in another file)
  // of clients of the modern era
  listen,
  count
};
std::string_view name_of(Deed deed);
Deed deed_called(std::string_view name);  // throws if there is none

constexpr int crowd_size = 1'100;

struct Action {
  long at = 0;  // in microseconds from the start
  Deed deed = Deed::ask;
  std::string server = "-";  // or "-"
  int number = 0;            // of a request, or as the deed has it
  std::string text;          // whatever else it takes
};

struct Plan {
  std::uint64_t chance = 0;  // decides the delays of messages
  std::vector<Action> actions;
};

// A plan with about this many events.
Plan draw_plan(std::uint64_t seed, int events);
// A plan in which nothing is shared: no one builds, saves or stops what guests also have.
Plan draw_plan_apart(std::uint64_t seed, int events);
// The same without its guests.
Plan without_guests(const Plan& plan);

// "chance SEED", then an action in each line: "AT DEED SERVER NUMBER TEXT". What follows "#" is a note.
std::string to_text(const Plan& plan);
Plan from_text(std::string_view text);  // throws what is wrong, and on which line

}  // namespace simulation
