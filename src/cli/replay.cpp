#include "cli/replay.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <boost/json.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <set>
#include <stdexcept>
#include <utility>

#include "base/files.h"
#include "base/utf8.h"
#include "cli/colours.h"
#include "cli/journal_table.h"
#include "cli/replay_run.h"
#include "cli/say.h"
#include "cli/server_name.h"
#include "config/config_file.h"
#include "config/tool_pattern.h"
#include "config/units.h"
#include "journal/journal_reader.h"
#include "journal/kept_calls.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using End = Played::End;

constexpr std::size_t most_shown = 5;  // differences of one call
constexpr std::size_t most_arguments = 60;

// What is wrong with the command, the recording or the configuration.
struct Trouble : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A file of kept calls is JSON; anything else belongs to the journal.
bool is_kept_calls(const std::string& file) {
  const std::string first = read_beginning(file, 16);
  return !first.empty() && !first.starts_with("SQLite format");
}

KeptCalls recorded_calls(const std::string& which) {
  if (::access(which.c_str(), F_OK) == 0 && is_kept_calls(which)) {
    auto kept = read_kept_calls(which);
    if (!kept) throw Trouble(kept.error());
    return std::move(*kept);
  }
  const auto journal = JournalReader::open(which);
  if (!journal) throw Trouble(journal.error());
  auto calls = journal->calls({.with_own = false});
  for (const std::string& note : journal->notes()) fmt::print(stderr, "mcpivot replay: left out: {}\n", note);
  if (!calls) throw Trouble(calls.error());
  return {.ignore = {}, .calls = std::move(*calls)};
}

std::string list_of(const std::set<std::string>& names) {
  return fmt::format("{}", fmt::join(names, ", "));
}

std::set<std::string> servers_of(const std::vector<RecordedCall>& calls) {
  std::set<std::string> names;
  for (const RecordedCall& call : calls)
    if (!call.server.empty()) names.insert(call.server);
  return names;
}

// One server, and the calls that are made to it.
struct Part {
  ServerConfig server;
  std::vector<RecordedCall> calls;
};

std::vector<RecordedCall> calls_of(const std::vector<RecordedCall>& calls, const std::string& server) {
  std::vector<RecordedCall> own;
  std::ranges::copy_if(calls, std::back_inserter(own), [&](const RecordedCall& call) {
    return server.empty() || call.server.empty() || call.server == server;
  });
  return own;
}

std::vector<Part> parts_for_command(const ReplayCommand& command, const std::vector<RecordedCall>& calls) {
  const std::set<std::string> recorded = servers_of(calls);
  if (command.server.empty() && recorded.size() > 1)
    throw Trouble(
        fmt::format("there are calls of several servers ({}); say whose with --server", list_of(recorded)));
  if (!command.server.empty() && !recorded.contains(command.server))
    throw Trouble(fmt::format("there are no calls of \"{}\"; there are some of: {}", command.server,
                              list_of(recorded)));
  Part part;
  part.server.command.argv = command.command;
  part.server.name = !command.server.empty() ? command.server
                     : !recorded.empty()     ? *recorded.begin()
                                             : server_name(part.server.command);
  part.calls = calls_of(calls, command.server);
  return {std::move(part)};
}

std::vector<Part> parts_of_config(const ReplayCommand& command, const std::vector<RecordedCall>& calls) {
  const auto file = find_config(command.config);
  if (!file) throw Trouble(fmt::format("{}; or put the server's command after \"--\"", file.error()));
  const LoadedConfig loaded = load_config(*file);
  for (const Problem& problem : loaded.problems)
    if (problem.severity == Problem::Severity::error) throw Trouble(problem_text(*file, problem));
  const std::set<std::string> recorded = servers_of(calls);
  std::vector<Part> parts;
  std::set<std::string> known;
  for (const ServerEntry& entry : loaded.gateway.servers) {
    const std::string& name = entry.server.name;
    known.insert(name);
    const bool only_one = loaded.gateway.servers.size() == 1 && recorded.empty();
    const bool meant = command.server.empty() ? recorded.contains(name) || only_one : name == command.server;
    if (!meant) continue;
    parts.push_back({.server = entry.server, .calls = calls_of(calls, name)});
    parts.back().server.http.start.clear();  // no daemon is started for this
  }
  if (!command.server.empty() && parts.empty())
    throw Trouble(fmt::format("{} has no server \"{}\"; it has: {}", *file, command.server, list_of(known)));
  if (parts.empty())
    throw Trouble(
        fmt::format("{} has none of the servers that were recorded ({}); name one with --server, or "
                    "put a command after \"--\"",
                    *file, list_of(recorded)));
  return parts;
}

std::string shown(const RecordedCall& call) {
  if (call.arguments.empty() || call.arguments == "{}") return call.tool;
  return fmt::format("{} {}", call.tool, shown_text(call.arguments, most_arguments));
}

// "add_note (2), delete_note"
std::string counted(const std::vector<Played>& played, End end) {
  std::map<std::string, int> counts;
  for (const Played& one : played)
    if (one.end == end) ++counts[one.call->tool];
  std::string text;
  for (const auto& [tool, count] : counts)
    text +=
        fmt::format("{}{}{}", text.empty() ? "" : ", ", tool, count == 1 ? "" : fmt::format(" ({})", count));
  return text;
}

bool is_compared(End end) {
  return end == End::same || end == End::differs || end == End::gone || end == End::late || end == End::died;
}

bool differs(End end) {
  return is_compared(end) && end != End::same;
}

// --- for people --------------------------------------------------------------------------------------------

// What was recorded, and what the server says, may have control characters.
void tell(const std::string& text) {
  say(printable(text));
}

void print_call(const Played& played) {
  const std::string call = printable(shown(*played.call), {});
  switch (played.end) {
    case End::same:
      return say(fmt::format("  {}     {}", coloured("32", "same"), call));
    case End::differs:
      say(fmt::format("  {}  {}", coloured("33", "DIFFERS"), call));
      for (std::size_t i = 0; i < std::min(most_shown, played.diff.first.size()); ++i)
        tell("             " + played.diff.first[i].text());
      if (played.diff.count > most_shown)
        say(fmt::format("             and {} more", played.diff.count - most_shown));
      return;
    case End::gone:
      return say(fmt::format("  {}     {}: the server has no such tool", coloured("33", "GONE"), call));
    case End::late:
      return say(fmt::format("  {}     {}: {}", coloured("33", "LATE"), call, played.why));
    case End::died:
      return say(fmt::format("  {}     {}", coloured("31", "DIED"), call));
    case End::unsafe:
    case End::useless:
    case End::not_run:
      return;
  }
}

void print_rest(const ReplayOutcome& outcome) {
  const std::vector<Played>& played = outcome.played;
  const auto count = [&](End end) { return outcome.count(end); };
  if (count(End::unsafe) > 0)
    tell(
        fmt::format("{} left out, because the tool isn't marked read-only and closed-world: {}.\n"
                    "  --unsafe calls them too; \"replay_safe\" in the configuration or --safe TOOL lists "
                    "tools that are safe.",
                    count(End::unsafe), counted(played, End::unsafe)));
  std::map<std::string, int> faults;
  for (const Played& one : played)
    if (one.end == End::useless) ++faults[one.why];
  for (const auto& [why, times] : faults) tell(fmt::format("{} left out: {}.", times, why));
  if (!outcome.death.empty())
    tell(fmt::format("The server {}{}.\n{}", outcome.death,
                     count(End::died) == 0 ? "" : ", over the call marked DIED", outcome.last_words));
  if (count(End::not_run) > 0) say(fmt::format("{} not run.", count(End::not_run)));
}

void print(const Part& part, const ReplayOutcome& outcome) {
  for (const Played& played : outcome.played) print_call(played);
  const auto compared =
      std::ranges::count_if(outcome.played, [](const Played& one) { return is_compared(one.end); });
  const auto different =
      std::ranges::count_if(outcome.played, [](const Played& one) { return differs(one.end); });
  if (compared == 0)
    tell(fmt::format("{}: no call was compared.", part.server.name));
  else
    tell(fmt::format(
        "{}: {} of {} calls answer the same{}.", part.server.name, outcome.count(End::same), compared,
        different == 0 ? "" : fmt::format(", {} {}", different, different == 1 ? "differs" : "differ")));
  print_rest(outcome);
}

// On a terminal, which call is being made.
class ProgressLine {
 public:
  explicit ProgressLine(std::size_t calls) : calls_(calls), shows_(::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;
  void show(std::size_t number, const RecordedCall& call) const {
    if (shows_) fmt::print(stderr, "\r\033[K{}/{} {}", number, calls_, printable(call.tool, {}));
  }
  void clear() const {
    if (shows_) fmt::print(stderr, "\r\033[K");
  }

 private:
  std::size_t calls_;
  bool shows_;
};

// --- for programs ------------------------------------------------------------------------------------------

std::string_view word_of(End end) {
  switch (end) {
    case End::same:
      return "same";
    case End::differs:
      return "differs";
    case End::unsafe:
      return "unsafe";
    case End::useless:
      return "left_out";
    case End::gone:
      return "gone";
    case End::late:
      return "late";
    case End::died:
      return "died";
    case End::not_run:
      return "not_run";
  }
  return "";
}

json::object json_of(const Part& part, const ReplayOutcome& outcome) {
  json::array calls;
  for (const Played& played : outcome.played) {
    json::object call{{"tool", played.call->tool}, {"result", word_of(played.end)}};
    if (!played.call->session.empty()) call["call"] = played.call->name();
    call["arguments"] = parsed(played.call->arguments.empty() ? "{}" : played.call->arguments);
    if (!played.why.empty()) call["why"] = played.why;
    json::array differences;
    for (const AnswerDifference& one : played.diff.first)
      differences.push_back({{"path", one.path}, {"before", one.before}, {"after", one.after}});
    if (!differences.empty()) call["differences"] = std::move(differences);
    calls.push_back(std::move(call));
  }
  json::object counts;
  for (const End end :
       {End::same, End::differs, End::gone, End::late, End::died, End::unsafe, End::useless, End::not_run})
    counts[word_of(end)] = outcome.count(end);
  json::object object{
      {"server", part.server.name}, {"counts", std::move(counts)}, {"calls", std::move(calls)}};
  if (!outcome.trouble.empty()) object["trouble"] = outcome.trouble;
  if (!outcome.death.empty()) object["death"] = outcome.death;
  if (!outcome.last_words.empty()) object["stderr"] = outcome.last_words;
  return object;
}

// --- the command -------------------------------------------------------------------------------------------

ReplayWish wish_for(const ReplayCommand& command, const Part& part, const std::vector<std::string>& ignore) {
  ReplayWish wish{.server = part.server, .calls = part.calls};
  for (const std::string& pattern : command.safe)
    if (const auto compiled = ToolPattern::compile(pattern); !compiled)
      throw Trouble("--safe: " + compiled.error());
  wish.server.replay_safe.insert(wish.server.replay_safe.end(), command.safe.begin(), command.safe.end());
  std::vector<std::string> paths = part.server.verify.ignore;
  paths.insert(paths.end(), ignore.begin(), ignore.end());
  paths.insert(paths.end(), command.ignore.begin(), command.ignore.end());
  auto ignored = IgnoredPaths::parse(paths);
  if (!ignored) throw Trouble("--ignore: " + ignored.error());
  wish.ignored = std::move(*ignored);
  wish.unsafe = command.unsafe;
  if (!command.timeout.empty()) {
    const auto patience = parse_duration(command.timeout);
    if (!patience)
      throw Trouble(fmt::format("--timeout: \"{}\" isn't a time like 500ms or 30s", command.timeout));
    wish.patience = *patience;
  }
  return wish;
}

int replay(const ReplayCommand& command) {
  const KeptCalls recorded = recorded_calls(command.which);
  if (recorded.calls.empty())
    throw Trouble(fmt::format("{} has no calls of a server's tools",
                              command.which == "last" ? "the newest session of the journal" : command.which));
  const std::vector<Part> parts = command.command.empty() ? parts_of_config(command, recorded.calls)
                                                          : parts_for_command(command, recorded.calls);
  if (command.unsafe)
    fmt::print(stderr, "{}\n",
               coloured("1;31",
                        "--unsafe: repeating every recorded call, including those that may change something.",
                        Stream::err));
  json::array results;
  bool all_same = true;
  bool any_compared = false;
  bool any_trouble = false;
  for (const Part& part : parts) {
    ReplayWish wish = wish_for(command, part, recorded.ignore);
    const ProgressLine progress(wish.calls.size());
    wish.on_call = [&](std::size_t number, const RecordedCall& call) { progress.show(number, call); };
    const ReplayOutcome outcome = run_replay(wish);
    progress.clear();
    any_trouble = any_trouble || !outcome.trouble.empty();
    for (const Played& played : outcome.played) {
      any_compared = any_compared || is_compared(played.end);
      all_same = all_same && !differs(played.end);
    }
    all_same = all_same && outcome.death.empty();
    if (command.as_json)
      results.push_back(json_of(part, outcome));
    else if (!outcome.trouble.empty())
      fmt::print(stderr, "mcpivot replay: {}",
                 printable(fmt::format("{}: {}\n{}", part.server.name, outcome.trouble, outcome.last_words)));
    else
      print(part, outcome);
  }
  const int exit_code = any_trouble || (all_same && !any_compared) ? usage_error : all_same ? 0 : 1;
  if (command.as_json)
    say(json::serialize(json::object{{"same", exit_code == 0}, {"servers", std::move(results)}}));
  return exit_code;
}

}  // namespace

int replay_command(const ReplayCommand& command) {
  try {
    return replay(command);
  } catch (const std::exception& error) {
    fmt::print(stderr, "mcpivot replay: {}\n", printable(error.what()));
    return usage_error;
  }
}

}  // namespace mcpivot
