// The order of the contest, and what each turn in it does.
#include "contest.h"

#include <fmt/format.h>

#include <chrono>
#include <functional>
#include <thread>

#include "memory.h"
#include "times.h"

namespace {

constexpr size_t in_flight = 64;
// Sizes of the text: with its escapes the answer has 60 KB, 5 MB. (60 KB must not come near the 64 KiB of a
// pipe, where a page more or less would decide the row.)
constexpr size_t medium_size = 56'000;
constexpr size_t large_size = 4'670'000;

// What one turn of one subject does. The warm-up is not counted: the turn before left the caches to another.
constexpr size_t text_calls = 1000;
constexpr size_t text_warm_up = 50;
constexpr size_t stream_calls = 8000;
constexpr size_t stream_warm_up = 500;
constexpr size_t medium_calls = 60;
constexpr size_t medium_warm_up = 5;
constexpr size_t large_calls = 4;
constexpr size_t large_warm_up = 1;

// Idle is a program that has finished starting: for all of them, this long after the handshake.
constexpr std::chrono::seconds until_idle{3};

using Turn = std::function<void(Contestant&)>;
using Samples = std::vector<double>;

// One after the other, starting with another one in each round. A subject that fails leaves the contest.
void give_turns(std::vector<Contestant>& contestants, size_t round, const Turn& turn) {
  for (size_t i = 0; i < contestants.size(); ++i) {
    Contestant& contestant = contestants[(round + i) % contestants.size()];
    if (!contestant.takes_part()) continue;
    deadline::arm();
    try {
      turn(contestant);
    } catch (const SubjectError& error) {
      contestant.failure = error.what();
      contestant.client.reset();
    }
  }
}

void give_rounds(std::vector<Contestant>& contestants, size_t rounds, const Turn& turn) {
  for (size_t round = 0; round < rounds; ++round) give_turns(contestants, round, turn);
}

template <typename Call>
Samples timed_calls(size_t warm_up, size_t calls, Call call) {
  Samples samples;
  samples.reserve(calls);
  for (size_t i = 0; i < warm_up; ++i) call();
  for (size_t i = 0; i < calls; ++i) samples.push_back(microseconds(call()));
  return samples;
}

void measure_start(Contestant& contestant) {
  const Client client(contestant.command);
  contestant.samples[Row::start].push_back(microseconds(client.start_time()) / 1e3);
}

void measure_round_trips(Contestant& contestant) {
  const Samples samples =
      timed_calls(text_warm_up, text_calls, [&] { return contestant.client->call_with_text(); });
  contestant.samples[Row::round_trip_p50].push_back(median(samples));
  contestant.samples[Row::round_trip_p99].push_back(percentile(samples, 0.99));
}

void measure_stream(Contestant& contestant) {
  contestant.client->stream(stream_warm_up, in_flight);
  const double duration = microseconds(contestant.client->stream(stream_calls, in_flight));
  contestant.samples[Row::stream].push_back(static_cast<double>(stream_calls) / duration * 1e6);
}

void measure_medium_results(Contestant& contestant) {
  const Samples samples = timed_calls(medium_warm_up, medium_calls,
                                      [&] { return contestant.client->call_for_size(medium_size); });
  contestant.samples[Row::medium_result].push_back(median(samples));
}

void measure_large_results(Contestant& contestant) {
  const Samples samples =
      timed_calls(large_warm_up, large_calls, [&] { return contestant.client->call_for_size(large_size); });
  contestant.samples[Row::large_result].push_back(median(samples));
}

void measure_memory(std::vector<Contestant>& contestants, Row row) {
  for (Contestant& contestant : contestants) {
    if (!contestant.takes_part() || !contestant.is_proxy) continue;
    const Memory memory = memory_of(contestant.client->pid());
    contestant.samples[row].push_back(row == Row::memory_peak ? memory.peak : memory.now);
  }
}

void note_helpers(std::vector<Contestant>& contestants, const std::filesystem::path& server) {
  for (Contestant& contestant : contestants) {
    if (!contestant.takes_part() || !contestant.is_proxy) continue;
    contestant.helpers.clear();
    for (const Helper& helper : helpers_of(contestant.client->pid(), server))
      contestant.helpers +=
          fmt::format("{}{} ({:.1f} MB)", contestant.helpers.empty() ? "" : ", ", helper.name, helper.memory);
  }
}

void start_all(std::vector<Contestant>& contestants) {
  give_turns(contestants, 0, [](Contestant& contestant) {
    contestant.client = std::make_unique<Client>(contestant.command);
    contestant.client->finish_handshake();
  });
}

// One life of every subject.
void run_pass(std::vector<Contestant>& contestants, size_t rounds, const std::filesystem::path& server) {
  start_all(contestants);
  std::this_thread::sleep_for(until_idle);
  measure_memory(contestants, Row::memory_idle);
  give_rounds(contestants, rounds, measure_round_trips);
  give_rounds(contestants, rounds, measure_stream);
  measure_memory(contestants, Row::memory_after_stream);
  give_rounds(contestants, rounds, measure_medium_results);
  measure_memory(contestants, Row::memory_after_medium);
  give_rounds(contestants, rounds, measure_large_results);
  measure_memory(contestants, Row::memory_after_large);
  measure_memory(contestants, Row::memory_peak);
  note_helpers(contestants, server);
  for (Contestant& contestant : contestants) contestant.client.reset();
}

}  // namespace

std::optional<double> Contestant::value(Row row) const {
  const auto found = samples.find(row);
  if (found == samples.end() || found->second.empty()) return std::nullopt;
  return median(found->second);
}

void run_contest(std::vector<Contestant>& contestants, const Plan& plan, const Cores& cores,
                 const std::filesystem::path& server) {
  deadline::install();
  for (size_t pass = 0; pass < plan.passes; ++pass) {
    fmt::print(stderr, "measuring, pass {} of {}\n", pass + 1, plan.passes);
    cores.use_all();
    give_rounds(contestants, plan.rounds, measure_start);
    cores.use_one();
    run_pass(contestants, plan.rounds, server);
  }
}
