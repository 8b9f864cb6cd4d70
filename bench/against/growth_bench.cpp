// What does it cost if there is more of everything? Messages of 100 B to 50 MB, 1 to 100 servers, 10 to
// 20,000 tools, 1 to 1,000,000 calls, each through mcpivot. Each curve must be linear or better: the exponent
// is fitted to its upper end. Prints the tables and writes them to a JSON file, from which bench/report makes
// plots.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "../options.h"
#include "../private_folders.h"
#include "host/temporary_directory.h"
#include "subjects.h"

namespace {

namespace fs = std::filesystem;
namespace json = boost::json;
using std::chrono::seconds;

// A little above 1: what no longer fits into a cache, or into memory that is mapped already, costs any
// program more. Quadratic growth has 2.
constexpr double most_exponent = 1.25;
// The upper end of a curve: its last decade. Below it there are steps where a message no longer fits into a
// cache or a pipe.
constexpr double upper_end = 10;
constexpr size_t tools_each = 20;

constexpr std::string_view usage =
    "usage: ./dev bench growth [OPTION...]\n"
    "\n"
    "What larger messages, more servers, more tools and more calls cost mcpivot; the best of several tries. "
    "Each\n"
    "curve must be linear or better. Writes plots and a section of docs/benchmarks.md.\n"
    "\n"
    "  --quick       fewer tries, and 100,000 calls at most\n"
    "  --check       exit with 1 if a curve's exponent is above 1.25 at its upper end, or memory grows with "
    "calls\n"
    "  --json FILE   where the results go\n"
    "  --help        show this\n";

struct Options {
  bool quick = false;
  bool check = false;
  fs::path json;
};

// What something took: on the clock, and of the processor by mcpivot alone, which no neighbour can slow down.
struct Cost {
  double ms = 0;
  double cpu_ms = 0;
};

struct Point {
  double x = 0;
  double y = 0;       // ms, or MB
  double judged = 0;  // ms of the processor, or MB
};

// A curve of a plot.
struct Curve {
  std::string label;
  std::string unit;
  std::vector<Point> points = {};
  bool judged = true;
};

struct Plot {
  std::string name;
  std::string title;
  std::string x;
  std::vector<Curve> curves;
};

// The slope of the upper end on logarithmic axes, by least squares.
double exponent(const std::vector<Point>& points) {
  double n = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (const Point& point : points) {
    if (point.x * upper_end < points.back().x * 0.999 || point.judged <= 0) continue;
    const double lx = std::log(point.x);
    const double ly = std::log(point.judged);
    n += 1, sx += lx, sy += ly, sxx += lx * lx, sxy += lx * ly;
  }
  const double spread = n * sxx - sx * sx;
  return spread > 0 ? (n * sxy - sx * sy) / spread : 0;
}

// The best of some attempts: the time that the work takes when nothing disturbs it.
Cost best_of(size_t tries, const std::function<Cost()>& once) {
  Cost best = once();
  for (size_t i = 1; i < tries; ++i) {
    const Cost next = once();
    best = {.ms = std::min(best.ms, next.ms), .cpu_ms = std::min(best.cpu_ms, next.cpu_ms)};
  }
  return best;
}

size_t count(std::string_view text, std::string_view word) {
  size_t found = 0;
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + word.size()))
    ++found;
  return found;
}

// A client of one mcpivot.
class Session {
 public:
  explicit Session(const std::vector<std::string>& command)
      : began_(Clock::now()), process_(command, ProcessTree::Ends::pipes), front_(stdio_front(process_)) {
    ask("initialize",
        R"({"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}})");
    front_->send(-1, R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }

  std::string_view ask(std::string_view method, std::string_view params) {
    const std::int64_t id = send(method, params);
    const auto deadline = Clock::now() + seconds(60);
    while (const auto incoming = front_->receive(deadline))
      if (incoming->id == id) return incoming->message;
    throw Failure(fmt::format("no answer to {} within 60 s", method));
  }
  std::string_view call(std::string_view tool, std::string_view arguments) {
    return ask("tools/call", fmt::format(R"({{"name":"{}","arguments":{}}})", tool, arguments));
  }
  std::int64_t send(std::string_view method, std::string_view params) {
    const std::int64_t id = next_id_++;
    front_->send(id,
                 fmt::format(R"({{"jsonrpc":"2.0","id":{},"method":"{}","params":{}}})", id, method, params));
    return id;
  }
  void wait_for_one() {
    if (!front_->receive(Clock::now() + seconds(30))) throw Failure("no answer within 30 s");
  }
  // Asks until this many tools are listed.
  void list_until(size_t tools) {
    const auto deadline = Clock::now() + seconds(60);
    while (count(ask("tools/list", "{}"), "\"inputSchema\"") < tools) {
      if (Clock::now() > deadline) throw Failure(fmt::format("{} tools are never listed", tools));
      usleep(5000);
    }
  }
  // What the processor did for mcpivot, or for the server if there is no proxy.
  double cpu_ms() const {
    clockid_t clock{};
    timespec time{};
    clock_getcpuclockid(process_.pid(), &clock);
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_nsec) / 1e6;
  }
  Cost timed(const std::function<void()>& work) const {
    const double before = cpu_ms();
    const auto begin = Clock::now();
    work();
    const double took = ms_since(begin);
    return {.ms = took, .cpu_ms = cpu_ms() - before};
  }
  Cost since_start() const { return {.ms = ms_since(began_), .cpu_ms = cpu_ms()}; }
  double megabytes(const fs::path& server) const { return tree_megabytes(process_.pid(), server); }
  Clock::time_point began() const { return began_; }

 private:
  Clock::time_point began_;
  ProcessTree process_;
  std::unique_ptr<Front> front_;
  std::int64_t next_id_ = 1;
};

class Growth {
 public:
  Growth(const Options& options, fs::path programs, fs::path scratch)
      : options_(options), programs_(std::move(programs)), scratch_(std::move(scratch)) {}

  std::vector<Plot> run() { return {messages(), servers(), tools(), calls()}; }

 private:
  std::string server() const { return programs_ / "echo_server"; }
  std::vector<std::string> mcpivot(const std::vector<std::string>& rest) const {
    std::vector<std::string> command = {programs_ / "mcpivot", "--log", "/dev/null"};
    command.insert(command.end(), rest.begin(), rest.end());
    return command;
  }
  std::vector<std::string> config(size_t how_many) const {
    std::string servers;
    for (size_t i = 0; i < how_many; ++i)
      servers += fmt::format("{}\"s{}\":{{\"command\":\"{}\",\"active\":true}}", i ? "," : "", i, server());
    const fs::path file = scratch_ / fmt::format("servers-{}.json", how_many);
    std::ofstream(file) << fmt::format("{{\"mcpServers\":{{{}}}}}", servers);
    return mcpivot({"--config", file});
  }

  // An answer of this size, and a request of this size with its answer.
  Plot messages() {
    Plot plot{.name = "growth-messages",
              .title = "One call, by the size of its message",
              .x = "bytes",
              .curves = {}};
    Curve direct{.label = "answer, no proxy", .unit = "ms", .judged = false};
    Curve answer{.label = "answer", .unit = "ms"};
    Curve both{.label = "request and answer", .unit = "ms"};
    Session plain({server()});
    Session through(mcpivot({"--max-message", "100MB", "--", server()}));
    for (const size_t size : {100, 1'000, 10'000, 100'000, 1'000'000, 5'000'000, 10'000'000, 50'000'000}) {
      const auto bytes = static_cast<double>(size);
      const size_t tries = size > 2'000'000 ? (options_.quick ? 3 : 7) : (options_.quick ? 30 : 200);
      const std::string wish = fmt::format(R"({{"size":{}}})", size);
      const std::string text = fmt::format(R"({{"text":"{}"}})", std::string(size, 'x'));
      const auto timed = [&](Session& session, const std::string& arguments) {
        return best_of(tries, [&] {
          std::string_view got;
          const Cost cost = session.timed([&] { got = session.call("echo", arguments); });
          if (got.size() < size) throw Failure("a wrong answer: " + std::string(got.substr(0, 200)));
          return cost;
        });
      };
      put(direct, bytes, timed(plain, wish));
      put(answer, bytes, timed(through, wish));
      put(both, bytes, timed(through, text));
    }
    plot.curves = {answer, both, direct};
    return plot;
  }

  Plot servers() {
    Plot plot{.name = "growth-servers",
              .title = fmt::format("Servers behind one mcpivot, {} tools each", tools_each),
              .x = "servers",
              .curves = {}};
    Curve start{.label = "start until all are listed", .unit = "ms"};
    Curve list{.label = "tools/list", .unit = "ms"};
    Curve memory{.label = "memory", .unit = "MB"};
    setenv("ECHO_TOOLS", std::to_string(tools_each).c_str(), 1);
    for (const size_t n : {1, 2, 5, 10, 20, 50, 100}) {
      const auto command = config(n);
      const auto x = static_cast<double>(n);
      std::unique_ptr<Session> session;
      put(start, x, best_of(options_.quick ? 2 : 5, [&] {
            session.reset();
            session = std::make_unique<Session>(command);
            session->list_until(n * tools_each);
            return session->since_start();
          }));
      put(list, x, best_of(30, [&] { return timed_list(*session); }));
      put(memory, x, session->megabytes(server()));
    }
    unsetenv("ECHO_TOOLS");
    plot.curves = {start, list, memory};
    return plot;
  }

  static Cost timed_list(Session& session) {
    return session.timed([&] { session.ask("tools/list", "{}"); });
  }
  static void put(Curve& curve, double x, const Cost& cost) {
    curve.points.push_back({x, cost.ms, cost.cpu_ms});
  }
  static void put(Curve& curve, double x, double megabytes) {
    curve.points.push_back({x, megabytes, megabytes});
  }

  Plot tools() {
    Plot plot{.name = "growth-tools", .title = "Tools of one server", .x = "tools", .curves = {}};
    Curve start{.label = "start until listed", .unit = "ms"};
    Curve list{.label = "tools/list", .unit = "ms"};
    Curve search{.label = "pivot_search", .unit = "ms"};
    Curve activate{.label = "deactivate, activate, list", .unit = "ms"};
    Curve memory{.label = "memory", .unit = "MB"};
    for (const size_t n : {10, 30, 100, 300, 1'000, 3'000, 10'000, 20'000}) {
      setenv("ECHO_TOOLS", std::to_string(n).c_str(), 1);
      const auto command = config(2);
      const auto x = static_cast<double>(n);
      std::unique_ptr<Session> session;
      put(start, x, best_of(options_.quick ? 2 : 5, [&] {
            session.reset();
            session = std::make_unique<Session>(command);
            session->list_until(2 * n);
            return session->since_start();
          }));
      put(list, x, best_of(10, [&] { return timed_list(*session); }));
      put(search, x, best_of(10, [&] {
            return session->timed(
                [&] { session->call("pivot_search", R"({"query":"find records of a query"})"); });
          }));
      put(activate, x, best_of(5, [&] {
            return session->timed([&] {
              session->call("pivot_deactivate", R"({"server":"s1"})");
              session->call("pivot_activate", R"({"server":"s1"})");
              session->ask("tools/list", "{}");
            });
          }));
      put(memory, x, session->megabytes(server()));
    }
    unsetenv("ECHO_TOOLS");
    plot.curves = {start, list, search, activate, memory};
    return plot;
  }

  // One session that continues: the time for this many calls, and the memory after them.
  Plot calls() {
    Plot plot{.name = "growth-calls",
              .title = "Calls of 200 B in one session, 64 in flight",
              .x = "calls",
              .curves = {}};
    Curve time{.label = "time for all", .unit = "ms"};
    Curve memory{.label = "memory", .unit = "MB"};
    Session session(mcpivot({"--", server()}));
    const std::string params =
        fmt::format(R"({{"name":"echo","arguments":{{"text":"{}"}}}})", std::string(100, 'x'));
    Cost so_far;
    size_t done = 0;
    for (const size_t n : {1, 10, 100, 1'000, 10'000, 100'000, 1'000'000}) {
      if (options_.quick && n > 100'000) break;
      const Cost cost = session.timed([&] {
        size_t sent = done;
        for (; done < n; ++done) {
          for (; sent < n && sent < done + 64; ++sent) session.send("tools/call", params);
          session.wait_for_one();
        }
      });
      so_far = {.ms = so_far.ms + cost.ms, .cpu_ms = so_far.cpu_ms + cost.cpu_ms};
      put(time, static_cast<double>(n), so_far);
      put(memory, static_cast<double>(n), session.megabytes(server()));
    }
    plot.curves = {time, memory};
    return plot;
  }

  const Options& options_;
  fs::path programs_;
  fs::path scratch_;
};

// The memory after the last calls, compared with that after the first thousand.
bool memory_is_flat(const Plot& calls) {
  const auto& points = calls.curves[1].points;
  const auto early = std::ranges::find_if(points, [](const Point& point) { return point.x >= 1000; });
  return points.back().y <= 1.1 * early->y + 0.5;
}

bool show(const Plot& plot) {
  fmt::print("\n{}; ms on the clock, and of the processor\n{:>12}", plot.title, plot.x);
  for (const Curve& curve : plot.curves) fmt::print("{:>28}", curve.label);
  fmt::print("\n");
  for (size_t i = 0; i < plot.curves[0].points.size(); ++i) {
    fmt::print("{:>12.0f}", plot.curves[0].points[i].x);
    for (const Curve& curve : plot.curves) {
      const Point& point = curve.points[i];
      fmt::print("{:>28}", curve.unit == "MB" ? fmt::format("{:.2f} MB", point.y)
                                              : fmt::format("{:.3f} {:10.3f}", point.y, point.judged));
    }
    fmt::print("\n");
  }
  fmt::print("{:>12}", "exponent");
  bool good = true;
  for (const Curve& curve : plot.curves) {
    const double slope = exponent(curve.points);
    const bool fits = !curve.judged || slope <= most_exponent;
    fmt::print("{:>28}", fmt::format("{:.2f}{}", slope, fits ? "" : " SUPERLINEAR"));
    good = good && fits;
  }
  fmt::print("\n");
  return good;
}

json::value json_of(const Plot& plot) {
  json::array curves;
  for (const Curve& curve : plot.curves) {
    json::array points;
    for (const Point& point : curve.points) points.push_back(json::array{point.x, point.y, point.judged});
    curves.push_back({{"label", curve.label},
                      {"unit", curve.unit},
                      {"judged", curve.judged},
                      {"exponent", exponent(curve.points)},
                      {"points", std::move(points)}});
  }
  return {{"name", plot.name}, {"title", plot.title}, {"x", plot.x}, {"curves", std::move(curves)}};
}

Options read_options(int argc, char** argv) {
  Options options;
  CommandLine line("growth_bench", usage);
  line.flag("--quick", options.quick);
  line.flag("--check", options.check);
  line.option("--json", [&](auto file) { options.json = file; });
  line.read(argc, argv);
  return options;
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  const host::TemporaryDirectory scratch;
  use_private_folders(scratch.path());
  adopt_orphans();
  bool good = true;
  try {
    const auto plots =
        Growth(options, fs::read_symlink("/proc/self/exe").parent_path(), scratch.path()).run();
    json::array all;
    for (const Plot& plot : plots) {
      good = show(plot) && good;
      all.push_back(json_of(plot));
    }
    const bool flat = memory_is_flat(plots.back());
    fmt::print("\n{} every curve is linear or better at its upper end (exponent at most {})\n",
               good ? "PASS" : "FAIL", most_exponent);
    fmt::print("{} memory does not grow with the number of calls\n", flat ? "PASS" : "FAIL");
    good = good && flat;
    if (!options.json.empty())
      std::ofstream(options.json) << json::serialize(
                                         json::object{{"quick", options.quick}, {"plots", std::move(all)}})
                                  << '\n';
  } catch (const Failure& failure) {
    fmt::print(stderr, "growth_bench: {}\n", failure.what());
    good = false;
  }
  return options.check && !good ? 1 : 0;
}
