// What do fifty servers with forty tools each cost behind one mcpivot? How long until all are ready, compared
// with the start of one; how long `tools/list` takes with all of them active; what it costs to find the right
// one of fifty for a call, compared with an mcpivot with one server; and how much memory mcpivot needs.
//
// For the calls, all processes share one core and the contestants take turns, call by call. A second mcpivot
// with one server shows what difference is noise.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "cores.h"
#include "host/temporary_directory.h"
#include "memory.h"
#include "options.h"
#include "subject.h"
#include "times.h"

namespace {

namespace fs = std::filesystem;

constexpr int servers = 50;
constexpr int tools = 40;
constexpr int start_ms = 300;

constexpr double most_list_ms = 5;
constexpr double most_extra_us = 2;
constexpr double most_megabytes = 40;
constexpr double most_hello_ms = 10;
constexpr double most_start_share = 1.2;

std::size_t count(std::string_view text, std::string_view part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string_view::npos; at = text.find(part, at + part.size()))
    ++found;
  return found;
}

// The simplest kind of client: it asks one thing at a time.
class Asker {
 public:
  explicit Asker(const std::vector<std::string>& command) : subject_(command) {}

  void shake_hands() {
    ask("initialize",
        R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}})");
    hello_ms_ = ms(Clock::now() - began_);
    subject_.send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})"
                  "\n");
  }

  pid_t pid() const { return subject_.pid(); }
  // From exec to the answer of `initialize`.
  double hello_ms() const { return hello_ms_; }

  // The complete line of the answer; valid until the next one.
  std::string_view ask(std::string_view method, std::string_view params) {
    return exchange(fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})"
                                "\n",
                                ++id_, method, params));
  }
  std::string_view call(std::string_view tool, std::string_view arguments) {
    return ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
  }

  // In microseconds, from the write to the read of the answer, which must be the right one.
  double timed_call(std::string_view tool) {
    const std::string text = fmt::format("number {}", ++id_);
    const std::string line =
        fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"tools/call","params":{{"name":"{}",)"
                    R"("arguments":{{"text":"{}"}}}}}})"
                    "\n",
                    id_, tool, text);
    const auto began = Clock::now();
    const std::string_view answer = exchange(line);
    const double took = 1000 * ms(Clock::now() - began);
    if (answer.find(fmt::format(R"("text":"{}")", text)) == std::string_view::npos)
      throw SubjectError(fmt::format("a wrong answer: {}", answer.substr(0, 300)));
    return took;
  }

 private:
  std::string_view exchange(const std::string& line) {
    deadline::arm();
    subject_.send(line);
    const std::string expected = fmt::format(R"("id":{},)", id_);
    for (;;) {
      const std::string_view answer = subject_.read_line();
      if (answer.substr(0, 60).find(expected) != std::string_view::npos) return answer;
    }
  }

  Clock::time_point began_ = Clock::now();
  Subject subject_;
  double hello_ms_ = 0;
  std::int64_t id_ = 0;
};

// A configuration in this folder with this many servers, all active.
std::string config_file(const fs::path& folder, const std::string& server, int how_many) {
  const fs::path path = folder / fmt::format("{}.json", how_many);
  std::ofstream out(path);
  out << R"({"mcpServers":{)";
  for (int i = 0; i < how_many; ++i)
    out << fmt::format(
        R"({}"s{}":{{"command":"{}","active":true,"env":{{"ECHO_TOOLS":"{}","ECHO_START_MS":"{}"}}}})",
        i == 0 ? "" : ",", i, server, tools, start_ms);
  out << "}}";
  return path;
}

bool judged(bool good, const std::string& words) {
  fmt::print("{} {}\n\n", good ? "PASS" : "FAIL", words);
  return good;
}

// A server's start, with nothing in between, from exec to its list of tools.
double own_start_ms(const std::string& server) {
  const auto began = Clock::now();
  Asker asker({server});
  asker.shake_hands();
  asker.ask("tools/list", "{}");
  return ms(Clock::now() - began);
}

// The same for all of them, started by us one after the other without waiting: what this machine can do.
double all_directly_ms(const std::string& server) {
  const auto began = Clock::now();
  std::vector<std::unique_ptr<Asker>> all;
  for (int i = 0; i < servers; ++i) all.push_back(std::make_unique<Asker>(std::vector{server}));
  for (const auto& asker : all) {
    asker->shake_hands();
    asker->ask("tools/list", "{}");
  }
  return ms(Clock::now() - began);
}

// From exec until all servers say that they are ready. One after the other is asked: to ask for all at once
// would make mcpivot put all lists together again and again.
std::unique_ptr<Asker> start(const std::vector<std::string>& command, double& took_ms) {
  const auto began = Clock::now();
  auto asker = std::make_unique<Asker>(command);
  asker->shake_hands();
  ::usleep(start_ms * 1000);  // before that none can be ready
  for (int i = 0; i < servers; ++i) {
    const std::string which = fmt::format(R"({{"server":"s{}"}})", i);
    while (asker->call("pivot_status", which).find("state: ready") == std::string_view::npos) {
      if (Clock::now() - began > std::chrono::seconds(20)) throw SubjectError("the servers do not get ready");
      ::usleep(1000);
    }
  }
  took_ms = ms(Clock::now() - began);
  return asker;
}

bool measure_starts(const std::vector<std::string>& command, const std::string& server, int times) {
  std::vector<double> alone;
  std::vector<double> directly;
  std::vector<double> all;
  std::vector<double> hellos;
  for (int i = 0; i < times; ++i) {
    alone.push_back(own_start_ms(server));
    directly.push_back(all_directly_ms(server));
    double took = 0;
    hellos.push_back(start(command, took)->hello_ms());
    all.push_back(took);
  }
  const double slowest = std::ranges::max(alone);
  fmt::print("start of one server, directly   p50 {:7.1f} ms   slowest {:7.1f} ms\n", median(alone), slowest);
  fmt::print("start of all {}, directly      p50 {:7.1f} ms   slowest {:7.1f} ms\n", servers,
             median(directly), std::ranges::max(directly));
  fmt::print("start of all {} in mcpivot     p50 {:7.1f} ms   slowest {:7.1f} ms\n", servers, median(all),
             std::ranges::max(all));
  fmt::print("exec to the answer of initialize p50 {:.1f} ms   slowest {:.1f} ms\n", median(hellos),
             std::ranges::max(hellos));
  const bool at_once = judged(median(hellos) <= most_hello_ms,
                              fmt::format("the client waits at most {:.0f} ms", most_hello_ms));
  fmt::print("all are warm after {:.0f}% of the slowest single start, and directly after {:.0f}% of it\n",
             100 * median(all) / slowest, 100 * median(directly) / slowest);
  const double ours = median(all) / median(directly);
  const bool together =
      judged(ours <= most_start_share, fmt::format("mcpivot takes at most {:.0f}% of the time of the same {} "
                                                   "started directly, at once: {:.0f}%",
                                                   100 * most_start_share, servers, 100 * ours));
  return at_once && together;
}

bool measure_lists(Asker& asker, int times) {
  std::vector<double> usual;
  std::vector<double> after_change;
  std::size_t size = 0;
  auto list = [&] {
    const auto began = Clock::now();
    const std::string_view answer = asker.ask("tools/list", "{}");
    const double took = ms(Clock::now() - began);
    size = answer.size();
    if (count(answer, "__listed_39\"") != servers) throw SubjectError("not all tools are listed");
    return took;
  };
  for (int i = 0; i < times; ++i) usual.push_back(list());
  for (int i = 0; i < times / 10; ++i) {
    asker.call("pivot_deactivate", R"({"server":"s7"})");
    asker.call("pivot_activate", R"({"server":"s7"})");
    after_change.push_back(list());
  }
  fmt::print(
      "tools/list, {} tools, {} bytes  p50 {:6.2f} ms   p99 {:6.2f} ms   first after a change p50 {:.2f} "
      "ms\n",
      servers * tools, size, median(usual), percentile(usual, 0.99), median(after_change));
  return judged(median(usual) <= most_list_ms && median(after_change) <= most_list_ms,
                fmt::format("at most {:.0f} ms", most_list_ms));
}

bool measure_calls(Asker& many, Asker& one, Asker& other, int times) {
  std::vector<double> of_many;
  std::vector<double> of_one;
  std::vector<double> of_other;
  // Each goes first, second and third equally often.
  const std::array<std::function<void(bool)>, 3> turns = {[&](bool counts) {
                                                            const double took = many.timed_call("s37__echo");
                                                            if (counts) of_many.push_back(took);
                                                          },
                                                          [&](bool counts) {
                                                            const double took = one.timed_call("echo");
                                                            if (counts) of_one.push_back(took);
                                                          },
                                                          [&](bool counts) {
                                                            const double took = other.timed_call("echo");
                                                            if (counts) of_other.push_back(took);
                                                          }};
  const int warm_up = times / 10;
  for (int i = 0; i < warm_up + times; ++i)
    for (std::size_t turn = 0; turn < turns.size(); ++turn)
      turns[(turn + static_cast<std::size_t>(i)) % turns.size()](i >= warm_up);
  const double extra = median(of_many) - median(of_one);
  fmt::print("a call to one of {}      p50 {:7.2f} µs   p99 {:7.2f} µs\n", servers, median(of_many),
             percentile(of_many, 0.99));
  fmt::print("a call to a lone server   p50 {:7.2f} µs   p99 {:7.2f} µs\n", median(of_one),
             percentile(of_one, 0.99));
  fmt::print("the same, another mcpivot p50 {:7.2f} µs   p99 {:7.2f} µs   (noise: {:+.2f} µs)\n",
             median(of_other), percentile(of_other, 0.99), median(of_other) - median(of_one));
  return judged(extra <= most_extra_us,
                fmt::format("one of {} costs at most {:.0f} µs more than a lone one: {:+.2f} µs", servers,
                            most_extra_us, extra));
}

bool measure_memory(pid_t pid, const std::string& server) {
  const Memory memory = memory_of(pid);
  fmt::print("memory of mcpivot {:.1f} MB, at most it was {:.1f} MB", memory.now, memory.peak);
  for (const Helper& helper : helpers_of(pid, server))
    fmt::print("; its helper {} {:.1f} MB", helper.name, helper.memory);
  fmt::print("\n");
  return judged(memory.peak <= most_megabytes, fmt::format("at most {:.0f} MB", most_megabytes));
}

}  // namespace

int main(int argc, char** argv) {
  const auto [quick, check] = usual_options("gateway_bench", argc, argv);
  try {
    ::setenv("XDG_CACHE_HOME", "/dev/null", 1);  // nothing from an earlier run
    deadline::install();
    deadline::arm();
    const fs::path here = fs::read_symlink("/proc/self/exe").parent_path();
    const std::string server = here / "echo_server";
    const host::TemporaryDirectory folder;
    auto mcpivot = [&](int how_many) {
      return std::vector<std::string>{here / "mcpivot", "--log", "/dev/null", "--config",
                                      config_file(folder.path(), server, how_many)};
    };
    fmt::print("{} servers with {} tools each, all active; each takes {} ms to start\n\n", servers, tools,
               start_ms);
    ::setenv("ECHO_TOOLS", std::to_string(tools).c_str(), 1);
    ::setenv("ECHO_START_MS", std::to_string(start_ms).c_str(), 1);
    bool good = measure_starts(mcpivot(servers), server, quick ? 3 : 10);

    const Cores cores;
    cores.use_one();
    double took = 0;
    const auto many = start(mcpivot(servers), took);
    good = measure_lists(*many, quick ? 50 : 300) && good;
    Asker one(mcpivot(1));
    one.shake_hands();
    Asker other(mcpivot(1));
    other.shake_hands();
    good = measure_calls(*many, one, other, quick ? 3'000 : 30'000) && good;
    good = measure_memory(many->pid(), server) && good;
    return check && !good ? 1 : 0;
  } catch (const SubjectError& error) {
    fmt::print(stderr, "gateway_bench: {}\n", error.what());
    return 1;
  }
}
