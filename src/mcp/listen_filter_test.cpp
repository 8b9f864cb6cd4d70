#include "mcp/listen_filter.h"

#include <gtest/gtest.h>

namespace mcpivot {
namespace {

constexpr std::string_view id = R"("io.modelcontextprotocol/subscriptionId":7)";

std::string with_seven(const std::string& params) {
  const std::string line = R"({"jsonrpc":"2.0","method":"notifications/resources/updated")" + params + "}";
  const std::string tagged = with_subscription(*read_message(line), "7");
  const auto message = read_message(tagged);
  EXPECT_TRUE(message && message->text(message->subscription) == "7") << tagged;
  return tagged.substr(tagged.find(R"("params":)") + 9);
}

bool wants(const ListenFilter& filter, const std::string& line) {
  return filter.wants(*read_message(line));
}

TEST(ListenFilter, is_parsed_as_it_is_formatted) {
  for (const std::string_view text :
       {R"({})", R"({"toolsListChanged":true})", R"({"promptsListChanged":true,"resourcesListChanged":true})",
        R"({"toolsListChanged":true,"resourceSubscriptions":["a:1","b:\"2\""]})"})
    EXPECT_EQ(text_of(listen_filter_of(text)), text);
}

TEST(ListenFilter, unknown_members_are_dropped) {
  EXPECT_TRUE(
      listen_filter_of(R"({"toolsListChanged":1,"resourceSubscriptions":"a:1","other":true})").empty());
  EXPECT_TRUE(listen_filter_of("null").empty());
  EXPECT_TRUE(listen_filter_of("").empty());
  EXPECT_EQ(listen_filter_of(R"({"resourceSubscriptions":["a:1",7,null,"a:\u0031"]})").uris, Uris{"a:1"});
}

TEST(ListenFilter, includes_named_lists_named_resources_and_resources_below_them) {
  const ListenFilter filter{.prompts = true, .uris = {"a:1"}};
  EXPECT_TRUE(wants(filter, R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed"})"));
  EXPECT_FALSE(wants(filter, R"({"jsonrpc":"2.0","method":"notifications/tools/list_changed"})"));
  const std::string updated =
      R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":)";
  EXPECT_TRUE(wants(filter, updated + R"("a:1"}})"));
  EXPECT_TRUE(wants(filter, updated + R"("a:1/part"}})"));
  EXPECT_FALSE(wants(filter, updated + R"("a:10"}})"));
  EXPECT_FALSE(wants(filter, R"({"jsonrpc":"2.0","method":"notifications/message"})"));
  EXPECT_TRUE(filter.has(ListKind::prompts));
  EXPECT_FALSE(filter.has(ListKind::templates));
  EXPECT_TRUE(ListenFilter{.resources = true}.has(ListKind::templates));
}

TEST(ListenFilter, contains_the_lists_whose_changes_a_server_announces) {
  EXPECT_EQ(announced_lists(R"({"tools":{"listChanged":true},"prompts":{},"resources":{"subscribe":true}})"),
            ListenFilter{.tools = true});
}

TEST(Subscription, its_id_is_added_to_any_notification) {
  EXPECT_EQ(with_seven(""), "{\"_meta\":{" + std::string(id) + "}}}");
  EXPECT_EQ(with_seven(R"(,"params":{})"), "{\"_meta\":{" + std::string(id) + "}}}");
  EXPECT_EQ(with_seven(R"(,"params":{"uri":"a:1"})"),
            "{\"_meta\":{" + std::string(id) + R"(},"uri":"a:1"}})");
  EXPECT_EQ(with_seven(R"(,"params":{"_meta":{"k":1.0}})"),
            "{\"_meta\":{" + std::string(id) + R"(,"k":1.0}}})");
  EXPECT_EQ(with_seven(R"(,"params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"x","k":1}})"),
            "{\"_meta\":{" + std::string(id) + R"(,"k":1}}})");
  EXPECT_EQ(
      with_seven(R"(,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}})"),
      "{\"_meta\":{" + std::string(id) + R"(,"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}})");
}

TEST(Subscription, an_ambiguous_meta_key_is_removed_when_its_id_is_added) {
  EXPECT_EQ(with_seven(R"(,"params":{"uri":"a:1","_META":{"k":1}})"),
            "{\"_meta\":{" + std::string(id) + R"(},"uri":"a:1"}})");
}

}  // namespace
}  // namespace mcpivot
