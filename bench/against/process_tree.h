// One process that the benchmark started, and everything below it: whatever a rival leaves behind or however
// it hangs, its whole tree ends with the object. The benchmark adopts orphans (it is their subreaper), so
// that those can be counted.
#pragma once

#include <sys/types.h>

#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "../times.h"

// A subject that died, fell silent or answered wrongly. Nothing it does ends the benchmark.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Call once, before the first process: orphans become our children, and a closed pipe is an error, not an
// end.
void adopt_orphans();

class ProcessTree {
 public:
  // With pipes, we are at the other end of its stdin and stdout; without, both are /dev/null.
  enum class Ends { pipes, none };
  ProcessTree(const std::vector<std::string>& command, Ends ends);
  ~ProcessTree();
  ProcessTree(const ProcessTree&) = delete;
  ProcessTree& operator=(const ProcessTree&) = delete;

  pid_t pid() const { return pid_; }
  int to() const { return to_; }
  int from() const { return from_; }
  bool running();
  void kill_alone();  // SIGKILL to the process itself, and waits for its end

 private:
  pid_t pid_ = -1;
  int to_ = -1;
  int from_ = -1;
  bool reaped_ = false;
};

// Of these, the ones that run this program.
std::vector<pid_t> running_program(const std::vector<pid_t>& pids, const std::filesystem::path& program);

// Megabytes of the process and all below it, except those that run `server`: the proportional set size, which
// counts a page that several share once in all.
double tree_megabytes(pid_t pid, const std::filesystem::path& server);
