// How well does the search find tools? Real tools of real servers and labelled requests, in three catalogs
// (docs/search.md): how often is the right tool first, how often among five, how often is "nothing fits" said
// rightly and wrongly. A third of the requests is held out: the ranking has never been tuned on it, and its
// misses are not shown. Then what a large catalog costs to index and to ask.
#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdint>
#include <ctime>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "options.h"
#include "search/tool_search.h"

namespace {

namespace json = boost::json;
using mcpivot::ToolDocument;
using mcpivot::ToolSearch;

constexpr double least_first = 70, least_in_five = 90, least_nothing = 80;  // percent
constexpr double most_index_ms = 50, most_query_us = 1000;
constexpr std::size_t large_catalog = 2000;

struct Request {
  std::string ask;
  std::vector<std::string> right;  // server/tool, each as good as the others; none if nothing fits it
  bool held_out = false;
};

// FNV-1a: the split depends on the text of a request and on nothing else.
std::uint64_t hash(std::string_view text) {
  std::uint64_t value = 0xcbf29ce484222325U;
  for (const char c : text) value = (value ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return value;
}

json::value read(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot read " + path);
  return json::parse(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string text(const json::object& object, std::string_view key) {
  const json::value* value = object.if_contains(key);
  return value != nullptr && value->is_string() ? std::string(value->get_string()) : "";
}

std::vector<ToolDocument> read_tools(const std::string& path) {
  std::vector<ToolDocument> tools;
  const json::value servers = read(path);
  for (const json::value& server : servers.as_array()) {
    for (const json::value& item : server.as_object().at("tools").as_array()) {
      const json::object& tool = item.as_object();
      ToolDocument document{text(server.as_object(), "server"),
                            text(tool, "name"),
                            text(tool, "title"),
                            text(tool, "description"),
                            {}};
      if (const json::value* notes = tool.if_contains("annotations");
          document.title.empty() && notes != nullptr)
        document.title = text(notes->as_object(), "title");
      const json::object& schema = tool.at("inputSchema").as_object();
      if (const json::value* properties = schema.if_contains("properties"))
        for (const auto& [name, property] : properties->as_object())
          document.parameters.push_back(
              {name, property.is_object() ? text(property.get_object(), "description") : ""});
      tools.push_back(std::move(document));
    }
  }
  return tools;
}

std::vector<Request> read_requests(const std::string& path, const std::vector<ToolDocument>& tools) {
  std::vector<Request> requests;
  const json::value items = read(path);
  for (const json::value& item : items.as_array()) {
    Request request{text(item.as_object(), "ask"), {}, false};
    request.held_out = hash(request.ask) % 3 == 0;
    for (const json::value& right : item.as_object().at("right").as_array()) {
      request.right.emplace_back(right.as_string());
      if (std::ranges::none_of(
              tools, [&](const auto& t) { return t.server + "/" + t.name == request.right.back(); }))
        throw std::runtime_error(
            fmt::format("'{}' names a tool that is not there: {}", request.ask, request.right.back()));
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

struct Tally {
  int served = 0, first = 0, in_five = 0, denied = 0;  // denied: wrongly "nothing fits"
  int unserved = 0, nothing = 0;

  static double percent(int part, int whole) { return whole == 0 ? 0 : 100.0 * part / whole; }
  double first_percent() const { return percent(first, served); }
  double in_five_percent() const { return percent(in_five, served); }
  double nothing_percent() const { return percent(nothing, unserved); }
  bool good() const {
    return first_percent() >= least_first && in_five_percent() >= least_in_five &&
           nothing_percent() >= least_nothing;
  }
  void print(std::string_view name) const {
    fmt::print("{:<18}{:>8}{:>9.1f}%{:>9.1f}%{:>15.1f}%{:>12}{:>15.1f}%\n", name, served, first_percent(),
               in_five_percent(), percent(denied, served), unserved, nothing_percent());
  }
  Tally operator+(const Tally& other) const {
    return {served + other.served, first + other.first,       in_five + other.in_five,
            denied + other.denied, unserved + other.unserved, nothing + other.nothing};
  }
};

void judge(const Request& request, const ToolSearch& search, Tally& tally, bool show) {
  const auto hits = search.search(request.ask, 5);
  std::string found;
  std::size_t rank = 0;
  for (std::size_t i = 0; i < hits.size(); ++i) {
    const std::string name = hits[i].server + "/" + hits[i].name;
    if (rank == 0 && std::ranges::find(request.right, name) != request.right.end()) rank = i + 1;
    found += fmt::format("\n      {:5.2f}  {}", hits[i].score, name);
  }
  if (request.right.empty()) {
    ++tally.unserved;
    if (hits.empty()) ++tally.nothing;
    if (show && !hits.empty()) fmt::print("  {}\n      nothing serves it, found:{}\n", request.ask, found);
    return;
  }
  ++tally.served;
  if (rank == 1) ++tally.first;
  if (rank > 0) ++tally.in_five;
  if (hits.empty()) ++tally.denied;
  if (show && rank != 1)
    fmt::print("  {}\n      right is {}, found:{}\n", request.ask, fmt::join(request.right, " or "),
               hits.empty() ? " nothing" : found);
}

// Microseconds of CPU time: others on the machine do not count.
double cpu_us() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) / 1e3;
}

double best_of(int times, const auto& work) {
  double best = 1e9;
  for (int i = 0; i < times; ++i) {
    const double began = cpu_us();
    work();
    best = std::min(best, cpu_us() - began);
  }
  return best;
}

// The real tools repeated, as if from other servers. A unique word in each makes the vocabulary large.
bool measure_speed(const std::vector<ToolDocument>& tools, const std::vector<Request>& requests) {
  std::vector<ToolDocument> many;
  for (std::size_t i = 0; many.size() < large_catalog; ++i) {
    ToolDocument copy = tools[i % tools.size()];
    copy.server += std::to_string(i / tools.size());
    copy.description += fmt::format(" word{:x} term{:x} name{:x}", i, i, i);
    many.push_back(std::move(copy));
  }
  ToolSearch search;
  const double index_us = best_of(5, [&] {
    search = {};
    for (const auto& tool : many) search.add(tool);
  });
  double sum = 0, slowest = 0;
  std::string slowest_ask;
  for (const Request& request : requests) {
    const double us = best_of(5, [&] { search.search(request.ask, 5); });
    sum += us;
    if (us > slowest) slowest = us, slowest_ask = request.ask;
  }
  const bool good = index_us / 1000 <= most_index_ms && slowest <= most_query_us;
  fmt::print("\n{} tools: indexed in {:.1f} ms; a query takes {:.0f} us, the slowest {:.0f} us ({})\n",
             many.size(), index_us / 1000, sum / static_cast<double>(requests.size()), slowest, slowest_ask);
  fmt::print("{} indexed within {:.0f} ms, every query within {:.0f} us\n", good ? "PASS" : "FAIL",
             most_index_ms, most_query_us);
  return good;
}

// One catalog and the requests to it.
struct Set {
  std::vector<ToolDocument> tools;
  std::vector<Request> requests;
  ToolSearch search;

  explicit Set(const std::string& prefix)
      : tools(read_tools(prefix + "tools.json")), requests(read_requests(prefix + "requests.json", tools)) {
    for (const auto& tool : tools) search.add(tool);
  }
};

struct Options {
  bool check = false, misses = false, speed = true;
};

int run(const Options& options, const std::string& folder) {
  const Set first(folder + "/"), more(folder + "/more_"), unseen(folder + "/unseen_");
  fmt::print("tools and requests: {} and {}; more: {} and {}; unseen: {} and {}\n\n", first.tools.size(),
             first.requests.size(), more.tools.size(), more.requests.size(), unseen.tools.size(),
             unseen.requests.size());
  auto tally = [&](const Set& set, bool held_out) {
    Tally result;
    for (const Request& request : set.requests)
      if (request.held_out == held_out) judge(request, set.search, result, options.misses);
    return result;
  };
  const Tally tuning = tally(first, false), more_tuning = tally(more, false);
  fmt::print("{:<18}{:>8}{:>10}{:>10}{:>16}{:>12}{:>16}\n", "", "served", "first", "in five", "wrongly none",
             "unserved", "rightly none");
  tuning.print("tuning");
  more_tuning.print("more, tuning");
  if (options.misses) return 0;  // anyone who tunes the ranking doesn't look at the rest

  const Tally held_out = tally(first, true), more_held_out = tally(more, true);
  const Tally all = tuning + held_out;
  held_out.print("held out");
  all.print("both");
  more_held_out.print("more, held out");
  (tally(unseen, false) + tally(unseen, true)).print("unseen");
  bool good = held_out.good() && all.good();
  fmt::print("{} held out, and both: first {:.0f}%, in five {:.0f}%, rightly none {:.0f}%\n",
             good ? "PASS" : "FAIL", least_first, least_in_five, least_nothing);
  if (options.speed) good = measure_speed(first.tools, first.requests) && good;
  return options.check && !good ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  Options options;
  CommandLine line("search_bench",
                   "usage: search_bench [--check] [--no-speed] [--misses]\n"
                   "  --check     fail under the bars\n"
                   "  --no-speed  leave out the times\n"
                   "  --misses    the tuning set alone, with what was found instead\n");
  line.flag("--check", options.check);
  line.flag("--no-speed", [&] { options.speed = false; });
  line.flag("--misses", options.misses);
  line.read(argc, argv);
  try {
    return run(options, SEARCH_DIRECTORY);
  } catch (const std::exception& error) {
    fmt::print(stderr, "search_bench: {}\n", error.what());
    return 2;
  }
}
