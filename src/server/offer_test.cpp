#include "server/offer.h"

#include <gtest/gtest.h>

#include <optional>

namespace mcpivot {
namespace {

// Keeps one text, or none.
class OneText final : public Files {
 public:
  std::optional<FileFacts> program_of(const Command&) const override { return std::nullopt; }
  std::optional<FileFacts> stoppable_program_of(const Command&) const override { return std::nullopt; }
  std::optional<std::string> load(Shelf, const std::string&) const override { return text; }
  bool save(Shelf, const std::string&, std::string_view kept) override {
    text = kept;
    return true;
  }

  std::optional<std::string> text;
};

Catalog tools(std::string_view page) {
  Catalog catalog;
  catalog.add_page(ListKind::tools, page);
  return catalog;
}
Catalog with_a() {
  return tools(R"({"tools":[{"name":"a"}]})");
}
Catalog with_b() {
  return tools(R"({"tools":[{"name":"b"}]})");
}

constexpr const char* first_version = R"({"serverInfo":{"name":"s","version":"1"}})";
constexpr const char* second_version = R"({"serverInfo":{"name":"s","version":"2"}})";

class OfferTest : public testing::Test {
 protected:
  StartCache cache() { return {files_, config_, std::nullopt, "{}", Era::legacy}; }
  static std::vector<FetchedLists::Refusal> no_tools() { return {{ListKind::tools, "out of cheese"}}; }

  OneText files_;
  ServerConfig config_;
  Offer offer_;
};

TEST_F(OfferTest, nothing_is_known_before_the_server_has_answered) {
  EXPECT_FALSE(offer_.known());
  EXPECT_FALSE(offer_.recall(cache()));
  const auto change = offer_.replace(first_version, with_a());
  EXPECT_TRUE(offer_.known());
  EXPECT_TRUE(change.first);
  EXPECT_FALSE(change.was_guess);
  EXPECT_FALSE(change.was_missing);
}

TEST_F(OfferTest, an_offer_without_the_tools_the_server_refused_to_list_is_not_cached) {
  offer_.replace(first_version, {}, false);
  offer_.keep(cache());
  EXPECT_FALSE(Offer().recall(cache()));
  offer_.update(ListKind::tools, with_a().list(ListKind::tools));
  offer_.keep(cache());
  EXPECT_TRUE(Offer().recall(cache()));
}

TEST_F(OfferTest, the_offer_of_the_last_run_is_a_guess_until_the_server_answers) {
  Offer earlier;
  earlier.replace(first_version, with_a());
  earlier.keep(cache());
  ASSERT_TRUE(offer_.recall(cache()));
  EXPECT_EQ(offer_.version(), "1");
  EXPECT_NE(offer_.catalog().find(ListKind::tools, "a"), nullptr);
  const auto change = offer_.replace(second_version, with_b());
  EXPECT_TRUE(change.first);
  EXPECT_TRUE(change.was_guess);
  EXPECT_EQ(change.diff.text(), "tools: +b, -a.");
  EXPECT_FALSE(offer_.replace(second_version, with_b()).was_guess);
}

TEST_F(OfferTest, each_generation_is_compared_with_its_predecessor) {
  offer_.replace(first_version, with_a());
  const auto change = offer_.replace(second_version, with_a());
  EXPECT_FALSE(change.first);
  EXPECT_TRUE(change.diff.empty());
  EXPECT_EQ(change.version_before, "1");
  EXPECT_EQ(offer_.version(), "2");
}

TEST_F(OfferTest, a_generation_that_cannot_list_what_was_offered_is_worse) {
  const auto refused = no_tools();
  EXPECT_EQ(offer_.why_worse(refused), nullptr);
  offer_.replace(first_version, with_a());
  ASSERT_NE(offer_.why_worse(refused), nullptr);
  EXPECT_EQ(offer_.why_worse(refused)->why, "out of cheese");
  EXPECT_EQ(offer_.why_worse({{ListKind::prompts, "out of ink"}}), nullptr);
}

TEST_F(OfferTest, a_generation_that_lacks_what_was_only_guessed_is_not_worse) {
  Offer earlier;
  earlier.replace(first_version, with_a());
  earlier.keep(cache());
  offer_.recall(cache());
  EXPECT_EQ(offer_.why_worse(no_tools()), nullptr);
}

TEST_F(OfferTest, a_client_initialized_before_the_server_is_told_the_offer_once) {
  offer_.show_at_handshake();
  EXPECT_TRUE(offer_.replace(first_version, with_a()).was_missing);
  offer_.show_at_handshake();
  EXPECT_FALSE(offer_.replace(first_version, with_a()).was_missing);
}

TEST_F(OfferTest, a_changed_list_is_announced_if_it_has_news_or_list_requests_are_open) {
  offer_.replace(first_version, with_a());
  const auto change = offer_.replace(first_version, with_b());
  EXPECT_FALSE(offer_.announces(change, ListKind::tools, false));
  EXPECT_TRUE(offer_.announces(change, ListKind::tools, true));
  offer_.open_lists();
  EXPECT_TRUE(offer_.announces(change, ListKind::tools, false));
  EXPECT_FALSE(offer_.announces(change, ListKind::prompts, true));
}

TEST_F(OfferTest, a_list_that_changes_while_it_is_fetched_is_fetched_again) {
  EXPECT_TRUE(offer_.begin_fetch(ListKind::tools));
  EXPECT_TRUE(offer_.begin_fetch(ListKind::prompts));
  EXPECT_FALSE(offer_.begin_fetch(ListKind::tools));
  EXPECT_FALSE(offer_.begin_fetch(ListKind::tools));
  EXPECT_TRUE(offer_.end_fetch(ListKind::tools));
  EXPECT_TRUE(offer_.begin_fetch(ListKind::tools));
  EXPECT_FALSE(offer_.end_fetch(ListKind::tools));
  EXPECT_FALSE(offer_.end_fetch(ListKind::prompts));
}

TEST_F(OfferTest, a_fetch_from_an_earlier_generation_does_not_block_the_next) {
  offer_.begin_fetch(ListKind::tools);
  offer_.replace(first_version, with_a());
  EXPECT_TRUE(offer_.begin_fetch(ListKind::tools));
}

TEST_F(OfferTest, fetching_a_list_reports_whether_it_changed) {
  EXPECT_TRUE(offer_.update(ListKind::tools, with_a().list(ListKind::tools)));
  EXPECT_FALSE(offer_.update(ListKind::tools, with_a().list(ListKind::tools)));
}

}  // namespace
}  // namespace mcpivot
