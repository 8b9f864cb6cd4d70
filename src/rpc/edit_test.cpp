#include "rpc/edit.h"

#include <gtest/gtest.h>

#include <array>

#include "rpc/kept_message.h"
#include "rpc/request_table.h"

namespace mcpivot {
namespace {

TEST(Edits, are_applied_in_order_of_position_however_many_there_are) {
  const std::string raw(100, '.');
  Edits edits;
  std::string expected = raw;
  for (std::uint32_t i = 0; i < 100; ++i) {
    const std::uint32_t at = i * 37 % 100;
    const char letter = static_cast<char>('a' + at % 26);
    expected[at] = letter;
    edits.replace({at, 1}, edits.keep(std::string(1, letter)));
    EXPECT_EQ(edits.list().size(), i + 1);
    ASSERT_EQ(spliced(raw, edits.list()), expected);
  }
}

TEST(Edits, of_an_absent_part_do_nothing) {
  EXPECT_TRUE(Edits().replace(Span(), "x").empty());
}

TEST(Edits, an_absent_value_is_distinct_from_an_insertion_at_the_beginning) {
  Edits edits;
  edits.insert(0, "x").replace({2, 1}, "y");
  EXPECT_EQ(edited("abc", Span(), edits.list()), "");
  EXPECT_EQ(edited("abc", {2, 1}, edits.list()), "y");
  EXPECT_EQ(edited("abc", {1, 1}, edits.list()), "b");
}

TEST(Span, of_a_part_is_its_position_and_an_empty_part_is_absent) {
  const std::string_view raw = "abcdef";
  EXPECT_EQ(span_of(raw, raw.substr(2, 3)), (Span{2, 3}));
  EXPECT_FALSE(span_of(raw, raw.substr(2, 0)));
  EXPECT_FALSE(span_of(raw, std::string_view()));
}

TEST(Edits, keep_texts_of_any_length_alive) {
  Edits edits;
  std::string expected;
  for (std::size_t i = 0; i < 40; ++i) {
    std::string text(i * 7, static_cast<char>('a' + i % 26));
    expected += text;
    edits.insert(i, edits.keep(text));
    text.assign(text.size(), '!');
    expected += '.';
  }
  EXPECT_EQ(spliced(std::string(40, '.'), edits.list()), expected);
}

TEST(Edits, a_kept_empty_text_is_an_empty_piece) {
  Edits edits;
  edits.replace({1, 1}, edits.keep({}));
  EXPECT_EQ(spliced("abc", edits.list()), "ac");
}

TEST(Edits, spliced_pieces_are_never_empty) {
  Edits edits;
  edits.replace({0, 1}, {}).replace({1, 1}, "x").replace({2, 1}, {});
  std::vector<std::string_view> pieces;
  splice("abc", edits.list(), [&](std::string_view piece) { pieces.push_back(piece); });
  EXPECT_EQ(pieces, std::vector<std::string_view>{"x"});
}

// An empty replacement without an address must not be copied: sanitizers stop at that.
TEST(Edits, that_only_remove_text_are_applied_to_kept_messages_of_any_size) {
  for (const std::size_t size : {10UZ, 20UZ * 1024}) {
    const std::string line = R"({"jsonrpc":"2.0","method":"m","params":{"text":")" + std::string(size, 'x') +
                             R"(","requestState":"s"},"id":1})";
    const Message message = *read_message(line);
    const std::string_view gone = R"(,"requestState":"s")";
    Edits edits;
    edits.replace({static_cast<std::uint32_t>(line.find(gone)), static_cast<std::uint32_t>(gone.size())}, {});
    const KeptMessage kept(message, edits.list());
    EXPECT_EQ(kept.raw(), spliced(line, edits.list()));
    EXPECT_EQ(kept.raw().find("requestState"), std::string_view::npos);
    EXPECT_EQ(kept.message().text(kept.message().id), "1");
  }
}

TEST(Edits, report_where_other_parts_of_the_message_move) {
  const std::string raw = R"({"id":7,"name":"long__name","token":"t"})";
  const Span id{6, 1};
  const Span name{15, 12};
  const Span token{36, 3};
  ASSERT_EQ(name.of(raw), R"("long__name")");
  ASSERT_EQ(token.of(raw), R"("t")");
  Edits edits;
  edits.replace(name, R"("n")");
  const std::string made = spliced(raw, edits.list());
  EXPECT_EQ(moved(id, edits.list()).of(made), "7");
  EXPECT_EQ(moved(name, edits.list()).of(made), R"("n")");
  EXPECT_EQ(moved(token, edits.list()).of(made), R"("t")");
}

struct StoppedClock final : Clock {
  Time now() const override { return {}; }
  Date date() const override { return {}; }
};

// What is kept of a request is sent to a later generation, whose response is based on it.
TEST(Edits, of_a_request_are_applied_to_kept_requests_of_any_size) {
  for (const std::size_t size : {10UZ, 100'000UZ}) {
    const std::string line =
        R"({"jsonrpc":"2.0","method":"tools/call","params":{"name":"alpha__look","arguments":{"text":")" +
        std::string(size, 'x') + R"("},"_meta":{"progressToken":"my token"}},"id":"my id"})";
    Message message = *read_message(line);
    Edits edits;
    edits.replace(message.name, R"("look")");
    const StoppedClock clock;
    RequestTable<int> table(clock);
    const auto& request = *table.find(table.add(message, 1, edits.list()));
    EXPECT_EQ(request.id(), R"("my id")");
    EXPECT_EQ(request.token(), R"("my token")");
    EXPECT_EQ(request.method(), R"("tools/call")");
    EXPECT_EQ(request.name(), R"("look")");
    EXPECT_EQ(request.kept.raw(), spliced(line, edits.list()));
  }
}

}  // namespace
}  // namespace mcpivot
