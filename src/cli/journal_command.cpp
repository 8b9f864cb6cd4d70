#include "cli/journal_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/json.hpp>
#include <charconv>
#include <chrono>
#include <ctime>
#include <map>
#include <system_error>
#include <utility>

#include "base/duration_text.h"
#include "base/utf8.h"
#include "cli/colours.h"
#include "cli/control_command.h"
#include "cli/journal_table.h"
#include "cli/pretty_json.h"
#include "cli/say.h"
#include "cli/text_table.h"
#include "cli/which_mcpivot.h"
#include "config/units.h"
#include "gateway/routes.h"
#include "journal/journal_reader.h"
#include "journal/kept_calls.h"
#include "proc/terminal.h"
#include "rpc/json_cursor.h"

namespace mcpivot {
namespace {

namespace json = boost::json;
using std::chrono::system_clock;
using Outcome = RecordedCall::Outcome;

constexpr timespec follow_pace{.tv_sec = 0, .tv_nsec = 200'000'000};

// The command makes no sense, or what it names doesn't exist.
struct Trouble {
  std::string words;
  int exit_code = 1;
};

[[noreturn]] void refuse(std::string words) {
  throw Trouble{std::move(words), usage_error};
}

template <class Value>
Value value_or_trouble(std::expected<Value, std::string> value) {
  if (!value) throw Trouble{value.error()};
  return std::move(*value);
}

// --- which calls -----------------------------------------------------------------------------------------

// "10m" ago, the last "14:05", "2026-11-18", or "2026-11-18 14:05"
system_clock::time_point since_of(const std::string& text) {
  const auto now = system_clock::now();
  if (const auto ago = parse_duration(text)) return now - *ago;
  for (const char* format : {"%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%dT%H:%M",
                             "%Y-%m-%d", "%H:%M:%S", "%H:%M"}) {
    std::tm time{};
    const std::tm today = local_time(now);
    if (format[1] == 'H') {
      time = today;
      time.tm_sec = 0;
    }
    const char* const end = ::strptime(text.c_str(), format, &time);
    if (end == nullptr || *end != '\0') continue;
    time.tm_isdst = -1;
    const auto since = system_clock::from_time_t(std::mktime(&time));
    if (format[1] != 'H' || since <= now) return since;
    // "23:50", ten minutes after midnight
    std::tm yesterday = today;
    yesterday.tm_hour = time.tm_hour;
    yesterday.tm_min = time.tm_min;
    yesterday.tm_sec = time.tm_sec;
    yesterday.tm_isdst = -1;
    --yesterday.tm_mday;
    return system_clock::from_time_t(std::mktime(&yesterday));
  }
  refuse(
      fmt::format("--since: expected a time like 10m (ago), 14:05 or \"2026-11-18 14:05\", got '{}'", text));
}

CallFilter filter_of(const JournalWish& wish) {
  CallFilter filter{.tool = wish.tool, .server = wish.server, .errors = wish.errors, .all_methods = wish.all};
  if (!wish.slow.empty()) {
    const auto slow = parse_duration(wish.slow);
    if (!slow) refuse(fmt::format("--slow: expected a duration like 500ms or 1s, got '{}'", wish.slow));
    filter.slow = *slow;
  }
  if (!wish.since.empty()) filter.since = since_of(wish.since);
  return filter;
}

bool is_filtered(const JournalWish& wish, const std::string& text) {
  return wish.errors || !text.empty() || !wish.tool.empty() || !wish.server.empty() || !wish.slow.empty() ||
         !wish.since.empty();
}

// --- for programs ----------------------------------------------------------------------------------------

std::string_view outcome_words(Outcome outcome) {
  switch (outcome) {
    case Outcome::open:
      return "no answer";
    case Outcome::ok:
      return "ok";
    case Outcome::tool_error:
      return "tool error";
    case Outcome::error:
      return "error";
    case Outcome::cancelled:
      return "cancelled";
  }
  return "";
}

json::object described(const RecordedCall& call) {
  json::array asked;
  for (const Asked& one : call.asked)
    asked.push_back({{"method", one.method}, {"params", parsed(one.params)}, {"answer", parsed(one.answer)}});
  json::object object{{"id", call.name()},
                      {"time", milliseconds_text(call.when)},
                      {"client", call.client},
                      {"server", call.server},
                      {"generation", call.generation},
                      {"method", call.method},
                      {"name", call.called},
                      {"tool", call.tool},
                      {"outcome", outcome_words(call.outcome)},
                      {"tookMs", static_cast<double>(call.took.count()) / 1e3},
                      {"bytesIn", call.bytes_in},
                      {"bytesOut", call.bytes_out},
                      {"complete", call.is_complete},
                      {"redacted", call.is_redacted},
                      {"arguments", parsed(call.arguments)},
                      {"answer", parsed(call.answer)},
                      {"asked", std::move(asked)}};
  return object;
}

void print_notes(const JournalReader& reader) {
  std::fflush(stdout);
  for (const std::string& note : reader.notes()) fmt::print(stderr, "mcpivot journal: left out: {}\n", note);
}

// The call may be in a file that was left out.
RecordedCall call_of(const JournalReader& reader, const std::string& name) {
  auto call = reader.call(name);
  if (!call) print_notes(reader);
  return value_or_trouble(std::move(call));
}

// --- what the command does -------------------------------------------------------------------------------

int list(const JournalReader& reader, const JournalWish& wish, const std::string& text) {
  CallFilter filter = filter_of(wish);
  filter.text = text;
  filter.most = static_cast<std::size_t>(std::max(wish.lines, 1));
  // A call that ends in the meantime counts as new.
  JournalReader::Seen seen = wish.follow ? reader.all_so_far() : JournalReader::Seen();
  const auto calls = value_or_trouble(reader.calls(filter));
  if (wish.as_json && !wish.follow) {
    json::array all;
    for (const RecordedCall& call : calls) all.push_back(described(call));
    fmt::print("{}\n", json::serialize(all));
    print_notes(reader);
    return 0;
  }
  const bool with_client = wish.follow || (!calls.empty() && has_several_clients(calls));
  if (wish.as_json) {
    for (const RecordedCall& call : calls) fmt::print("{}\n", json::serialize(described(call)));
  } else if (calls.empty() && !wish.follow) {
    fmt::print("{}\n",
               is_filtered(wish, text) ? "no call in the journal matches" : "the journal has no calls yet");
  } else if (!calls.empty()) {
    print_calls(calls, with_client, wish.follow ? TableKind::follows : TableKind::whole);
  }
  if (const std::uint64_t missing = wish.as_json || is_filtered(wish, text) ? 0 : reader.missing();
      missing > 0)
    fmt::print("{}\n", coloured("33", missing == 1 ? "1 message is missing"
                                                   : fmt::format("{} messages are missing", missing)));
  print_notes(reader);
  if (!wish.follow) return 0;
  const EndOnSignal ending;
  auto kind = calls.empty() ? TableKind::follows : TableKind::next_line;
  while (std::fflush(stdout) == 0 && !EndOnSignal::due()) {
    ::nanosleep(&follow_pace, nullptr);
    const auto fresh = reader.newer(filter, seen);
    for (const RecordedCall& call : fresh) {
      if (wish.as_json)
        fmt::print("{}\n", json::serialize(described(call)));
      else
        print_calls({call}, with_client, std::exchange(kind, TableKind::next_line));
    }
  }
  return 0;
}

std::string heading_of(const RecordedMessage& message) {
  const std::string server = message.server.empty() ? "the server" : flat(message.server);
  std::string text = message.way == "from_client"   ? "client → mcpivot"
                     : message.way == "to_server"   ? fmt::format("mcpivot → {}", server)
                     : message.way == "from_server" ? fmt::format("{} → mcpivot", server)
                                                    : "mcpivot → client";
  if (message.what != "passed")
    text += message.what == "made"      ? ", mcpivot's own"
            : message.what == "refused" ? ", rejected"
                                        : ", " + message.what;
  if (message.bridged) text += ", translated between protocol eras";
  if (!message.why.empty()) text += fmt::format(": {}", flat(message.why));
  return text;
}

int show(const JournalReader& reader, const JournalWish& wish, const std::string& name) {
  const RecordedCall call = call_of(reader, name);
  const std::vector<RecordedMessage> messages = reader.messages_of(call);
  if (wish.as_json) {
    json::object object = described(call);
    json::array all;
    for (const RecordedMessage& message : messages)
      all.push_back({{"way", message.way},
                     {"what", message.what},
                     {"why", message.why},
                     {"time", milliseconds_text(message.when)},
                     {"message", parsed(message.text)}});
    object["messages"] = std::move(all);
    fmt::print("{}\n", json::serialize(object));
    print_notes(reader);
    return 0;
  }
  fmt::print("{}\n", coloured("1", fmt::format("{}  {}", call.name(), flat(name_of(call)))));
  std::string facts = fmt::format("{}, client {}", milliseconds_text(call.when), flat(call.client));
  if (!call.server.empty()) {
    facts += fmt::format(", server {}, generation {}", flat(call.server), call.generation);
    if (call.tool != call.called) facts += fmt::format(", tool {}", flat(call.tool));
  } else {
    facts += ", answered by mcpivot";
  }
  fmt::print("{}\n{}", facts, outcome_words(call.outcome));
  if (call.outcome != Outcome::open) fmt::print(" after {}", short_time_text(call.took));
  fmt::print("; {} in, {} out{}{}\n", size_text(call.bytes_in), size_text(call.bytes_out),
             call.is_redacted ? "; secrets were replaced" : "", call.is_complete ? "" : "; incomplete");
  for (const RecordedMessage& message : messages) {
    const auto after = std::chrono::duration_cast<std::chrono::microseconds>(message.when - call.when);
    fmt::print("\n{}\n", coloured("2", fmt::format("+{}  {}", short_time_text(after), heading_of(message))));
    if (message.is_same)
      fmt::print("{}\n", coloured("2", "unchanged, except for ids"));
    else
      fmt::print("{}\n", message.text.empty() ? "(not stored)" : printable(pretty_json(message.text)));
  }
  print_notes(reader);
  return 0;
}

// Of the times of a tool's calls, in order.
std::chrono::microseconds percentile(const std::vector<std::chrono::microseconds>& sorted,
                                     std::size_t percent) {
  if (sorted.empty()) return {};
  return sorted[(sorted.size() * percent + 99) / 100 - 1];
}

int stats(const JournalReader& reader, const JournalWish& wish, const std::string& text) {
  CallFilter filter = filter_of(wish);
  filter.text = text;
  filter.with_texts = false;
  struct Tool {
    std::size_t calls = 0;
    std::size_t errors = 0;
    std::uint64_t bytes_in = 0;
    std::uint64_t bytes_out = 0;
    std::vector<std::chrono::microseconds> times{};
  };
  std::map<std::pair<std::string, std::string>, Tool> tools;
  for (const RecordedCall& call : value_or_trouble(reader.calls(filter))) {
    Tool& tool = tools[{call.server, call.method == "tools/call" ? call.tool : call.method}];
    ++tool.calls;
    if (call.is_error || call.tool_failed) ++tool.errors;
    tool.bytes_in += call.bytes_in;
    tool.bytes_out += call.bytes_out;
    if (call.outcome != Outcome::open) tool.times.push_back(call.took);
  }
  json::array all;
  std::vector<TextRow> rows;
  for (auto& [name, tool] : tools) {
    std::ranges::sort(tool.times);
    const auto p50 = percentile(tool.times, 50);
    const auto p95 = percentile(tool.times, 95);
    // What the model reads is the answer.
    const std::size_t tokens = tokens_in(tool.bytes_out);
    all.push_back({{"server", name.first},
                   {"tool", name.second},
                   {"calls", tool.calls},
                   {"errors", tool.errors},
                   {"p50Ms", static_cast<double>(p50.count()) / 1e3},
                   {"p95Ms", static_cast<double>(p95.count()) / 1e3},
                   {"bytesIn", tool.bytes_in},
                   {"bytesOut", tool.bytes_out},
                   {"tokens", tokens}});
    rows.push_back({name.first.empty() ? "mcpivot" : flat(name.first), flat(name.second),
                    std::to_string(tool.calls), std::to_string(tool.errors), short_time_text(p50),
                    short_time_text(p95), size_text(tool.bytes_in), size_text(tool.bytes_out),
                    std::to_string(tokens)});
  }
  if (wish.as_json) {
    fmt::print("{}\n", json::serialize(all));
  } else if (rows.empty()) {
    fmt::print("no call in the journal matches\n");
  } else {
    fmt::print("{}", text_table({{.title = "SERVER", .least = 6},
                                 {.title = "TOOL", .least = 14},
                                 {.title = "CALLS", .left = false},
                                 {.title = "ERRORS", .left = false},
                                 {.title = "P50", .left = false},
                                 {.title = "P95", .left = false},
                                 {.title = "IN", .left = false, .leaves = 1},
                                 {.title = "OUT", .left = false},
                                 {.title = "TOKENS", .left = false, .leaves = 2}},
                                std::move(rows), terminal_width()));
  }
  print_notes(reader);
  return 0;
}

int write_out(const JournalReader& reader, const JournalWish& wish, const std::string& text) {
  std::optional<CallFilter> filter;
  if (is_filtered(wish, text)) {
    filter = filter_of(wish);
    filter->text = text;
  }
  const auto done = reader.each_message(filter, [](const RecordedMessage& message) {
    json::object line{{"session", message.session},
                      {"id", message.id},
                      {"time", milliseconds_text(message.when)},
                      {"way", message.way},
                      {"what", message.what}};
    if (message.call != 0) line["call"] = json::string(fmt::format("{}:{}", message.session, message.call));
    if (message.client != 0) line["client"] = message.client;
    if (!message.server.empty()) line["server"] = json::string(message.server);
    if (message.generation != 0) line["generation"] = message.generation;
    if (!message.why.empty()) line["why"] = json::string(message.why);
    line["size"] = message.size;
    std::string out = json::serialize(line);
    // The message itself as it was spelled.
    JsonCursor cursor(message.text);
    if (!message.text.empty() && cursor.value() && cursor.end())
      out.insert(out.size() - 1, R"(,"message":)" + message.text);
    else if (!message.text.empty())
      out.insert(out.size() - 1, R"(,"text":)" + json::serialize(json::string_view(message.text)));
    fmt::print("{}\n", out);
    return std::ferror(stdout) == 0;
  });
  if (!done) throw Trouble{done.error()};
  print_notes(reader);
  return 0;
}

int keep(const JournalReader& reader, const std::vector<std::string>& ids) {
  KeptCalls kept;
  for (const std::string& id : ids) {
    RecordedCall call = call_of(reader, id);
    if (call.method != "tools/call")
      throw Trouble{fmt::format("{} is {}; only calls of tools can be kept", id, call.method)};
    if (call.server.empty())
      throw Trouble{
          fmt::format("{} is {}, which mcpivot answered itself; only calls of servers' tools can be kept", id,
                      call.tool)};
    if (call.answer.empty())
      throw Trouble{fmt::format("{} has no answer, so there is nothing to compare with", id)};
    if (const std::string why = why_not_kept(call); !why.empty())
      throw Trouble{fmt::format("{}: {}", id, why)};
    if (call.asks) throw Trouble{fmt::format("{} asks for input; keep the call that went on with it", id)};
    if (!call.is_complete)
      fmt::print(stderr,
                 "mcpivot journal: {}: something is missing in the journal, so its questions may be, too\n",
                 id);
    if (call.is_redacted)
      fmt::print(stderr, "mcpivot journal: {}: secrets in it were replaced, so it may answer differently\n",
                 id);
    kept.calls.push_back(std::move(call));
  }
  fmt::print("{}", kept_calls_text(kept));
  print_notes(reader);
  return 0;
}

// Switches the journal of a running mcpivot.
int turn(const JournalWish& wish, bool on) {
  ControlWish control;
  control.instance = wish.instance;
  ControlClient client = the_one(control);
  const json::object answer = client.ask("journal", {{"on", on}}).as_object();
  if (!on)
    fmt::print("the journal is off\n");
  else
    fmt::print("the journal is on: session {}; \"mcpivot journal -f\" follows it\n",
               std::string_view(answer.at("session").as_string()));
  return 0;
}

int run(const JournalWish& wish) {
  std::vector<std::string> words = wish.words;
  const std::string action = words.empty() ? "" : words.front();
  const auto wants = [&](std::size_t least, std::size_t most, const char* usage) {
    if (words.size() - 1 < least || words.size() - 1 > most)
      refuse(fmt::format("usage: mcpivot journal {}", usage));
  };
  if (action == "on" || action == "off") {
    wants(0, 0, "on|off");
    return turn(wish, action == "on");
  }
  const bool is_action = action == "show" || action == "stats" || action == "export" || action == "keep";
  if (action == "show") wants(1, 1, "show ID");
  if (action == "keep") wants(1, 10'000, "keep ID... > calls.json");
  std::string text;
  if (!is_action || action == "stats" || action == "export")
    for (std::size_t i = is_action ? 1 : 0; i < words.size(); ++i)
      text += (text.empty() ? "" : " ") + words[i];
  // Before the journal is opened: what is wrong with the filters is said first.
  (void)filter_of(wish);
  const JournalReader reader = value_or_trouble(JournalReader::open(wish.session));
  if (action == "show") return show(reader, wish, words[1]);
  if (action == "stats") return stats(reader, wish, text);
  if (action == "export") return write_out(reader, wish, text);
  if (action == "keep") return keep(reader, {words.begin() + 1, words.end()});
  return list(reader, wish, text);
}

}  // namespace

int journal_command(const JournalWish& wish) {
  try {
    return run(wish);
  } catch (const Trouble& trouble) {
    fmt::print(stderr, "mcpivot journal: {}\n", trouble.words);
    return trouble.exit_code;
  } catch (const ControlError& error) {
    fmt::print(stderr, "mcpivot journal: {}\n", error.what());
    return 1;
  } catch (const std::system_error&) {
    return 1;  // nobody reads any more
  } catch (const std::exception& error) {
    fmt::print(stderr, "mcpivot journal: can't read the answer of the running mcpivot ({})\n", error.what());
    return 1;
  }
}

}  // namespace mcpivot
