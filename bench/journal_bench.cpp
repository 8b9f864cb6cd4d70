// What does the journal cost? Two questions, and the project's bars for them: how much longer a call takes at
// 1,000 calls a second while the journal is written on another core, and whether 50,000 messages a second are
// written without a gap.
#include <dirent.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/resource.h>
#include <time.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "bars.h"
#include "client.h"
#include "cores.h"
#include "host/temporary_directory.h"
#include "journal/journal_reader.h"
#include "journal/journal_writer.h"
#include "journal/recent_calls.h"
#include "options.h"
#include "times.h"

namespace {

namespace fs = std::filesystem;

constexpr double most_slower = 1.05;
constexpr std::size_t messages_a_second = 50'000;
constexpr auto pace = std::chrono::milliseconds(1);

void sleep_until(Clock::time_point time) {
  const auto since = std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
  const timespec when{.tv_sec = since / 1'000'000'000, .tv_nsec = since % 1'000'000'000};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &when, nullptr) == EINTR) {
  }
}

// The journal's thread gets every core except that of the calls. False: there is no such thread.
bool move_writer(pid_t pid, int core) {
  bool moved = false;
  for (const auto& task : fs::directory_iterator(fmt::format("/proc/{}/task", pid))) {
    std::string name;
    std::getline(std::ifstream(task.path() / "comm"), name);
    if (name != "journal") continue;
    cpu_set_t others;
    CPU_ZERO(&others);
    for (int i = 0; i < CPU_SETSIZE; ++i)
      if (i != core) CPU_SET(i, &others);
    moved = ::sched_setaffinity(std::stoi(task.path().filename()), sizeof others, &others) == 0;
  }
  return moved;
}

// Of rounds, in each of which every client makes the same calls: medians of a round, and of all rounds.
struct Latency {
  double without = 0;  // us
  double with = 0;
  double slower = 0;   // as a factor
  double control = 0;  // the same factor between two clients without a journal: what chance can do here
};

constexpr int calls_of_round = 110;
constexpr int cold_calls = 10;  // the first ones find cold caches

double median_of_round(Client& client) {
  std::vector<double> times;
  Clock::time_point next = Clock::now();
  for (int i = 0; i < calls_of_round; ++i) {
    sleep_until(next += pace);
    const double time = microseconds(client.call_with_text());
    if (i >= cold_calls) times.push_back(time);
  }
  return median(times);
}

// What else the machine does changes from moment to moment, so only rounds are compared that follow one
// another, in changing order. How fast a process is depends on where its memory happens to lie, so there are
// several.
Latency measure_latency(const fs::path& folder, std::size_t processes, std::size_t rounds) {
  const Cores cores;
  cores.use_one();
  const std::string pivot = folder / "mcpivot";
  const std::vector<std::string> command{"--no-watch", "--log", "/dev/null", "--", folder / "echo_server"};
  const auto start = [&](const std::vector<std::string>& program) {
    std::vector<std::string> all = program;
    all.insert(all.end(), command.begin(), command.end());
    auto client = std::make_unique<Client>(all);
    client->finish_handshake();
    return client;
  };
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> slower;
  std::vector<double> control;
  for (std::size_t process = 0; process < processes; ++process) {
    deadline::arm();
    const std::array clients{start({pivot}), start({pivot, "--journal"}), start({pivot})};
    if (!move_writer(clients[1]->pid(), cores.chosen()))
      throw SubjectError("mcpivot has no thread for its journal");
    for (std::size_t round = 0; round < rounds; ++round) {
      deadline::arm();
      std::array<double, clients.size()> times{};
      for (std::size_t i = 0; i < clients.size(); ++i) {
        const std::size_t turn = (i + round) % clients.size();
        times[turn] = median_of_round(*clients[turn]);
      }
      without.push_back((times[0] + times[2]) / 2);
      with.push_back(times[1]);
      slower.push_back(with.back() / without.back());
      control.push_back(times[2] / times[0]);
    }
  }
  cores.use_all();
  return {median(without), median(with), median(slower), median(control)};
}

struct Throughput {
  std::size_t messages = 0;
  std::uint64_t missing = 0;
  bool complete = false;
  double seconds = 0;  // to write all of them
  double busy = 0;     // of these, in which the thread had a core
};

double seconds_of(const rusage& use) {
  const auto of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return of(use.ru_utime) + of(use.ru_stime);
}

// What all other threads have computed.
double others_busy() {
  rusage all{};
  rusage own{};
  ::getrusage(RUSAGE_SELF, &all);
  ::getrusage(RUSAGE_THREAD, &own);
  return seconds_of(all) - seconds_of(own);
}

// What the event loop would put into the queue, at that pace; 0: as fast as it can. As in mcpivot, the writer
// has secrets to look for, and tells which calls have ended.
Throughput measure_writer(const std::string& folder, std::size_t messages, std::size_t a_second) {
  using namespace mcpivot;
  std::vector<Secret> secrets;
  for (int i = 0; i < 5; ++i)
    secrets.push_back({fmt::format("KEY_{}", i), fmt::format("{}-is-the-secret", i)});
  RecentCalls recent;
  auto writer = std::make_shared<JournalWriter>(
      JournalSettings{.folder = folder, .name = "bench", .redactor = Redactor(std::move(secrets), {})},
      [](std::string) {},
      [&](const CallBook::Ended& ended) { recent.add(ended.call, ended.arguments, ended.answer); });
  writer->start();
  JournalQueue& queue = writer->queue();
  const auto put = [&](const JournalEntry::Head& head, std::string_view id, std::string_view server,
                       std::string_view text) {
    JournalEntry::Head whole = head;
    whole.when =
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
    whole.size = text.size();
    whole.id_size = static_cast<std::uint32_t>(id.size());
    whole.server_size = static_cast<std::uint32_t>(server.size());
    whole.text_size = static_cast<std::uint32_t>(text.size());
    char* at = queue.room(whole);
    if (at == nullptr) return;
    for (const std::string_view part : {id, server, text}) {
      std::memcpy(at, part.data(), part.size());
      at += part.size();
    }
    queue.publish();
    if (queue.is_asleep()) writer->wake();
  };
  using enum JournalEntry::Way;
  const double busy_before = others_busy();
  const auto begin = Clock::now();
  Clock::time_point next = begin;
  for (std::size_t i = 0; i < messages / 4; ++i) {
    const std::string id = std::to_string(i);
    const auto pair = static_cast<std::int64_t>(i + 1);
    const JournalEntry::Generation generation{.client = 1, .instance = 1, .number = 1, .birth = 1};
    const std::string request = fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"echo","arguments":{{"text":"call {:010}: )"
        R"(grep -n \"TODO\" src/link/stdio.cpp src/rpc/message.cpp; then tell me why it fails"}}}}}})",
        id, i);
    const std::string answer = fmt::format(
        R"({{"jsonrpc":"2.0","id":{},"result":{{"content":[{{"type":"text","text":"call {:010}: )"
        R"(grep -n \"TODO\" src/link/stdio.cpp src/rpc/message.cpp; then tell me why it fails"}}]}}}})",
        pair, i);
    put({.way = from_client, .kind = JournalEntry::Kind::request, .client = 1}, id, "", request);
    put({.way = to_server,
         .kind = JournalEntry::Kind::request,
         .same = true,
         .client = 1,
         .generation = generation,
         .pair = pair},
        id, "echo_server", "");
    put({.way = from_server, .kind = JournalEntry::Kind::result, .generation = generation, .pair = pair}, id,
        "echo_server", answer);
    put({.way = to_client,
         .kind = JournalEntry::Kind::result,
         .same = true,
         .client = 1,
         .generation = generation,
         .pair = pair},
        id, "", "");
    // In bursts of a millisecond.
    if (a_second > 0 && i % (a_second / 4000) == 0) sleep_until(next += pace);
  }
  Throughput result{.messages = messages / 4 * 4};
  result.complete = writer->close(std::chrono::seconds(60));
  result.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  result.busy = others_busy() - busy_before;
  if (const auto reader = JournalReader::open(folder)) result.missing = reader->missing();
  return result;
}

}  // namespace

int main(int argc, char** argv) {
  const UsualOptions options = usual_options("journal_bench", argc, argv);
  const host::TemporaryDirectory home;
  for (const char* name : {"XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME"})
    ::setenv(name, (home.path() / name).c_str(), 1);
  const fs::path folder = fs::canonical("/proc/self/exe").parent_path();
  deadline::install();
  try {
    Bars bar;
    const Latency latency = options.quick ? measure_latency(folder, 2, 6) : measure_latency(folder, 6, 15);
    fmt::print(
        "a call at 1,000 a second, p50: {:.1f} us without the journal, {:.1f} us with it: {:+.1f}%\n"
        "  (two mcpivots without it, compared in the same way: {:+.1f}%)\n",
        latency.without, latency.with, (latency.slower - 1) * 100, (latency.control - 1) * 100);
    const std::size_t seconds = options.quick ? 2 : 10;
    const Throughput paced =
        measure_writer(home.path() / "paced", messages_a_second * seconds, messages_a_second);
    const auto written = static_cast<double>(paced.messages - paced.missing);
    fmt::print("{} messages at 50,000 a second: {} missing; the writer computed {:.1f} us for each\n",
               paced.messages, paced.missing, paced.busy / written * 1e6);
    const Throughput fast = measure_writer(home.path() / "fast", 200'000, 0);
    fmt::print("{} messages at once: written in {:.2f} s ({:.0f} a second), {} missing\n", fast.messages,
               fast.seconds, static_cast<double>(fast.messages - fast.missing) / fast.seconds, fast.missing);
    bar(latency.slower <= most_slower, "p50 at most 5% more, with the writer on another core");
    bar(paced.missing == 0 && paced.complete, "50,000 messages a second without a gap");
    return options.check && !bar.all_cleared() ? 1 : 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "journal_bench: {}\n", error.what());
    return 1;
  }
}
