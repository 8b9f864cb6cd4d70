// Everything that goes wrong on purpose. Each fault says for how long it has an effect.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "client.h"
#include "oracle.h"
#include "plan.h"
#include "world.h"

namespace chaos {

class Tormentor {
 public:
  Tormentor(World& world, Client& client, Oracle& oracle) : world_(world), client_(client), oracle_(oracle) {}

  static std::vector<Kind> kinds();
  static std::string help();  // one per line
  void strike(const Action& action);
  // Faults that couldn't be tried, and why.
  const std::map<std::string, std::string>& not_run() const { return not_run_; }

 private:
  struct Deed;
  static const std::vector<Deed>& deeds();
  // For how long the fault has an effect; -1 if there was nothing to break.
  long kill(const Action& action, int signal);
  long stop(const Action& action);
  long garbage(const Action& action);
  long deaf(const Action& action);
  long build(const Action& action);
  long break_build(const Action& action);
  bool builds(const std::string& server) const;
  long fill_disk(const Action& action);
  long take_descriptors(const Action& action);
  long do_not_read(const Action& action);
  long kill_daemon(const Action& action);
  long stop_daemon(const Action& action);
  long misbehave(const Action& action);
  long edit_config(const Action& action);
  long break_config(const Action& action);
  long change_schema(const Action& action);
  long knock(const Action& action);
  long hang_up_often(const Action& action);
  long change_kind(const Action& action);
  long remove_server(const Action& action);
  long use_terminal(const Action& action);

  World& world_;
  Client& client_;
  Oracle& oracle_;
  std::map<std::string, std::string> not_run_;
  std::map<std::string, std::string> last_builds_;  // by server: the id of the call
};

}  // namespace chaos
