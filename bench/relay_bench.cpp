// What does it cost to have mcpivot between a client and its server? This program compares it with no proxy
// at all, a bare byte relay (the floor) and mcp-sitter, on one core, and compares the result with the
// project's bars. The programs are found from its own path: its folder, and mcp-sitter in tests/peers two
// folders up.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "contest.h"
#include "cores.h"
#include "options.h"
#include "report.h"

namespace {

namespace fs = std::filesystem;

constexpr std::string_view usage =
    "usage: relay_bench [OPTION...]\n"
    "\n"
    "Measures what a proxy in front of an MCP server costs: no proxy, a bare byte relay (the floor), mcpivot "
    "and\n"
    "mcp-sitter, and mcpivot between the two protocol eras, all on one core, in turns. Prints medians, then "
    "the bars that mcpivot must clear.\n"
    "\n"
    "  --rounds N    rounds in each of three passes (default 10); every subject has a turn in each round\n"
    "  --quick       one pass of 4 rounds: a first impression in a few seconds\n"
    "  --check       exit with 1 if a bar is not cleared\n"
    "  --json FILE   also write the results to FILE\n"
    "  --help        show this\n";

struct Options {
  Plan plan;
  bool check = false;
  fs::path json;
};

size_t positive_number(std::string_view text, const CommandLine& line) {
  size_t value = 0;
  const auto [stop, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc{} || stop != text.data() + text.size() || value == 0)
    line.refuse(fmt::format("'{}' is not a positive number", text));
  return value;
}

Options read_options(int argc, char** argv) {
  Options options;
  CommandLine line("relay_bench", usage);
  line.option("--rounds", [&](auto number) { options.plan.rounds = positive_number(number, line); });
  line.flag("--quick", [&] { options.plan = {.passes = 1, .rounds = 4}; });
  line.flag("--check", options.check);
  line.option("--json", [&](auto file) { options.json = file; });
  line.read(argc, argv);
  return options;
}

Contestant contestant(std::string name, std::vector<std::string> command, bool is_proxy = true) {
  Contestant made;
  made.name = std::move(name);
  made.installed = access(command.front().c_str(), X_OK) == 0;
  made.command = std::move(command);
  made.is_proxy = is_proxy;
  return made;
}

std::vector<Contestant> invite(const fs::path& folder, const std::string& server) {
  const fs::path sitter = folder.parent_path().parent_path() /
                          "tests/peers/node_modules/@ytsuda/mcp-sitter-linux-x64/bin/mcp-sitter";
  std::vector<Contestant> contestants;
  contestants.push_back(contestant("no proxy", {server}, false));
  contestants.push_back(contestant("floor", {folder / "byte_relay", server}));
  contestants.push_back(contestant("mcpivot", {folder / "mcpivot", "--log", "/dev/null", "--", server}));
  contestants.push_back(contestant("mcp-sitter", {sitter, server}));
  // A legacy client in front of a modern server.
  contestants.push_back(
      contestant("bridged", {folder / "mcpivot", "--log", "/dev/null", "--", server, "--modern"}));
  return contestants;
}

std::string circumstances(const Plan& plan, const Cores& cores) {
  double load = 0;
  getloadavg(&load, 1);
  return fmt::format(
      "medians of {} x {} rounds in turns, all but the start on core {}, load average {:.1f}\n", plan.passes,
      plan.rounds, cores.chosen(), load);
}

void save(const fs::path& file, const std::string& text) {
  std::ofstream out(file);
  out << text;
  out.close();
  if (!out) fmt::print(stderr, "relay_bench: cannot write {}\n", file.string());
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = read_options(argc, argv);
  setenv("XDG_CACHE_HOME", "/dev/null", 1);  // the start is that of a server not known yet
  const fs::path folder = fs::read_symlink("/proc/self/exe").parent_path();
  const fs::path server = folder / "echo_server";
  const Cores cores;
  std::vector<Contestant> contestants = invite(folder, server);
  const std::string header = circumstances(options.plan, cores);
  run_contest(contestants, options.plan, cores, server);

  const Cast cast{contestants[0], contestants[1], contestants[2], contestants[3], contestants[4]};
  const std::vector<Bar> bars = judge(cast);
  fmt::print("{}\n{}\n{}", header, table(cast), lines_of(bars));
  if (const std::string remarks = notes(cast); !remarks.empty()) fmt::print("\n{}", remarks);
  if (!options.json.empty()) save(options.json, json_of(cast, bars));

  const bool failed =
      std::any_of(bars.begin(), bars.end(), [](const Bar& bar) { return bar.verdict == Verdict::fail; });
  return options.check && failed ? 1 : 0;
}
