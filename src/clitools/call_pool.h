// Limits how many calls run at once; the rest wait in order of arrival. All generations of a server share
// one, so that a reload doesn't double the limit; it also counts how the calls ended.
//
// One thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <string>

#include "clitools/kept_files.h"

namespace mcpivot {

class CallPool {
 public:
  static constexpr std::size_t most_waiting = 4096;
  static constexpr std::size_t most_waiting_bytes = 256UL * 1024 * 1024;

  // 0 jobs: four per core.
  explicit CallPool(std::size_t jobs) { set_jobs(jobs); }
  // For calls from now on; running ones continue.
  void set_jobs(std::size_t jobs);

  using Ticket = std::uint64_t;
  // `start` is called at once, or when others have left. 0: too many calls, or too many bytes, are waiting
  // already.
  Ticket enter(std::size_t bytes, std::function<void()> start);
  // A running call has ended, or a waiting one isn't wanted any more.
  void leave(Ticket ticket);
  // Nobody reads the answers: start no more until resume().
  void hold() { held_ = true; }
  void resume();

  std::size_t jobs() const { return jobs_; }
  std::size_t running() const { return running_; }
  std::size_t waiting() const { return waiting_.size(); }

  struct Counts {
    std::uint64_t calls = 0, failures = 0;
    std::chrono::milliseconds slowest{0};
    std::string slowest_tool;
  };
  const Counts& counts() const { return counts_; }
  void count(const std::string& tool, std::chrono::milliseconds took, bool failed);

  const std::shared_ptr<KeptFiles>& files() const { return files_; }

 private:
  struct Waiting {
    Ticket ticket;
    std::size_t bytes;
    std::function<void()> start;
  };
  void start_next();

  std::size_t jobs_ = 1;
  std::size_t running_ = 0;
  std::size_t waiting_bytes_ = 0;
  std::list<Waiting> waiting_;
  Ticket last_ticket_ = 0;
  bool held_ = false;
  bool starting_ = false;
  Counts counts_;
  std::shared_ptr<KeptFiles> files_ = std::make_shared<KeptFiles>();
};

}  // namespace mcpivot
