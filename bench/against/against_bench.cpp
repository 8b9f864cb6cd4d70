// mcpivot against its rivals: the same work through no proxy, a bare byte relay, mcpivot and every rival that
// is installed, in turns, in one run. Prints what it does as it goes, and writes what it measured to a JSON
// file, from which bench/report makes docs/benchmarks.md.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include "../cores.h"
#include "../options.h"
#include "../private_folders.h"
#include "faults.h"
#include "host/free_port.h"
#include "host/temporary_directory.h"
#include "load.h"
#include "subjects.h"

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::milliseconds;

constexpr std::string_view usage =
    "usage: ./dev bench --against [OPTION...]\n"
    "\n"
    "The same work through no proxy, a bare byte relay, mcpivot and each rival, in turns, in one run; then\n"
    "docs/benchmarks.md and its plots are written again. About 12 minutes.\n"
    "\n"
    "  --quick          fewer rounds, under 3 minutes\n"
    "  --only ROW       only this row (repeatable): start, load, memory, replace, reload, crash, away, "
    "orphans,\n"
    "                   passthrough. Nothing is written then, only printed\n"
    "  --rivals A,B     only these rivals\n"
    "  --json FILE      where the results go\n"
    "  --help           show this\n";

struct Options {
  bool quick = false;
  std::set<std::string, std::less<>> only;
  std::set<std::string, std::less<>> rivals;
  fs::path json;
  bool wants(std::string_view row) const { return only.empty() || only.contains(row); }
};

Options read_options(int argc, char** argv) {
  static const std::set<std::string_view> rows = {"start", "load", "memory",  "replace",    "reload",
                                                  "crash", "away", "orphans", "passthrough"};
  Options options;
  CommandLine line("against_bench", usage);
  line.flag("--against", [] {});  // as ./dev bench passes it on
  line.flag("--quick", options.quick);
  line.option("--only", [&](auto row) {
    if (!rows.contains(row)) line.refuse(fmt::format("no row '{}'", row));
    options.only.emplace(row);
  });
  line.option("--rivals", [&](auto names) {
    while (!names.empty()) {
      const auto comma = std::min(names.find(','), names.size());
      options.rivals.emplace(names.substr(0, comma));
      names.remove_prefix(std::min(comma + 1, names.size()));
    }
  });
  line.option("--json", [&](auto file) { options.json = file; });
  line.read(argc, argv);
  return options;
}

// Everything that was measured: results[way][subject][row].
class Results {
 public:
  void put(const Subject& subject, const std::string& row, json::value value) {
    fmt::print("  {:9} {:12} {:32} {}\n", name_of(subject.way), subject.name, row,
               json::serialize(value).substr(0, 400));
    std::fflush(stdout);
    auto& ways = ways_[name_of(subject.way)];
    if (!ways.is_object()) ways = json::object();
    auto& rows = ways.as_object()[subject.name];
    if (!rows.is_object()) rows = json::object();
    rows.as_object()[row] = std::move(value);
  }
  const json::object& all() const { return ways_; }

 private:
  json::object ways_;
};

class Contest {
 public:
  Contest(const Options& options, const Place& place) : options_(options), place_(place) {
    for (const Subject& subject : all_subjects()) {
      if (subject.role == Role::rival && !options.rivals.empty() && !options.rivals.contains(subject.name))
        continue;
      if (const std::string why = missing(subject, place); !why.empty()) {
        fmt::print("{} does not take part: {}\n", subject.name, why);
        continue;
      }
      subjects_.push_back(subject);
    }
  }

  void run() {
    if (options_.wants("start")) starts();
    if (options_.wants("load") || options_.wants("memory")) loads();
    if (options_.wants("replace"))
      faults("replace", is_behind_process,
             [&](auto& subject) { return replace_server(subject, place_, false); });
    if (options_.wants("reload"))
      faults(
          "reload", [](auto& subject) { return subject.reload != Reload::none; },
          [&](auto& subject) { return replace_server(subject, place_, true); });
    if (options_.wants("crash"))
      faults(
          "crash", [](auto& subject) { return subject.way != Way::to_http; },
          [&](auto& subject) { return kill_server(subject, place_); });
    if (options_.wants("orphans"))
      faults("orphans", is_behind_process, [&](auto& subject) { return kill_proxy(subject, place_); });
    if (options_.wants("away")) away();
  }

  const json::object& results() const { return results_.all(); }

 private:
  static bool is_behind_process(const Subject& subject) {
    return subject.way != Way::to_http && subject.role != Role::direct;
  }

  static bool runs_on_node(const Subject& subject) {
    return subject.role == Role::rival && subject.name != "mcp-sitter";
  }

  // In each round every subject has its turn, and each round begins with another one.
  template <typename Turn>
  void in_turns(size_t rounds, Turn turn) {
    for (size_t round = 0; round < rounds; ++round)
      for (size_t i = 0; i < subjects_.size(); ++i) turn(subjects_[(round + i) % subjects_.size()], round);
  }

  Behind behind(std::vector<std::string> server) const {
    return {.server = std::move(server), .daemon_port = daemon_port_};
  }
  std::string server() const { return place_.programs / "echo_server"; }

  // With a server that starts at once, and with one that takes 300 ms, twice.
  void starts() {
    say("start: from exec to the answers of initialize and tools/list, ms");
    with_daemon([&] {
      // A start of Node takes a second, the others' some milliseconds, so those get more rounds.
      const size_t rounds = options_.quick ? 12 : 30;
      std::map<std::pair<const Subject*, std::string>, std::vector<double>> times;
      const auto one = [&](const Subject& subject, const std::string& row, const Behind& what) {
        try {
          Running running(subject, place_, what);
          const double answered = 1e3 * running.shake_hands();
          times[{&subject, row + " initialize"}].push_back(answered);
          const double listed = 1e3 * running.list_tools();
          times[{&subject, row + " list"}].push_back(listed);
        } catch (const Failure& failure) {
          failed(subject, row, failure.what());
        }
      };
      in_turns(rounds, [&](const Subject& subject, size_t round) {
        if (subject.way == Way::to_http && subject.role == Role::direct) return;
        if (runs_on_node(subject) && round >= (options_.quick ? 2 : 5)) return;
        one(subject, "start", behind({server()}));
        if (subject.way == Way::to_http || round >= (options_.quick ? 1 : 3)) return;
        Behind slow = behind({server(), "--start-ms", "300"});
        one(subject, "slow start", slow);
        if (subject.role != Role::ours) return;
        slow.keep_cache = true;
        Running first(subject, place_, slow);
        first.shake_hands();
        first.list_tools();
        one(subject, "cached start", slow);
      });
      for (const Subject& subject : subjects_)
        for (const auto& [key, values] : times)
          if (key.first == &subject && !values.empty()) results_.put(subject, key.second, median(values));
    });
  }

  struct Contender {
    const Subject* subject = nullptr;
    std::unique_ptr<Running> running;
    std::map<std::string, std::vector<double>> values;
    std::map<std::string, std::string> failures;
  };

  void start(Contender& contender) {
    if (contender.running) return;
    contender.running = std::make_unique<Running>(*contender.subject, place_, behind({server()}));
    contender.running->shake_hands();
    contender.running->list_tools();
  }

  void remember_memory(std::vector<Contender>& contenders, const std::string& row) {
    for (Contender& contender : contenders) {
      if (contender.subject->role == Role::direct || !contender.running) continue;
      contender.values[row] = {tree_megabytes(contender.running->process()->pid(), server())};
    }
  }

  // The core of it: one after the other, all on one core, so that the cost is the proxy's work and not the
  // waking of cores that sleep.
  void loads() {
    say("load: calls of three sizes, 1, 32 and 256 in flight; µs and calls/s; memory of the whole tree, MB");
    const Cores cores;
    cores.use_one();
    with_daemon([&] {
      std::vector<Contender> contenders(subjects_.size());
      for (size_t i = 0; i < subjects_.size(); ++i) contenders[i].subject = &subjects_[i];
      for (Contender& contender : contenders) attempt(contender, "start", [&] { start(contender); });
      usleep(1'000'000);  // in case one of them still cleans up after its start
      remember_memory(contenders, "memory idle");
      const size_t rounds = options_.quick ? 2 : 5;
      for (size_t round = 0; round < rounds; ++round)
        for (const Load& load : all_loads())
          for (size_t i = 0; i < contenders.size(); ++i)
            one_load(contenders[(round + i) % contenders.size()], load, round);
      remember_memory(contenders, "memory loaded");
      for (const Contender& contender : contenders) {
        for (const auto& [row, values] : contender.values)
          results_.put(*contender.subject, row, median(values));
        for (const auto& [row, why] : contender.failures) failed(*contender.subject, row, why);
      }
    });
    cores.use_all();
  }

  static std::vector<Load> all_loads() {
    std::vector<Load> loads;
    for (const auto& [name, size] :
         {std::pair<std::string, size_t>{"200 B", 100}, {"10 KB", 10'000}, {"1 MB", 1'000'000}})
      for (const size_t in_flight : {1, 32, 256})
        loads.push_back(
            {.name = fmt::format("{} x{}", name, in_flight), .size = size, .in_flight = in_flight});
    return loads;
  }

  // A subject that fails leaves this row and is started again for the next.
  template <typename Do>
  void attempt(Contender& contender, const std::string& row, Do what) {
    if (contender.failures.contains(row)) return;
    try {
      what();
    } catch (const Failure& failure) {
      contender.failures[row] = failure.what();
      failed(*contender.subject, row, failure.what());
      contender.running.reset();
    }
  }

  void one_load(Contender& contender, const Load& load, size_t round) {
    // With some, the largest takes seconds; two rounds of it must be enough.
    const bool huge = load.size * load.in_flight > 100'000'000;
    if (huge && round >= (options_.quick ? 1 : 2)) return;
    attempt(contender, load.name, [&] {
      start(contender);
      const auto begin = Clock::now();
      const Turn turn = run_load(*contender.running, load, milliseconds(options_.quick ? 100 : 250));
      fmt::print("  round {}  {:11} {:9} {:12} {:9.0f} calls/s  {:5.2f} s\n", round + 1, load.name,
                 name_of(contender.subject->way), contender.subject->name, turn.per_second,
                 std::chrono::duration<double>(Clock::now() - begin).count());
      std::fflush(stdout);
      contender.values[load.name + " p50"].push_back(percentile(turn.times_us, 0.5));
      contender.values[load.name + " p99"].push_back(percentile(turn.times_us, 0.99));
      contender.values[load.name + " rate"].push_back(turn.per_second);
    });
  }

  template <typename Takes, typename Do>
  void faults(const std::string& row, Takes takes, Do what) {
    say(row);
    // The median of three by its first number; one try is enough where nothing works.
    const size_t rounds = options_.quick ? 1 : 3;
    std::map<const Subject*, std::vector<json::object>> seen;
    in_turns(rounds, [&](const Subject& subject, size_t round) {
      if (!takes(subject) || (round > 0 && hopeless(seen[&subject]))) return;
      try {
        seen[&subject].push_back(what(subject));
      } catch (const Failure& failure) {
        seen[&subject].push_back({{"failure", failure.what()}});
      }
    });
    for (const Subject& subject : subjects_)
      if (!seen[&subject].empty()) results_.put(subject, row, typical(seen[&subject]));
  }

  static bool hopeless(const std::vector<json::object>& seen) {
    return std::ranges::any_of(seen, [](const json::object& one) {
      return one.contains("failure") || one.contains("ended") || time_of(one).is_null();
    });
  }
  static json::value time_of(const json::object& one) {
    for (const char* key : {"recovered_ms", "ms"})
      if (one.contains(key)) return one.at(key);
    return nullptr;
  }
  // The one with the median time; the worst counts for all of them.
  static json::object typical(std::vector<json::object> seen) {
    std::ranges::stable_sort(seen, {}, [](const json::object& one) {
      const json::value time = time_of(one);
      return time.is_double() ? time.as_double() : 1e9;
    });
    json::object chosen = seen[seen.size() / 2];
    for (const json::object& one : seen)
      for (const char* key : {"failed", "lost", "left"})
        if (one.contains(key) && chosen.contains(key) &&
            one.at(key).to_number<int>() > chosen[key].to_number<int>())
          chosen[key] = one.at(key);
    chosen["tries"] = seen.size();
    return chosen;
  }

  void away() {
    say("away: the daemon is gone for 5 s");
    std::vector<const Subject*> there;
    for (const Subject& subject : subjects_)
      if (subject.way == Way::to_http && subject.role != Role::direct) there.push_back(&subject);
    const json::object seen = leave_for(there, place_, 5);
    for (const Subject* subject : there)
      if (seen.contains(subject->name)) results_.put(*subject, "away", seen.at(subject->name));
  }

  template <typename Do>
  void with_daemon(Do what) {
    daemon_port_ = host::free_port();
    const ProcessTree daemon({place_.programs / "echo_daemon", std::to_string(daemon_port_)},
                             ProcessTree::Ends::none);
    http_front({.port = daemon_port_}, Clock::now() + std::chrono::seconds(5));
    what();
  }

  void failed(const Subject& subject, const std::string& row, const std::string& why) {
    results_.put(subject, row, json::object{{"failure", why}});
  }

  static void say(std::string_view what) {
    fmt::print("\n{}\n", what);
    std::fflush(stdout);
  }

  const Options& options_;
  const Place& place_;
  std::vector<Subject> subjects_;
  std::uint16_t daemon_port_ = 0;
  Results results_;
};

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const fs::path programs = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path root = programs.parent_path().parent_path();
  const host::TemporaryDirectory scratch;
  const Place place{.programs = programs,
                    .peers = root / "tests/peers/node_modules",
                    .rivals = root / "bench/rivals/node_modules",
                    .scratch = scratch.path()};
  use_private_folders(scratch.path());
  adopt_orphans();
  const auto begin = Clock::now();
  Contest contest(options, place);
  contest.run();
  fmt::print("\nthis took {:.0f} s\n", std::chrono::duration<double>(Clock::now() - begin).count());
  if (options.json.empty()) return 0;
  const json::object all = {{"quick", options.quick}, {"results", contest.results()}};
  std::ofstream out(options.json);
  out << json::serialize(all) << '\n';
  out.close();
  if (out) return 0;
  fmt::print(stderr, "against_bench: cannot write {}\n", options.json.string());
  return 2;
}
