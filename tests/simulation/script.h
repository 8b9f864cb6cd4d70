// What the plan has in store for one simulated server: how its next starts and builds turn out, which tools
// its program has by now, whether its daemon is up. It outlives generations, and mcpivot itself.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace simulation {

// What becomes of a start.
enum class Birth : std::uint8_t {
  good,
  cannot_execute,
  dies_at_once,
  dies_in_handshake,
  dies_while_listing,
  hangs,
  slow,
  rejects,
  no_version,
  garbage,
  refuses_lists,
  endless_pages,
  asks_early,
  throws,  // the backend does, while it is made
  count
};
std::string_view name_of(Birth birth);
Birth birth_called(std::string_view name);  // throws if there is none

struct BuildPlan {
  bool ok = true;
  int took = 50;      // in milliseconds; -1: it hangs
  bool news = false;  // the tools are others after it
};

class SimBackend;

struct Script {
  std::string name;
  std::string lists_of;  // the server whose lists it has; empty: its own
  int revision = 0;      // of its tools
  int stamp = 1;         // of its program file
  std::deque<Birth> births;
  std::deque<BuildPlan> builds;
  bool daemon_up = true;
  bool slow_to_end = false;
  std::set<int> again;                           // the calls of "again" that it has seen: those are replayed
  std::vector<std::weak_ptr<SimBackend>> lives;  // those that run, or ran

  Birth next_birth();
  BuildPlan next_build();
  // From now on it works as it should.
  void heal();
};

// By the names of the servers; made when first asked for.
class Scripts {
 public:
  Script& of(const std::string& name);
  void heal();
  auto begin() { return scripts_.begin(); }
  auto end() { return scripts_.end(); }

 private:
  std::map<std::string, Script> scripts_;
};

// The lists of a server at a revision, as the inside of an answer's result.
const std::string& tools_of(const std::string& server, int revision);
std::string prompts_of(const std::string& server);
std::string resources_of(const std::string& server);
std::string templates_of(const std::string& server);

}  // namespace simulation
