#include "rpc/line_reader.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace mcpivot {
namespace {

// Feeds the text in pieces of these sizes (the last one repeated) and collects what comes out, as text.
std::vector<std::string> read_all(LineReader& reader, std::string_view text,
                                  const std::vector<std::size_t>& pieces) {
  std::vector<std::string> lines;
  auto collect = [&](const LineReader::Event& event) {
    if (const auto* skim = std::get_if<Skim>(&event)) {
      lines.push_back("oversize " + std::to_string(skim->size()) + " id " + skim->id());
    } else {
      lines.emplace_back(std::get<LineReader::Line>(event).text);
    }
  };
  for (std::size_t i = 0; !text.empty(); ++i) {
    auto room = reader.writable();
    const std::size_t size = std::min({pieces[std::min(i, pieces.size() - 1)], text.size(), room.size()});
    std::memcpy(room.data(), text.data(), size);
    reader.commit(size);
    text.remove_prefix(size);
    while (auto event = reader.next()) collect(*event);
  }
  if (auto event = reader.rest()) collect(*event);
  return lines;
}

TEST(LineReader, returns_lines_without_line_ends_and_skips_blank_ones) {
  LineReader reader(100);
  EXPECT_EQ(read_all(reader, "a\n\n  \r\nb\r\n\nc", {3}), (std::vector<std::string>{"a", "b", "c"}));
}

TEST(LineReader, reports_a_line_over_the_limit_and_continues) {
  const std::string big = R"({"jsonrpc":"2.0","result":")" + std::string(500'000, 'x') + R"(","id":"abc"})";
  for (const std::size_t piece : {std::size_t{1000}, std::size_t{65536}}) {
    LineReader reader(10'000);
    EXPECT_EQ(read_all(reader, "before\n" + big + "\nafter\n", {piece}),
              (std::vector<std::string>{"before", "oversize " + std::to_string(big.size()) + R"( id "abc")",
                                        "after"}));
    EXPECT_LE(reader.buffer()->capacity(), 128U * 1024);
  }
}

TEST(LineReader, a_line_of_exactly_the_limit_passes) {
  LineReader reader(10);
  EXPECT_EQ(read_all(reader, "0123456789\n01234567890\n", {5}),
            (std::vector<std::string>{"0123456789", "oversize 11 id "}));
}

TEST(LineReader, keeps_a_buffer_that_is_still_in_use) {
  LineReader reader(1'000'000);
  auto room = reader.writable();
  std::memcpy(room.data(), "first\nsec", 9);
  reader.commit(9);
  const auto line = std::get<LineReader::Line>(*reader.next());
  const BufferRef kept = reader.buffer();
  for (int i = 0; i < 100; ++i) {
    room = reader.writable();
    std::memset(room.data(), 'x', room.size());
    reader.commit(room.size() / 2);
    EXPECT_FALSE(reader.next());
    if (reader.buffer() != kept) break;
  }
  EXPECT_NE(reader.buffer(), kept);
  EXPECT_EQ(line.text, "first");
}

TEST(LineReader, frees_memory_when_told_to) {
  LineReader reader(10'000'000);
  read_all(reader, std::string(3'000'000, 'x') + "\n", {65536});
  EXPECT_TRUE(reader.oversized());
  reader.trim();
  EXPECT_FALSE(reader.oversized());
  EXPECT_EQ(read_all(reader, "still reads\n", {5}), std::vector<std::string>{"still reads"});
}

RC_GTEST_PROP(LineReaderProperty, returns_the_same_lines_however_the_input_is_split, ()) {
  const auto lines = *rc::gen::container<std::vector<std::string>>(rc::gen::map(
      rc::gen::inRange(1, 3000), [](int size) { return std::string(static_cast<std::size_t>(size), 'y'); }));
  const auto pieces = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(1, 70'000)));
  std::string text;
  for (const auto& line : lines) text += line + "\n";
  LineReader reader(1'000'000);
  RC_ASSERT(read_all(reader, text, pieces) == lines);
}

TEST(Skim, finds_id_and_method_wherever_they_are) {
  auto skim = [](std::string_view text) {
    Skim whole;
    whole.feed(text);
    Skim bytes;
    for (const char c : text) bytes.feed({&c, 1});
    EXPECT_EQ(whole.id(), bytes.id()) << text;
    EXPECT_EQ(whole.method(), bytes.method()) << text;
    return whole.id() + "|" + whole.method();
  };
  EXPECT_EQ(skim(R"({"id":1,"method":"a","params":{"id":2,"x":"\"id\":3,"}})"), R"(1|"a")");
  EXPECT_EQ(skim(R"({"result":{"content":["}","{",{"id":9}]},"id" : "q\"uote" })"), R"("q\"uote"|)");
  EXPECT_EQ(skim(R"({"\u0069d":5,"x":[[]]})"), "5|");
  EXPECT_EQ(skim(R"({"id":1,"id":2})"), "|");
  EXPECT_EQ(skim(R"({"id":{"id":1}})"), "|");
  EXPECT_EQ(skim(R"({"id":nonsense,"method":"m"})"), R"(|"m")");
  EXPECT_EQ(skim(R"({"id":")" + std::string(1000, 'x') + R"("})"), "|");
  EXPECT_EQ(skim("not json at all: \\u \"\\"), "|");
}

}  // namespace
}  // namespace mcpivot
