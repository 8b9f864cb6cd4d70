// What a parser takes as its input grows: the same piece repeated until there is eight times as much of it
// must not take much more than eight times as long. The input says which parser, and what comes before,
// between and after the pieces.
#include <algorithm>
#include <array>
#include <ctime>

#include "base/output_ring.h"
#include "base/utf8.h"
#include "cli/split_words.h"
#include "clitools/compact_json.h"
#include "clitools/tool_schema.h"
#include "config/config_file.h"
#include "config/env_file.h"
#include "fuzz.h"
#include "glob/glob.h"
#include "install/client_text.h"
#include "link/sse_parser.h"
#include "mcp/catalog.h"
#include "mcp/initialize.h"
#include "rpc/line_reader.h"
#include "rpc/message.h"
#include "search/tool_search.h"
#include "watch/ignore_rules.h"

namespace {

using namespace mcpivot;
using Text = std::string_view;

constexpr std::size_t small = 8 * 1024;
constexpr std::size_t times_as_much = 8;
constexpr double most_times_as_long = 3.0 * times_as_much;  // eight times eight would be quadratic
constexpr double worth_telling = 0.1;                       // in seconds

void read_one(Text text) {
  (void)read_message(text);
  (void)read_batch(text);
}
void skim(Text text) {
  Skim skim;
  skim.feed(text);
}
void events(Text text) {
  SseParser parser(1'000'000);
  while (parser.next(text)) continue;
}
void config(Text text) {
  (void)read_config(text, "/f", [](const char*) -> const char* { return nullptr; });
}
void json_client(Text text) {
  (void)with_server(*find_client("cursor"), text, "x", {});
}
void toml_client(Text text) {
  (void)with_server(*find_client("codex"), text, "x", {});
}
void schema(Text text) {
  (void)read_tool_schema(text);
}
void handshake(Text text) {
  (void)widened_initialize_result(text);
}
void catalog(Text text) {
  Catalog made;
  for (const ListKind kind : all_lists) made.add_page(kind, text);
  compare(made, made);
}
void ignore(Text text) {
  IgnoreRules rules("");
  rules.set("", text);
  rules.ignores(text.substr(0, 200), true);
}
void search(Text text) {
  ToolSearch tools;
  tools.add({.server = "s",
             .name = std::string(text.substr(0, 100)),
             .title = {},
             .description = std::string(text),
             .parameters = {}});
  tools.search(text, 5);
}
void lines(Text text) {
  OutputRing ring;
  LineAssembler assembler;
  assembler.feed(text, [&](const std::string& line) { ring.add(1, line); });
  as_utf8(text);
}
void words(Text text) {
  (void)split_words(text);
  (void)parse_env_file(text);
  (void)fill_in(text, {.variable = [](const char*) -> const char* { return "v"; }, .workspace = {}});
}
void compact(Text text) {
  if (is_json(text)) compact_json(text);
}

constexpr std::array parsers{read_one,  skim,    events, config, json_client, toml_client, schema,
                             handshake, catalog, ignore, search, lines,       words,       compact};

// In seconds of this thread, so that others on the machine don't count.
double cost(void (*parser)(Text), Text text) {
  timespec before{};
  timespec after{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &before);
  parser(text);
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &after);
  return static_cast<double>(after.tv_sec - before.tv_sec) +
         static_cast<double>(after.tv_nsec - before.tv_nsec) / 1e9;
}

// A '@' in the piece is a number that counts up, for names that differ.
std::string repeated(Text before, Text piece, Text behind, std::size_t size) {
  std::string text(before);
  for (std::size_t i = 0; text.size() < size; ++i) {
    for (const char c : piece)
      if (c == '@') {
        text += std::to_string(i);
      } else {
        text += c;
      }
  }
  return text.append(behind);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);  // a letter for the parser, and texts with a '\x1f' between them
  if (input.settings.empty()) return 0;
  const auto parser = parsers[input.setting(0) % parsers.size()];
  Text rest = input.text;
  std::array<Text, 3> parts;
  for (Text& part : parts) {
    const std::size_t end = std::min(rest.find('\x1f'), rest.size());
    part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
  const auto [before, piece, behind] = parts;
  if (piece.empty() || before.size() + behind.size() > small / 2) return 0;
  const std::string little = repeated(before, piece, behind, small);
  const std::string much = repeated(before, piece, behind, small * times_as_much);
  if (cost(parser, much) < worth_telling) return 0;
  // The least of a few, so that a disturbance isn't mistaken for a cost.
  double least_little = cost(parser, little);
  double least_much = cost(parser, much);
  for (int i = 0; i < 2; ++i) {
    least_little = std::min(least_little, cost(parser, little));
    least_much = std::min(least_much, cost(parser, much));
  }
  if (least_much < worth_telling || least_much < most_times_as_long * least_little) return 0;
  std::fprintf(stderr, "%zu bytes take %.3f s, %zu bytes %.3f s\n", little.size(), least_little, much.size(),
               least_much);
  fuzz::check(false, "eight times as much takes not much more than eight times as long");
  return 0;
}
