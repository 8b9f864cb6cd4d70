// Runs the contest: which subjects take part, what is measured of them, and in which order, so that a noisy
// machine treats them all alike. In every round each subject has its turn, and each round begins with
// another.
#pragma once

#include <array>
#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "client.h"
#include "cores.h"

enum class Row : size_t {
  round_trip_p50,
  round_trip_p99,
  stream,
  medium_result,
  large_result,
  memory_idle,
  memory_after_stream,
  memory_after_medium,
  memory_after_large,
  memory_peak,
  start,
};

struct RowInfo {
  Row row;
  std::string_view key;  // in the JSON file
  std::string_view label;
  std::string_view unit;
  int decimals;
  bool more_is_better;
};

constexpr std::array<RowInfo, 11> rows = {{
    {Row::round_trip_p50, "round_trip_p50_us", "200 B round trip, p50", "µs", 1, false},
    {Row::round_trip_p99, "round_trip_p99_us", "200 B round trip, p99", "µs", 1, false},
    {Row::stream, "stream_calls_per_s", "stream, 64 in flight", "calls/s", 0, true},
    {Row::medium_result, "result_60kb_p50_us", "60 KB result, p50", "µs", 1, false},
    {Row::large_result, "result_5mb_p50_us", "5 MB result, p50", "µs", 0, false},
    {Row::memory_idle, "memory_idle_mb", "memory, idle", "MB", 1, false},
    {Row::memory_after_stream, "memory_after_stream_mb", "memory after the stream", "MB", 1, false},
    {Row::memory_after_medium, "memory_after_60kb_mb", "memory after 60 KB results", "MB", 1, false},
    {Row::memory_after_large, "memory_after_5mb_mb", "memory after 5 MB results", "MB", 1, false},
    {Row::memory_peak, "memory_peak_mb", "memory, peak", "MB", 1, false},
    {Row::start, "start_ms", "start to initialize answer", "ms", 2, false},
}};

// One column of the table.
struct Contestant {
  std::string name;
  std::vector<std::string> command;
  bool is_proxy = true;  // the server alone has no memory rows
  bool installed = true;
  std::string failure;             // why it was removed from the contest; empty: it wasn't
  std::string helpers;             // the processes that it runs besides the server
  std::unique_ptr<Client> client;  // while a pass runs
  std::map<Row, std::vector<double>> samples;

  bool takes_part() const { return installed && failure.empty(); }
  // The median of all rounds.
  std::optional<double> value(Row row) const;
};

// How much work is done: `passes` lives of every subject, and in each of them `rounds` rounds of each row.
struct Plan {
  size_t passes = 3;
  size_t rounds = 10;
};

// Measures all contestants. One that misbehaves gets its `failure` and is omitted from then on.
void run_contest(std::vector<Contestant>& contestants, const Plan& plan, const Cores& cores,
                 const std::filesystem::path& server);
