// What do many clients over HTTP cost? mcpivot serve in front of one echo server that all of them share:
// a thousand clients that listen and call while the server is replaced; 32 clients that call as fast as they
// are answered, against npm's mcp-proxy and supergateway and the same work without a proxy, in turns; the
// memory of clients that do nothing; and, with --leaks, what is left of 20,000 that have gone. The generator
// runs on the same machine.
#include <fmt/format.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <set>

#include "against/subjects.h"
#include "bars.h"
#include "host/free_port.h"
#include "host/process_table.h"
#include "host/temporary_directory.h"
#include "options.h"
#include "private_folders.h"
#include "web_clients.h"

namespace {

namespace fs = std::filesystem;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr double most_idle_kb = 40;
constexpr double most_growth = 1.1;

constexpr std::string_view usage =
    "usage: serve_bench [OPTION...]\n"
    "\n"
    "  --only PART   swap, rivals or memory (repeatable)\n"
    "  --leaks       only this: 10,000 sessions are opened and left, twice\n"
    "  --quick       fewer rounds, fewer sessions\n"
    "  --check       exit with 1 if a bar is missed\n";

struct Options {
  bool quick = false;
  bool check = false;
  bool leaks = false;
  std::set<std::string, std::less<>> only;
  bool wants(std::string_view part) const { return !leaks && (only.empty() || only.contains(part)); }
};

Options read_options(int argc, char** argv) {
  Options options;
  CommandLine line("serve_bench", usage);
  line.flag("--quick", options.quick);
  line.flag("--check", options.check);
  line.flag("--leaks", options.leaks);
  line.option("--only", [&](std::string_view part) {
    if (part != "swap" && part != "rivals" && part != "memory")
      line.refuse(fmt::format("no part '{}'", part));
    options.only.emplace(part);
  });
  line.read(argc, argv);
  return options;
}

Bars bar;

void say(std::string_view what) {
  fmt::print("\n{}\n", what);
  std::fflush(stdout);
}

// We need a descriptor for each client. What we start has as many as a login shell gives it.
class Descriptors {
 public:
  Descriptors() {
    getrlimit(RLIMIT_NOFILE, &ours_);
    ours_.rlim_cur = ours_.rlim_max;
    setrlimit(RLIMIT_NOFILE, &ours_);
  }
  template <typename Start>
  auto as_usual(Start start) const {
    rlimit usual = ours_;
    usual.rlim_cur = std::min<rlim_t>(1024, ours_.rlim_max);
    setrlimit(RLIMIT_NOFILE, &usual);
    auto started = start();
    setrlimit(RLIMIT_NOFILE, &ours_);
    return started;
  }

 private:
  rlimit ours_{};
};

class ServeBench {
 public:
  ServeBench(const Options& options, const Place& place)
      : options_(options), place_(place), subjects_(all_subjects()) {}

  void run() {
    if (options_.wants("swap")) swap();
    if (options_.wants("rivals")) rivals();
    if (options_.wants("memory")) memory();
    if (options_.leaks) leaks();
  }

 private:
  const Subject& subject(std::string_view name) const {
    return *std::ranges::find_if(
        subjects_, [&](const Subject& one) { return one.name == name && one.way == Way::from_http; });
  }

  std::unique_ptr<Running> start(std::string_view name, std::vector<std::string> server) const {
    return descriptors_.as_usual([&] {
      return std::make_unique<Running>(subject(name), place_,
                                       Behind{.server = std::move(server), .shared = true});
    });
  }
  std::string server() const { return place_.programs / "echo_server"; }

  // --- a thousand clients, and a new build
  // ------------------------------------------------------------------

  void swap() {
    const size_t count = 1000;
    const auto third = seconds(options_.quick ? 2 : 5);
    say(
        fmt::format("{} clients, each with its stream open; 1,000 calls/s in all; the shared server is "
                    "replaced on disk, then SIGHUP",
                    count));
    const fs::path program = place_.scratch / "changing_server";
    fs::copy_file(server(), program);
    const auto running = start("mcpivot", {program, "--changing"});
    WebClients clients({.port = running->port()});
    clients.open(count);
    clients.listen();
    clients.call_at_pace(1000, seconds(1), {});
    clients.take_list_changes();

    std::vector<Clock::time_point> swaps;
    std::vector<std::vector<size_t>> heard;
    const auto replace = [&] {
      const fs::path fresh = program.string() + ".new";
      fs::copy_file(program, fresh);
      std::ofstream(fresh, std::ios::app) << '\n';
      fs::rename(fresh, program);
      swaps.push_back(Clock::now());
    };
    const auto signal = [&] {
      heard.push_back(clients.take_list_changes());
      kill(running->process()->pid(), SIGHUP);
      swaps.push_back(Clock::now());
    };
    const WebClients::Calls calls = clients.call_at_pace(
        1000, 3 * third, {{.after = third, .happens = replace}, {.after = 2 * third, .happens = signal}});
    heard.push_back(clients.take_list_changes());

    const auto longest_since = [&](Clock::time_point begin) {
      double longest = 0;
      for (const WebClients::Call& call : calls.all)
        if (call.begun >= begin - seconds(1) && call.begun < begin + seconds(1))
          longest = std::max(longest, call.us / 1e3);
      return longest;
    };
    fmt::print("{} calls, {:.0f}/s; p50 {:.2f} ms, p99 {:.2f} ms, longest {:.1f} ms\n", calls.all.size(),
               calls.per_second(), percentile(calls.times_us(), 0.5) / 1e3,
               percentile(calls.times_us(), 0.99) / 1e3, percentile(calls.times_us(), 1) / 1e3);
    fmt::print("longest call within 1 s of the new build: {:.1f} ms; of SIGHUP: {:.1f} ms\n",
               longest_since(swaps.at(0)), longest_since(swaps.at(1)));
    bar(calls.lost() == 0, fmt::format("no call is lost: {} of {}{}{}", calls.lost(), calls.all.size(),
                                       calls.problem.empty() ? "" : "; the first: ", calls.problem));
    bar(clients.streams() == count,
        fmt::format("every stream stays open: {} of {}", clients.streams(), count));
    const auto with = [](const std::vector<size_t>& all, size_t times) {
      return std::ranges::count(all, times);
    };
    bar(with(heard.at(0), 1) == static_cast<std::ptrdiff_t>(count),
        fmt::format("each stream hears of the new build's tools once: {} once, {} never, at most {} times",
                    with(heard.at(0), 1), with(heard.at(0), 0), std::ranges::max(heard.at(0))));
    bar(std::ranges::max(heard.at(1)) <= 1,
        fmt::format("and after SIGHUP, which changed no tool, at most once: {} once, {} never",
                    with(heard.at(1), 1), with(heard.at(1), 0)));
    bar(new_build_answers(*running, program), "the new build answers");
  }

  static bool new_build_answers(Running& running, const fs::path& program) {
    running.connect_again();
    const std::string answer =
        running.ask("tools/call", R"({"name":"echo","arguments":{"version":true}})", seconds(10));
    return answer.find(fmt::format("\"{}\"", fs::file_size(program))) != std::string::npos;
  }

  // --- 32 clients, as fast as they are answered
  // -------------------------------------------------------------

  struct Contender {
    std::string name;
    std::unique_ptr<Running> running{};
    std::unique_ptr<WebClients> clients{};
    std::map<std::string, std::vector<double>> values{};
    std::string failure{};
  };

  void rivals() {
    say("32 clients of one echo server, each calls again as soon as it is answered");
    const ProcessTree daemon({place_.programs / "echo_daemon", std::to_string(daemon_port_)},
                             ProcessTree::Ends::none);
    http_front({.port = daemon_port_}, Clock::now() + seconds(5));
    std::vector<Contender> all;
    all.push_back({.name = "no proxy"});
    for (const char* name : {"mcpivot", "mcp-proxy", "supergateway"}) {
      if (const std::string why = missing(subject(name), place_); !why.empty()) {
        fmt::print("{} does not take part: {}\n", name, why);
        continue;
      }
      all.push_back({.name = name});
    }
    for (Contender& one : all) attempt(one, [&] { prepare(one); });
    const size_t rounds = options_.quick ? 3 : 7;
    for (size_t round = 0; round < rounds; ++round)
      for (size_t i = 0; i < all.size(); ++i)
        for (const auto& [row, size] : sizes) {
          Contender& one = all[(round + i) % all.size()];
          attempt(one, [&] { measure(one, row, size); });
        }
    report(all);
  }

  static constexpr std::pair<const char*, size_t> sizes[] = {{"200 B", 100}, {"10 KB", 10'000}};

  template <typename Do>
  static void attempt(Contender& one, Do what) {
    if (!one.failure.empty()) return;
    try {
      what();
    } catch (const Failure& failure) {
      one.failure = failure.what();
    }
  }

  void prepare(Contender& one) {
    if (one.name != "no proxy") one.running = start(one.name, {server()});
    const std::uint16_t port = one.running ? one.running->port() : daemon_port_;
    one.clients = std::make_unique<WebClients>(HttpAddress{.port = port});
    one.clients->open(32);
    // Node compiles what it runs often.
    one.clients->call_in_turn(milliseconds(options_.quick ? 500 : 1500), 100);
    if (!one.running) return;
    const auto servers = running_program(host::descendants_of(one.running->process()->pid()), server());
    fmt::print("{:14} {} server processes for 32 clients\n", one.name, servers.size());
  }

  void measure(Contender& one, const std::string& row, size_t size) const {
    const WebClients::Calls calls =
        one.clients->call_in_turn(milliseconds(options_.quick ? 300 : 1000), size);
    if (calls.lost() > 0) throw Failure(fmt::format("{} calls were lost: {}", calls.lost(), calls.problem));
    one.values[row + " calls/s"].push_back(calls.per_second());
    one.values[row + " p50, ms"].push_back(percentile(calls.times_us(), 0.5) / 1e3);
    one.values[row + " p99, ms"].push_back(percentile(calls.times_us(), 0.99) / 1e3);
  }

  static void report(const std::vector<Contender>& all) {
    fmt::print("\n{:20}", "medians");
    for (const Contender& one : all) fmt::print("{:>14}", one.name);
    fmt::print("\n");
    for (const auto& [size, bytes] : sizes)
      for (const char* what : {" calls/s", " p50, ms", " p99, ms"}) {
        const std::string row = std::string(size) + what;
        fmt::print("{:20}", row);
        for (const Contender& one : all)
          fmt::print("{:>14.{}f}", value_of(one, row), row.ends_with("/s") ? 0 : 2);
        fmt::print("\n");
      }
    fmt::print("\n");
    const auto& ours = *std::ranges::find(all, "mcpivot", &Contender::name);
    for (const Contender& one : all) {
      if (!one.failure.empty()) fmt::print("{}: {}\n", one.name, one.failure);
      if (&one == &ours) continue;
      for (const auto& [row, values] : one.values) {
        const double ratio = row.ends_with("/s") ? value_of(ours, row) / value_of(one, row)
                                                 : value_of(one, row) / value_of(ours, row);
        if (one.name == "no proxy" && row.ends_with("/s"))
          fmt::print("     {}: {:.2f} times as many as without a proxy\n", row, ratio);
        else if (one.name == "no proxy")
          fmt::print("     {}: {:.1f} times as long as without a proxy\n", row, 1 / ratio);
        else
          bar(ratio > 1, fmt::format("{}: ahead of {}: {:.1f} times", row, one.name, ratio));
      }
    }
    bar(ours.failure.empty(), "mcpivot answers every call");
  }

  static double value_of(const Contender& one, const std::string& row) {
    const auto found = one.values.find(row);
    return found == one.values.end() ? 0 : median(found->second);
  }

  // --- memory ----------------------------------------------------------------------------------------------

  void memory() {
    const size_t count = options_.quick ? 500 : 2000;
    say(fmt::format("memory of {} clients of a shared server that do nothing", count));
    const auto running = start("mcpivot", {server()});
    const pid_t pid = running->process()->pid();
    WebClients others({.port = running->port()});
    others.open(50);
    others.call_at_pace(1000, milliseconds(500), {});
    const long before = host::rss_kb(pid);
    WebClients clients({.port = running->port()});
    const auto weigh = [&](std::string_view what) {
      clients.wait(milliseconds(300));  // for what is written a little later
      const double each =
          static_cast<double>(host::rss_kb(pid) - before) * 1.024 / static_cast<double>(count);
      bar(each < most_idle_kb, fmt::format("{}: {:.1f} KB each, under {:.0f}", what, each, most_idle_kb));
    };
    clients.open(count);
    weigh("after the handshake");
    clients.call_at_pace(static_cast<double>(count), milliseconds(1100), {});
    weigh("after a call of each");
    clients.listen();
    weigh("with an open stream each");
    fmt::print("mcpivot in all: {:.1f} MB, {:.1f} MB before\n",
               static_cast<double>(host::rss_kb(pid)) * 1.024e-3, static_cast<double>(before) * 1.024e-3);
  }

  // --- leaks -----------------------------------------------------------------------------------------------

  void leaks() {
    const size_t count = options_.quick ? 1000 : 10'000;
    say(fmt::format("{} sessions are opened and left, twice; --session-idle 1s", count));
    // What the server lists is already known, so that it isn't started for clients that only look.
    const fs::path cache = place_.scratch / "cache";
    setenv("XDG_CACHE_HOME", cache.c_str(), 1);
    const std::uint16_t port = host::free_port();
    const auto process = descriptors_.as_usual([&] {
      return std::make_unique<ProcessTree>(
          std::vector<std::string>{place_.programs / "mcpivot", "serve", "--listen",
                                   fmt::format("127.0.0.1:{}", port), "--log", "/dev/null", "--session-idle",
                                   "1s", "--", server()},
          ProcessTree::Ends::none);
    });
    http_front({.port = port}, Clock::now() + seconds(5));
    const pid_t pid = process->pid();
    come_and_go(port, 100);  // what is opened once and kept
    settle(pid, 0);
    const size_t descriptors = host::open_fds(pid);
    const size_t processes = host::descendants_of(pid).size();
    std::vector<double> megabytes;
    for (int round = 1; round <= 2; ++round) {
      const auto begin = Clock::now();
      come_and_go(port, count);
      const double opened = ms_since(begin) / 1e3;
      const double peak = static_cast<double>(host::rss_kb(pid)) * 1.024e-3;
      settle(pid, descriptors);
      megabytes.push_back(static_cast<double>(host::rss_kb(pid)) * 1.024e-3);
      fmt::print("round {}: {:.1f} s to open them; {:.1f} MB then, {:.1f} MB when they had gone\n", round,
                 opened, peak, megabytes.back());
      bar(host::open_fds(pid) <= descriptors,
          fmt::format("descriptors as before: {}, {} before", host::open_fds(pid), descriptors));
      bar(host::descendants_of(pid).size() <= processes,
          fmt::format("processes as before: {}, {} before", host::descendants_of(pid).size(), processes));
    }
    bar(megabytes[1] <= most_growth * megabytes[0],
        fmt::format("memory after the second {} within 10% of the first: {:.1f} MB, {:.1f} MB", count,
                    megabytes[1], megabytes[0]));
  }

  // In batches: of each ten, some listen, of which some are cut off, and some vanish; some have called.
  static void come_and_go(std::uint16_t port, size_t count) {
    const size_t part = 200;
    for (size_t done = 0; done < count; done += part) {
      WebClients clients({.port = port});
      clients.open(std::min(part, count - done));
      const size_t kind = done / part % 5;
      if (kind == 1) clients.listen();
      if (kind == 2) clients.listen();
      if (kind == 3) clients.listen(clients.size() / 2);
      // Twenty of these have their own server for a while.
      if (kind == 4 && done / part % 10 == 4) clients.call_at_pace(200, milliseconds(100), {});
      clients.leave(kind == 1   ? WebClients::Farewell::silent
                    : kind == 2 ? WebClients::Farewell::reset
                                : WebClients::Farewell::proper);
    }
  }

  // A client that vanished is noticed when the next keep-alive can't be delivered.
  static void settle(pid_t pid, size_t descriptors) {
    const auto deadline = Clock::now() + seconds(40);
    while (Clock::now() < deadline && descriptors > 0 && host::open_fds(pid) > descriptors) usleep(100'000);
    // The last sessions end after their second of idleness, and nothing shows from outside when their memory
    // has been freed.
    usleep(3'000'000);
  }

  const Options& options_;
  const Place& place_;
  const std::vector<Subject> subjects_;
  const Descriptors descriptors_;
  const std::uint16_t daemon_port_ = host::free_port();
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
  try {
    ServeBench(options, place).run();
  } catch (const Failure& failure) {
    bar(false, failure.what());
  }
  fmt::print("\nthis took {:.0f} s\n", ms_since(begin) / 1e3);
  return options.check && !bar.all_cleared() ? 1 : 0;
}
