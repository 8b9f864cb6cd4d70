// Breaks everything around mcpivot on purpose, while a client works through it, and tells which promises
// held.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <random>
#include <sstream>

#include "client.h"
#include "faults.h"
#include "oracle.h"
#include "plan.h"
#include "world.h"

namespace {

using namespace chaos;

constexpr int usage_error = 2;

struct Options {
  std::uint64_t seed = std::random_device()();
  long seconds = 60;
  std::string replay{};
  std::string trace = "chaos.trace";
  std::vector<std::string> only{};
  std::string era{};  // of the client; empty: the seed decides

  std::string journal{};  // on or off; empty: the seed decides

  bool has_journal() const { return journal.empty() ? seed / 4 % 2 == 1 : journal == "on"; }
  bool modern() const { return era.empty() ? seed / 2 % 2 == 1 : era == "modern"; }
};

std::string usage() {
  return "usage: chaos [--seconds N] [--seed S] [--era ERA] [--journal on|off] [--only FAULT]… [--replay "
         "FILE] [--trace FILE]\n\n"
         "A client works through mcpivot with six servers behind it (processes of both protocol eras, an "
         "HTTP\n"
         "daemon, a CLI), while everything around it breaks. Then each promise is judged. Exit code 1: one "
         "was\n"
         "broken.\n\n"
         "  --seconds N    how long (60)\n"
         "  --seed S       decides what happens when (random, and printed)\n"
         "  --era ERA      the client's: legacy or modern (the seed decides)\n"
         "  --journal HOW  on or off: whether mcpivot writes its journal (the seed decides)\n"
         "  --only FAULT   only faults of that kind (repeatable)\n"
         "  --replay FILE  what is in this file, instead of what a seed gives: a trace, or part of one\n"
         "  --trace FILE   where to write what happened if a promise was broken (chaos.trace)\n\n"
         "Faults:\n" +
         Tormentor::help();
}

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    if (name == "--help" || name == "-h") {
      std::cout << usage();
      std::exit(0);
    }
    if (i + 1 == arguments.size())
      throw std::runtime_error("no option " + name + ", or its value is missing");
    const std::string& value = arguments[++i];
    if (name == "--seconds")
      options.seconds = std::stol(value);
    else if (name == "--seed")
      options.seed = std::stoull(value);
    else if (name == "--replay")
      options.replay = value;
    else if (name == "--trace")
      options.trace = value;
    else if (name == "--era" && (value == "legacy" || value == "modern"))
      options.era = value;
    else if (name == "--journal" && (value == "on" || value == "off"))
      options.journal = value;
    else if (name == "--only")
      options.only.push_back(value);
    else
      throw std::runtime_error("no option " + name);
  }
  return options;
}

std::vector<Action> plan_for(const Options& options) {
  if (!options.replay.empty()) {
    if (!std::ifstream(options.replay)) throw std::runtime_error("cannot read " + options.replay);
    return from_text(harness::content_of(options.replay));
  }
  std::vector<Kind> faults = Tormentor::kinds();
  for (const std::string& name : options.only)
    if (std::ranges::find(faults, name, &Kind::what) == faults.end())
      throw std::runtime_error("no fault is called \"" + name + "\"; there are:\n" + Tormentor::help());
  if (!options.only.empty())
    std::erase_if(faults, [&](const Kind& kind) {
      return std::ranges::find(options.only, kind.what) == options.only.end();
    });
  return draw_plan(options.seed, options.seconds * 1000, harness::is_instrumented() ? 30 : 6, Client::kinds(),
                   faults);
}

// The names of servers come back with the end of everything; none of these promises belongs to one fault.
struct Aftermath {
  std::string promise;
  bool kept;
  std::string words;
};

class Run {
 public:
  Run(const Programs& programs, bool modern, bool journal)
      : journal_(journal),
        world_(programs, journal),
        client_(world_, oracle_, modern),
        tormentor_(world_, client_, oracle_) {}

  void play(const std::vector<Action>& plan) {
    client_.greet();
    warm_up();
    const long offset = world_.now();
    for (const Action& action : plan) {
      if (!wait_until(offset + action.at)) return;
      action.is_fault ? tormentor_.strike(action) : client_.make(action);
    }
    world_.heal();
    while (alive_ && !oracle_.is_over(world_.now())) wait_until(world_.now() + 20);
  }

  // What must be true once everything is quiet again.
  std::vector<Aftermath> end(bool by_kill) {
    std::vector<Aftermath> after;
    if (alive_) {
      after.push_back(recovers());
      after.push_back(lets_go());
      after.push_back(
          {"bounded memory", peak_ < memory_bound(), std::to_string(peak_ / 1024) + " MB at most"});
    }
    after.push_back(leaves_nobody(by_kill));
    if (journal_) after.push_back(journal_is_readable());
    return after;
  }

  World& world() { return world_; }
  Oracle& oracle() { return oracle_; }
  Tormentor& tormentor() { return tormentor_; }

 private:
  static long memory_bound() { return harness::is_instrumented() ? 2'000'000 : 120'000; }

  bool wait_until(long time) {
    while (alive_ && world_.now() < time) {
      world_.do_due();
      sample();
      if (!client_.listen(std::min(time, world_.next_deed()))) {
        oracle_.connection_ended(world_.now());
        alive_ = false;
      }
    }
    if (alive_) world_.do_due();
    return alive_;
  }

  void sample() {
    if (world_.now() < next_sample_) return;
    next_sample_ = world_.now() + 250;
    peak_ = std::max(peak_, harness::rss_kb(world_.pivot().pid()));
  }

  bool all_answer(long until) {
    const std::vector<std::pair<std::string, std::string>> tools = {{"alpha", "echo"}, {"beta", "echo"},
                                                                    {"gamma", "echo"}, {"daemon", "echo"},
                                                                    {"cli", "record"}, {"shape", "echo"}};
    for (const auto& [server, tool] : tools) {
      bool good = false;
      while (!good && alive_ && world_.now() < until) {
        const std::string id =
            client_.call("at the end", server, "pivot_call",
                         R"({"tool":")" + server + "__" + tool + R"(","arguments":{"token":"last"}})", true);
        while (alive_ && !oracle_.was_answered(id) && world_.now() < until) wait_until(world_.now() + 5);
        good = oracle_.was_answered(id) && !oracle_.request(id).is_failure;
        if (!good) wait_until(world_.now() + 50);
      }
      if (!good) {
        silent_ = server;
        return false;
      }
    }
    return true;
  }

  void warm_up() {
    if (!all_answer(world_.now() + 20'000))
      throw std::runtime_error("server " + silent_ + " does not answer at all");
    descriptors_ = harness::open_fds(world_.pivot().pid());
  }

  Aftermath recovers() {
    const long begin = world_.now();
    // A server that dies young is started again after at most 30 s.
    const bool all = all_answer(begin + 40'000);
    return {"all recover", all,
            all ? "every server answers after " + std::to_string(world_.now() - begin) + " ms"
                : "server " + silent_ + " does not answer"};
  }

  // One process for each server, and no more descriptors than before.
  Aftermath lets_go() {
    std::string wrong;
    const auto settled = [&] {
      client_.listen(world_.now() + 20);
      wrong.clear();
      for (const char* server : {"alpha", "beta", "gamma", "shape"})
        if (const auto size = world_.processes(server).size(); size > 1)
          wrong += std::to_string(size) + " processes of " + server + "; ";
      if (!world_.processes("extra").empty()) wrong += "a server that was removed runs; ";
      const std::size_t open = harness::open_fds(world_.pivot().pid());
      if (open > descriptors_ + 4)
        wrong += std::to_string(open) + " descriptors, " + std::to_string(descriptors_) + " at the start; ";
      return wrong.empty();
    };
    const long until = world_.now() + 15'000;
    while (!settled() && world_.now() < until) wait_until(world_.now() + 100);
    return {"nothing left open", wrong.empty(),
            wrong.empty() ? "processes and descriptors as at the start" : wrong};
  }

  Aftermath leaves_nobody(bool by_kill) {
    if (by_kill)
      kill(world_.pivot().pid(), SIGKILL);
    else
      world_.pivot().close_stdin();
    const auto status = world_.pivot().wait_exit(harness::in(std::chrono::seconds(15)));
    const bool clean = by_kill || (status && *status == 0);
    const bool gone =
        harness::wait_until([&] { return world_.leftovers().empty(); }, harness::in(std::chrono::seconds(5)));
    std::string words = by_kill ? "after kill -9: " : "after the end of stdin: ";
    if (!clean)
      words += status ? "mcpivot ended with status " + std::to_string(*status) + "; " : "mcpivot goes on; ";
    words += gone ? "no process left" : std::to_string(world_.leftovers().size()) + " processes left";
    return {"no orphans", clean && gone, words};
  }

  // Whatever happened to the disk and to mcpivot itself.
  Aftermath journal_is_readable() {
    const auto stats = world_.ask({"journal", "stats", "--json"});
    const bool good = stats && stats->find("\"calls\":") != std::string::npos;
    return {"the journal can be read", good, good ? "it has calls" : "mcpivot journal stats found no call"};
  }

  bool journal_;
  Oracle oracle_;
  World world_;
  Client client_;
  Tormentor tormentor_;
  bool alive_ = true;
  long next_sample_ = 0;
  long peak_ = 0;
  std::size_t descriptors_ = 0;
  std::string silent_;
};

int report(Run& run, const Options& options, const std::vector<Action>& plan,
           const std::vector<Aftermath>& after) {
  std::cout << run.oracle().summary() << "\n" << run.oracle().table() << "\n";
  for (const auto& [fault, why] : run.tormentor().not_run())
    std::cout << "NOT RUN: " << fault << ": " << why << "\n";
  bool kept = run.oracle().violations().empty();
  for (const Aftermath& one : after) {
    std::cout << (one.kept ? "kept    " : "BROKEN  ") << one.promise << ": " << one.words << "\n";
    kept = kept && one.kept;
  }
  std::size_t shown = 0;
  for (const Violation& broken : run.oracle().violations())
    if (++shown <= 20)
      std::cout << "BROKEN  " << name_of(broken.promise) << " at " << broken.at << " ms: " << broken.what
                << "\n";
  if (shown > 20) std::cout << "… and " << shown - 20 << " more\n";
  if (kept) {
    std::cout << "no promise was broken\n";
    return 0;
  }
  std::ofstream trace(options.trace);
  trace << "# seed " << options.seed << ", " << options.seconds << " s\n"
        << to_text(plan) << "# what happened\n"
        << run.oracle().trace() << "# mcpivot's stderr\n";
  std::istringstream said(run.world().pivot().stderr_text());
  for (std::string line; std::getline(said, line);) trace << "# " << line << "\n";
  const std::string era = std::string(options.modern() ? " --era modern" : " --era legacy") +
                          (options.has_journal() ? " --journal on" : " --journal off");
  std::cout << "Again, with the same seed: --seed " << options.seed << " --seconds " << options.seconds << era
            << "\nWhat happened is in " << options.trace
            << "; play it, or a part of it, again with: --replay " << options.trace << era << "\n";
  return 1;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = read_options({argv + 1, argv + argc});
    const std::vector<Action> plan = plan_for(options);
    std::cout << "chaos: seed " << options.seed << ", " << (options.modern() ? "modern" : "legacy")
              << " client, " << (options.has_journal() ? "journal, " : "") << options.seconds << " s, "
              << std::ranges::count_if(plan, &Action::is_fault) << " faults, "
              << std::ranges::count_if(plan, [](const Action& action) { return !action.is_fault; })
              << " requests" << std::endl;
    Run run({harness::mcpivot_binary(), harness::fake_server_binary(), harness::fake_daemon_binary(),
             harness::fake_cli_binary()},
            options.modern(), options.has_journal());
    run.play(plan);
    const auto executed = run.world().executed();
    const auto after = run.end(options.seed % 2 == 1);
    run.oracle().judge(executed, run.world().now());
    return report(run, options, plan, after);
  } catch (const std::exception& error) {
    std::cerr << "chaos: " << error.what() << "\n";
    return usage_error;
  }
}
