// Runs the core of mcpivot in a simulated world, in virtual time, from a seed; when a promise is broken,
// finds the shortest plan that breaks it.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <random>
#include <sstream>

#include "client.h"
#include "forked.h"
#include "oracle.h"
#include "plan.h"
#include "stage.h"

namespace {

using namespace simulation;

constexpr int usage_error = 2;

constexpr std::string_view usage =
    R"(usage: simulate [--seed S] [--events N] [--minutes M] [--keep FILE]
       simulate --replay FILE…
       simulate --again [--seed S] [--events N]
       simulate --apart [--seed S] [--events N] [--minutes M]

Plays seed after seed: the real gateway, session and servers between a simulated client and a simulated world,
in virtual time. Exit code 1: a promise was broken; then the plan is cut down to what it takes to break it.

  --seed S       the first seed (random, and printed); with no --minutes, the only one
  --events N     about how many messages, alarms and deaths a seed makes (20000)
  --minutes M    for how long (1, if no seed is given)
  --keep FILE    where to write a plan that fails (simulation.failure)
  --replay FILE  plays what is in these files or folders, instead of what a seed gives
  --again        plays seeds twice, and compares all that was said
  --apart        plays seeds with and without guests, and compares all that the client was told
  --visits       tells which steps were taken in servers' lives and what was done when, and what never was
  --trace        with --replay, prints all that is said and logged
  --no-shrink    leaves a plan that fails as it is
)";

struct Options {
  std::optional<std::uint64_t> seed;
  int events = 20'000;
  std::optional<double> minutes;
  std::string keep = "simulation.failure";
  std::vector<std::string> replay;
  bool again = false;
  bool apart = false;
  bool visits = false;
  bool shrink = true;
};

Options read_options(const std::vector<std::string>& arguments) {
  Options options;
  bool replaying = false;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    const std::string& name = arguments[i];
    const auto value = [&] {
      if (i + 1 == arguments.size()) throw std::runtime_error(name + " needs a value");
      return arguments[++i];
    };
    if (name == "--help" || name == "-h") {
      std::cout << usage;
      std::exit(0);
    }
    if (name == "--seed")
      options.seed = std::stoull(value());
    else if (name == "--events")
      options.events = std::stoi(value());
    else if (name == "--minutes")
      options.minutes = std::stod(value());
    else if (name == "--keep")
      options.keep = value();
    else if (name == "--again")
      options.again = true;
    else if (name == "--apart")
      options.apart = true;
    else if (name == "--visits")
      options.visits = true;
    else if (name == "--trace")
      Oracle::tracing = true;
    else if (name == "--no-shrink")
      options.shrink = false;
    else if (name == "--replay")
      replaying = true;
    else if (replaying && !name.starts_with("-"))
      options.replay.push_back(name);
    else
      throw std::runtime_error("no option " + name);
  }
  if (replaying && options.replay.empty()) throw std::runtime_error("--replay needs a file");
  return options;
}

Plan plan_in(const std::filesystem::path& file) {
  std::ifstream stream(file);
  if (!stream) throw std::runtime_error("cannot read " + file.string());
  std::stringstream text;
  text << stream.rdbuf();
  return from_text(text.str());
}

// Reports a failure: the shortest plan that shows it, and how to replay it.
int report(const Options& options, const Plan& plan, std::string failure) {
  std::cout << "BROKEN " << failure << std::endl;
  Plan shortest = plan;
  if (options.shrink) {
    std::cout << "cutting the plan down" << std::flush;
    shortest = shrunk(plan, failure, [](std::size_t left) { std::cout << " " << left << std::flush; });
    failure = failure_of(shortest);
    std::cout << "\n\n# " << failure << "\n" << to_text(shortest);
  }
  std::ofstream(options.keep) << "# " << failure.substr(0, failure.find('\n')) << "\n" << to_text(shortest);
  std::cout << "\nPlay it again with: simulate --replay " << options.keep
            << "\nWhen it is fixed, keep it in tests/simulation/scenarios/." << std::endl;
  return 1;
}

int replay(const Options& options) {
  std::vector<std::filesystem::path> files;
  for (const std::string& name : options.replay) {
    if (!std::filesystem::is_directory(name)) {
      files.emplace_back(name);
      continue;
    }
    for (const auto& entry : std::filesystem::directory_iterator(name))
      if (entry.path().extension() == ".scenario") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  int failed = 0;
  for (const auto& file : files) {
    const std::string failure = failure_of(plan_in(file));
    std::cout << (failure.empty() ? "kept    " : "BROKEN  ") << file.filename().string()
              << (failure.empty() ? "" : ": " + failure) << "\n";
    failed += failure.empty() ? 0 : 1;
  }
  std::cout << files.size() << " played, " << failed << " broken\n";
  return failed == 0 && !files.empty() ? 0 : 1;
}

// The same seed gives the same run, byte for byte.
int play_again(const Options& options, std::uint64_t first) {
  constexpr std::uint64_t seeds = 5;
  Visits visits;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    const Plan plan = draw_plan(seed, options.events);
    const Verdict one = play(plan, visits);
    const Verdict two = play(from_text(to_text(plan)), visits);
    const bool same = one.hash == two.hash && one.events == two.events;
    std::cout << fmt::format("seed {}: {} events, {:016x}; again: {} events, {:016x}{}\n", seed, one.events,
                             one.hash, two.events, two.hash, same ? "" : ": DIFFERENT");
    if (!same) return 1;
  }
  return 0;
}

// What one client is told doesn't depend on whether others are there, as long as they share no server.
int play_apart(const Options& options, std::uint64_t first) {
  Client::keeps_transcript = true;
  const auto began = std::chrono::steady_clock::now();
  const std::chrono::duration<double> time(options.minutes.value_or(0.2) * 60);
  Visits visits;
  std::uint64_t seed = first;
  do {
    const Plan plan = draw_plan_apart(seed, options.events);
    const Verdict with_guests = play(plan, visits);
    const Verdict without = play(without_guests(plan), visits);
    for (const Verdict* verdict : {&with_guests, &without})
      if (!verdict->ok()) return report(options, plan, verdict->broken.front());
    const std::string& together = with_guests.transcript;
    const std::string& alone = without.transcript;
    if (together != alone) {
      const auto at = std::ranges::mismatch(together, alone).in1 - together.begin();
      const auto line = [&](const std::string& text) {
        const auto begin =
            text.rfind('\n', static_cast<std::size_t>(std::max<std::ptrdiff_t>(at - 1, 0))) + 1;
        return text.substr(begin, std::min<std::size_t>(text.find('\n', begin) - begin, 1'000));
      };
      std::ofstream(options.keep) << to_text(plan);
      std::cout << fmt::format(
          "BROKEN seed {}: with guests the client is told something else (plan in {})\ntogether: {}\nalone:  "
          "  "
          "{}\n",
          seed, options.keep, line(together), line(alone));
      return 1;
    }
    ++seed;
  } while (std::chrono::steady_clock::now() - began < time);
  std::cout << fmt::format("{} seeds: the client is told the same with guests and without\n", seed - first);
  return 0;
}

int play_seeds_of(const Options& options, std::uint64_t first) {
  const double minutes = options.minutes.value_or(options.seed ? 0.0 : 1.0);
  std::cout << fmt::format("simulate: from seed {}, {} events each, for {} min\n", first, options.events,
                           minutes)
            << std::flush;
  Progress progress;
  const bool good = play_seeds(first, options.events, std::max(minutes * 60, 1e-3), progress);
  std::cout << fmt::format("{} seeds, {} events in {:.1f} s: {:.0f} a second\n", progress.seeds,
                           progress.events, progress.seconds,
                           static_cast<double>(progress.events) / std::max(progress.seconds, 1e-9));
  if (options.visits) std::cout << progress.visits.table() << progress.visits.never();
  std::cout << progress.visits.summary();
  if (good) {
    std::cout << "no promise was broken\n";
    return 0;
  }
  const Plan plan = draw_plan(progress.seed, options.events);
  std::cout << fmt::format("seed {} fails: ", progress.seed) << std::flush;
  std::string failure = failure_of(plan);
  if (failure.empty()) failure = "not when it is played alone";
  return report(options, plan, failure);
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const Options options = read_options({argv + 1, argv + argc});
    if (!options.replay.empty()) return replay(options);
    const std::uint64_t first = options.seed.value_or(std::random_device()());
    if (options.apart) return play_apart(options, first);
    return options.again ? play_again(options, first) : play_seeds_of(options, first);
  } catch (const std::exception& error) {
    std::cerr << "simulate: " << error.what() << "\n";
    return usage_error;
  }
}
