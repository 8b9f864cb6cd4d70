#include "gateway/client_listens.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

std::string open(ClientListens& listens, std::string_view id, std::string_view filter,
                 std::uint32_t exchange = 0) {
  const std::string line = fmt::format(
      R"({{"jsonrpc":"2.0","id":{},"method":"subscriptions/listen","params":{{"_meta":{{}},"notifications":{}}}}})",
      id, filter);
  return listens.open(exchange, *read_message(line));
}

std::vector<std::string> texts(const std::vector<ClientListens::Line>& lines) {
  std::vector<std::string> texts;
  for (const auto& line : lines) texts.push_back(line.text);
  return texts;
}

std::vector<std::string> update(const ClientListens& listens, std::string_view params) {
  const std::string line =
      fmt::format(R"({{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{}}})", params);
  return texts(listens.updated(*read_message(line)));
}

TEST(ClientListens, a_listen_is_acknowledged_by_its_id_with_what_it_will_receive) {
  ClientListens listens;
  EXPECT_EQ(open(listens, R"("a")", R"({"toolsListChanged":true,"promptsListChanged":false,"other":true})"),
            R"({"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":)"
            R"({"io.modelcontextprotocol/subscriptionId":"a"},"notifications":{"toolsListChanged":true}}})");
  EXPECT_THAT(open(listens, "7", R"({"resourceSubscriptions":["x://1",7,"x://2"]})"),
              HasSubstr(R"("notifications":{"resourceSubscriptions":["x://1","x://2"]}})"));
  EXPECT_THAT(open(listens, "8", R"({"resourcesListChanged":true,"resourceSubscriptions":"x://1"})"),
              HasSubstr(R"("notifications":{"resourcesListChanged":true}})"));
}

TEST(ClientListens, each_receives_what_it_asked_for_under_its_own_id) {
  ClientListens listens;
  open(listens, "1", R"({"toolsListChanged":true})");
  open(listens, "2", R"({"toolsListChanged":true,"promptsListChanged":true})");
  EXPECT_THAT(texts(listens.changed(ListKind::tools)),
              ElementsAre(HasSubstr(R"(Id":1})"), HasSubstr(R"(Id":2})")));
  EXPECT_THAT(texts(listens.changed(ListKind::prompts)),
              ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/prompts/list_changed","params":)"
                          R"({"_meta":{"io.modelcontextprotocol/subscriptionId":2}}})"));
  EXPECT_THAT(texts(listens.changed(ListKind::resources)), IsEmpty());
}

TEST(ClientListens, a_change_of_templates_counts_as_one_of_resources) {
  ClientListens listens;
  open(listens, "1", R"({"resourcesListChanged":true})");
  EXPECT_THAT(texts(listens.changed(ListKind::templates)), ElementsAre(HasSubstr("resources/list_changed")));
}

TEST(ClientListens, the_json_spelling_of_a_uri_does_not_matter) {
  ClientListens listens;
  open(listens, "1", R"({"resourceSubscriptions":["x:\/\/1"]})");
  EXPECT_THAT(update(listens, R"({"uri":"x://1"})"), SizeIs(1));
  EXPECT_THAT(update(listens, R"({"uri":"x://2"})"), IsEmpty());
}

TEST(ClientListens, an_update_keeps_its_members_and_gets_the_listeners_id) {
  ClientListens listens;
  open(listens, "1", R"({"resourceSubscriptions":["x://1"]})");
  open(listens, R"("two")", R"({"resourceSubscriptions":["x://1","x://2"]})");
  EXPECT_THAT(update(listens, R"({"uri":"x://1","more":1.50})"),
              ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"_meta":)"
                          R"({"io.modelcontextprotocol/subscriptionId":1},"uri":"x://1","more":1.50}})",
                          HasSubstr(R"(Id":"two"},"uri")")));
  EXPECT_THAT(
      update(listens, R"({"uri":"x://2","_meta":{"io.modelcontextprotocol/subscriptionId":"ours","k":1}})"),
      ElementsAre(R"({"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"x://2",)"
                  R"("_meta":{"io.modelcontextprotocol/subscriptionId":"two","k":1}}})"));
}

TEST(ClientListens, a_closed_listen_receives_nothing) {
  ClientListens listens;
  open(listens, "1", R"({"toolsListChanged":true,"resourceSubscriptions":["x://1"]})");
  EXPECT_FALSE(listens.close(0, R"("1")")) << "a text is not a number";
  EXPECT_TRUE(listens.close(0, "1"));
  EXPECT_FALSE(listens.close(0, "1"));
  EXPECT_TRUE(listens.empty());
  EXPECT_THAT(texts(listens.changed(ListKind::tools)), IsEmpty());
  EXPECT_THAT(update(listens, R"({"uri":"x://1"})"), IsEmpty());
  EXPECT_THAT(listens.uris(), IsEmpty());
}

TEST(ClientListens, listens_with_equal_ids_are_distinguished_by_their_exchange) {
  ClientListens listens;
  open(listens, "1", R"({"toolsListChanged":true})", 5);
  open(listens, "1", R"({"toolsListChanged":true})", 6);
  ASSERT_THAT(listens.changed(ListKind::tools), SizeIs(2));
  EXPECT_EQ(listens.changed(ListKind::tools)[1].exchange, 6u);
  EXPECT_FALSE(listens.close(7, "1"));
  EXPECT_EQ(listens.close(6, "1"), 6u);
  ASSERT_THAT(listens.farewells(), SizeIs(1));
  EXPECT_EQ(listens.farewells()[0].exchange, 5u);
}

TEST(ClientListens, a_resource_that_several_listens_want_is_listed_once) {
  ClientListens listens;
  open(listens, "1", R"({"resourceSubscriptions":["x://1","x://2"]})");
  open(listens, "2", R"({"resourceSubscriptions":["x://2","x://3"]})");
  EXPECT_THAT(listens.uris(), ElementsAre("x://1", "x://2", "x://3"));
}

TEST(ClientListens, each_ends_with_a_result) {
  ClientListens listens;
  open(listens, R"("a")", "{}");
  open(listens, "2", "{}");
  EXPECT_THAT(texts(listens.farewells()),
              ElementsAre(R"({"jsonrpc":"2.0","id":"a","result":{"resultType":"complete","_meta":)"
                          R"({"io.modelcontextprotocol/subscriptionId":"a"}}})",
                          HasSubstr(R"("id":2,"result")")));
}

TEST(ClientListens, their_number_is_limited) {
  ClientListens listens;
  constexpr int most = static_cast<int>(ClientListens::most_listens);
  for (int id = 1; id <= most; ++id) EXPECT_NE(open(listens, std::to_string(id), "{}"), "");
  EXPECT_EQ(open(listens, std::to_string(most + 1), "{}"), "");
  listens.close(0, "1");
  EXPECT_NE(open(listens, std::to_string(most + 1), "{}"), "");
  std::string many;
  for (int i = 0; i < 5'000; ++i) many += fmt::format(R"({}"x://{}")", i == 0 ? "" : ",", i);
  listens.close(0, "2");
  open(listens, "0", fmt::format(R"({{"resourceSubscriptions":[{}]}})", many));
  EXPECT_THAT(listens.uris(), SizeIs(1024));
}

}  // namespace
}  // namespace mcpivot
