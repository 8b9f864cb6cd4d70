// What the plan has prepared for one simulated server: how its next starts and builds turn out, which tools
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

// The outcome of a start.
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
  late,    // it takes longer for its handshake than it is waited for in one era alone
  count
};
std::string_view name_of(Birth birth);
Birth birth_called(std::string_view name);  // throws if there is none

// Which protocol eras a server's program supports, and what it does with a first message of another one.
struct Tongue {
  enum class Foreign : std::uint8_t { error, silence, exit };
  // What it does with `subscriptions/listen`.
  enum class Listening : std::uint8_t { good, refuses, unknown, ends, silence };

  bool legacy = true;
  bool modern = false;
  Foreign foreign = Foreign::error;
  Listening listening = Listening::good;
  bool rude = false;  // asks what it may not ask, sends requests in the modern era, never stops asking
};
// "dual", "modern+mute+ends"; throws if it contains an unknown word.
Tongue tongue_called(std::string_view text);

struct BuildPlan {
  bool ok = true;
  int took = 50;      // in milliseconds; -1: it hangs
  bool news = false;  // the tools are different after it
};

class SimBackend;

// A call of a modern server's that was answered `input_required`. Any process of the program can go on with
// it.
struct Round {
  int number = 0;  // of the call
  int round = 0;
  std::set<std::string> keys;  // what was asked
  bool used = false;
};
using Rounds = std::map<std::string, Round, std::less<>>;  // by their requestState

struct Script {
  std::string name;
  std::string lists_of;  // the server whose lists it has; empty: its own
  int revision = 0;      // of its tools
  int stamp = 1;         // of its program file
  std::deque<Birth> births;
  std::deque<BuildPlan> builds;
  bool daemon_up = true;
  bool slow_to_end = false;
  Tongue tongue;
  std::shared_ptr<Rounds> rounds = std::make_shared<Rounds>();
  int last_state = 0;
  int stops = 0;                         // of its daemon, that are under way
  int deaths = 0;                        // of its processes, by themselves or by the plan
  std::set<int> again;                   // calls that it has seen, and treats differently the next time
  std::map<int, std::string> called_as;  // tools, by the numbers of calls
  std::vector<std::weak_ptr<SimBackend>> lives;  // those that run, or ran

  Birth next_birth();
  BuildPlan next_build();
  // From now on it works as it should.
  void heal();
};

// By the names of the servers; created when first asked for.
class Scripts {
 public:
  Script& of(const std::string& name);
  void heal();
  auto begin() { return scripts_.begin(); }
  auto end() { return scripts_.end(); }

 private:
  std::map<std::string, Script> scripts_;
};

constexpr int tool_revisions = 5;  // then they begin again
// The lists of a server at a revision, as the inside of an answer's result.
const std::string& tools_of(const std::string& server, int revision);
std::string prompts_of(const std::string& server, const std::string& canary);
std::string resources_of(const std::string& server);
std::string templates_of(const std::string& server);

}  // namespace simulation
