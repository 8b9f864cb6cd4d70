// Lines from a stream, compared with a plain split of the whole: however the bytes are split, the same
// messages result, and a line over the limit is reported with its id.
#include <algorithm>
#include <cstring>

#include "fuzz.h"
#include "rpc/json_cursor.h"
#include "rpc/line_reader.h"
#include "rpc/message.h"

namespace {

using namespace mcpivot;
using fuzz::check;

std::string told(const Skim& skim) {
  return "over " + std::to_string(skim.size()) + " id " + skim.id() + " method " + skim.method() + "\n";
}

std::string told(const LineReader::Event& event) {
  if (const auto* line = std::get_if<LineReader::Line>(&event))
    return "line " + std::string(line->text) + "\n";
  return told(std::get<Skim>(event));
}

// `keep`: every line's buffer is held for a while, as an outbox does.
std::string in_pieces(std::string_view text, std::string_view cuts, std::size_t limit, bool keep) {
  LineReader reader(limit);
  std::string all;
  std::vector<std::pair<BufferRef, std::string_view>> kept;
  auto take = [&](const LineReader::Event& event) {
    all += told(event);
    const auto* line = std::get_if<LineReader::Line>(&event);
    if (line != nullptr && keep) kept.emplace_back(reader.buffer(), line->text);
  };
  for (std::string_view piece : fuzz::pieces(text, cuts)) {
    while (!piece.empty()) {
      const auto room = reader.writable();
      check(!room.empty(), "there is room");
      const std::size_t size = std::min(room.size(), piece.size());
      std::memcpy(room.data(), piece.data(), size);
      reader.commit(size);
      piece.remove_prefix(size);
      while (const auto event = reader.next()) take(*event);
      if (kept.size() > 3) kept.erase(kept.begin());
      if (!keep) reader.trim();
    }
  }
  if (const auto event = reader.rest()) take(*event);
  for (const auto& [buffer, line] : kept)
    check(all.find(line) != std::string::npos, "a line whose buffer is kept stays as it is");
  return all;
}

std::string plainly(std::string_view text, std::size_t limit) {
  std::string all;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.size() > limit) {
      Skim skim;
      skim.feed(line);
      all += told(skim);
      continue;
    }
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t\r") != std::string_view::npos) all += "line " + std::string(line) + "\n";
  }
  return all;
}

// What is skimmed from a message is what reading all of it finds.
void check_skim(std::string_view text) {
  Skim skim;
  for (const auto piece : fuzz::pieces(text, {})) skim.feed(piece);
  const auto message = read_message(text);
  if (!message) return;
  const std::string_view id = message->text(message->id);
  const std::string_view method = message->text(message->method);
  if (id.size() < Skim::longest_value) fuzz::check_same(skim.id(), id, "the skimmed id is the message's");
  if (method.size() < Skim::longest_value)
    fuzz::check_same(skim.method(), method, "the skimmed method is the message's");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const fuzz::Input input(data, size);
  const std::size_t limit = input.settings.empty() ? 1000 : 4 + 4 * input.setting(0);
  const std::string_view cuts = input.settings.substr(std::min<std::size_t>(1, input.settings.size()));
  const std::string expected = plainly(input.text, limit);
  fuzz::check_same(in_pieces(input.text, "\xff\xff\xff", limit, false), expected, "all at once");
  fuzz::check_same(in_pieces(input.text, {}, limit, false), expected, "byte by byte");
  fuzz::check_same(in_pieces(input.text, cuts, limit, true), expected, "in pieces, with buffers kept");
  check_skim(input.text.substr(0, input.text.find('\n')));
  return 0;
}
