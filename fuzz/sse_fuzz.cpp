// Server-sent events, compared with reading the whole text line by line as the standard says: however the
// stream is split, the same events, ids and times result.
#include <algorithm>
#include <charconv>

#include "fuzz.h"
#include "link/sse_parser.h"

namespace {

using namespace mcpivot;

std::string over_text(const Skim& skim) {
  return "over " + std::to_string(skim.size()) + " id " + skim.id() + "\n";
}

struct Outcome {
  std::string events;
  std::string last_id;
  long retry = -1;
  std::string text() const { return events + "last id " + last_id + ", retry " + std::to_string(retry); }
};

Outcome in_pieces(std::string_view text, std::string_view cuts, std::size_t limit) {
  SseParser parser(limit);
  Outcome outcome;
  std::vector<BufferRef> kept;
  for (std::string_view piece : fuzz::pieces(text, cuts)) {
    while (const auto event = parser.next(piece)) {
      outcome.events += "event " + event->type + ": ";
      outcome.events += event->over ? over_text(*event->over) : std::string(event->data) + "\n";
      outcome.events += "at " + parser.last_id() + "\n";
      if (cuts.size() % 2 == 1) kept.push_back(parser.buffer());
    }
    fuzz::check(piece.empty(), "a piece is taken to its end");
  }
  outcome.last_id = parser.last_id();
  if (parser.retry()) outcome.retry = parser.retry()->count();
  return outcome;
}

Outcome plainly(std::string_view text, std::size_t limit) {
  Outcome outcome;
  if (text.starts_with("\xEF\xBB\xBF")) text.remove_prefix(3);
  std::string type;
  std::string data;
  bool has_data = false;
  std::optional<std::string> id;
  while (true) {
    const auto end = text.find_first_of("\r\n");
    if (end == std::string_view::npos) return outcome;  // a last line without a line end doesn't count
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end + (text.substr(end).starts_with("\r\n") ? 2 : 1));
    if (line.empty()) {
      if (id) outcome.last_id = *std::exchange(id, std::nullopt);
      if (has_data && !data.empty()) {
        outcome.events += "event " + type + ": ";
        if (data.size() > limit) {
          Skim skim;
          skim.feed(data);
          outcome.events += over_text(skim);
        } else {
          outcome.events += data + "\n";
        }
        outcome.events += "at " + outcome.last_id + "\n";
      }
      type.clear();
      data.clear();
      has_data = false;
      continue;
    }
    const auto colon = line.find(':');
    const std::string_view field = line.substr(0, colon);
    std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    const bool too_long = value.size() > SseParser::longest_id;
    if (field == "data") {
      if (has_data) data += '\n';
      data += value;
      has_data = true;
    } else if (field == "event" && !too_long) {
      type = value;
    } else if (field == "id" && !too_long && value.find('\0') == std::string_view::npos) {
      id = value;
    } else if (field == "retry") {
      std::uint32_t number = 0;
      const auto [rest, error] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (error == std::errc() && rest == value.data() + value.size()) outcome.retry = number;
    }
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::size_t limit = input.settings.empty() ? 1000 : 4 + 4 * input.setting(0);
  const std::string_view cuts = input.settings.substr(std::min<std::size_t>(1, input.settings.size()));
  const std::string expected = plainly(input.text, limit).text();
  fuzz::check_same(in_pieces(input.text, "\xff\xff\xff", limit).text(), expected, "all at once");
  fuzz::check_same(in_pieces(input.text, {}, limit).text(), expected, "byte by byte");
  fuzz::check_same(in_pieces(input.text, cuts, limit).text(), expected, "in pieces");
  return 0;
}
