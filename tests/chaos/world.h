// mcpivot and everything around it: a folder with programs, a configuration, six servers of three kinds and
// both protocol eras, terminals, and ways to break each of them. It doesn't know what mcpivot is asked to do.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness.h"

namespace chaos {

// Where the programs are.
struct Programs {
  std::string pivot, server, daemon, cli;
};

// How long mcpivot may take, as its configuration says.
namespace limits {
constexpr long start = 3'000;
constexpr long call = 3'000;
constexpr long drain = 1'000;
constexpr long queue = 3'000;
constexpr long build = 5'000;
}  // namespace limits

// Whether a server is of the modern era: half of those that are programs.
inline bool is_modern(const std::string& server) {
  return server == "beta" || server == "extra";
}

class World {
 public:
  World(const Programs& programs, bool journal);
  ~World();
  World(const World&) = delete;
  World& operator=(const World&) = delete;

  const std::filesystem::path& folder() const { return directory_.path(); }
  harness::Child& pivot() { return *pivot_; }
  long now() const;  // milliseconds since the start

  // Things to do later.
  void after(long milliseconds, std::function<void()> deed);
  long next_deed() const;  // when; far in the future if there is none
  void do_due();

  // Processes of a server that is a program; both the new and the old one during a swap.
  std::vector<pid_t> processes(const std::string& server) const;
  bool signal(const std::string& server, int number) const;  // false if there was none
  void replace_program(const std::string& server) const;

  void start_daemon();
  void kill_daemon() { daemon_.reset(); }
  bool daemon_runs() const { return daemon_ != nullptr; }
  pid_t daemon_pid() const { return daemon_ ? daemon_->pid() : -1; }
  void move_daemon();  // to another port; it is started there, and the configuration follows

  // What the configuration says; write_config() puts it into the file.
  bool extra_server = false;
  enum class Shape : unsigned char { program, cli, daemon };
  Shape shape = Shape::program;  // what kind of server "shape" is
  unsigned alpha_edition = 0;
  void write_config() const;
  void write_file(const std::string& name, const std::string& text) const;  // in one step
  void describe_cli(unsigned edition) const;

  // The disk that mcpivot keeps its log, cache and socket on. The error says why it has no separate one.
  bool has_small_disk() const { return why_no_disk_.empty(); }
  const std::string& why_no_disk() const { return why_no_disk_; }
  void fill_disk() const;
  void empty_disk() const;

  // `mcpivot ARGUMENTS` in its own terminal, which ends after this many milliseconds at the latest.
  // `on_late` is called if it hadn't ended by itself.
  void open_terminal(const std::vector<std::string>& arguments, long milliseconds,
                     std::function<void()> on_late);

  void limit_descriptors(std::size_t more) const;  // more than it has open now
  void free_descriptors() const;
  // What each server executed: tokens, and how often each.
  std::map<std::string, int> executed() const;
  // All processes that were started here, directly or indirectly, and are alive.
  std::vector<pid_t> leftovers() const;
  void heal();  // whatever is broken now
  // What `mcpivot ARGUMENTS` prints; nothing: it failed.
  std::optional<std::string> ask(const std::vector<std::string>& arguments) const;

 private:
  void make_small_disk();

  Programs programs_;
  harness::TemporaryDirectory directory_;
  std::string mark_;  // in the environment of everything that is started
  std::string why_no_disk_;
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  std::multimap<long, std::function<void()>> deeds_;
  std::unique_ptr<harness::Child> daemon_;
  int daemon_port_ = 0;
  int daemon_life_ = 0;
  harness::Environment environment_;  // of mcpivot and of terminals
  std::unique_ptr<harness::Child> pivot_;
  std::map<long, std::unique_ptr<harness::Child>> terminals_;
  long next_terminal_ = 0;
};

}  // namespace chaos
