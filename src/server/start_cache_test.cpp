#include "server/start_cache.h"

#include <gtest/gtest.h>

#include "server/kept_texts_fixture.h"

namespace mcpivot {
namespace {

class StartCacheFiles : public testing::Test {
 protected:
  StartCacheFiles() {
    config_.command.argv = {"/bin/server"};
    catalog_.add_page(ListKind::tools, R"({"tools":[{"name":"a"}]})");
    save();
  }
  StartCache cache() { return {files_, config_, std::nullopt, "{}", Era::legacy}; }
  void save() { cache().save(R"({"capabilities":{}})", catalog_); }

  KeptTexts files_;
  ServerConfig config_;
  Catalog catalog_;
};

TEST_F(StartCacheFiles, loads_what_was_saved) {
  const auto last = cache().load();
  ASSERT_TRUE(last.has_value());
  EXPECT_EQ(last->initialize_result, R"({"capabilities":{}})");
  EXPECT_EQ(last->catalog.list(ListKind::tools), catalog_.list(ListKind::tools));
}

// It would be sent to the client unchanged, and a newline would split the message in two.
TEST_F(StartCacheFiles, a_file_that_cannot_be_sent_verbatim_is_ignored) {
  for (const std::string_view text :
       {std::string_view("{\"initialize\":{\n},\"tools\":[]}\n"),
        std::string_view("{\"initialize\":{}}\n{}\n"),
        std::string_view("{\"initialize\":{\"x\":\"\xff\"}}\n"), std::string_view("{\"initialize\":{}"),
        std::string_view("{\"initialize\":{}}"), std::string_view("{\"initialize\":1}\n"),
        std::string_view("[]\n"), std::string_view("")}) {
    for (auto& [name, kept] : files_.texts) kept = text;
    EXPECT_FALSE(cache().load().has_value()) << text;
    EXPECT_FALSE(cache().load_anyones().has_value()) << text;
  }
}

// Anyone who can list the folder must not be able to guess a token from a name, so the hash must be a
// cryptographic one.
TEST_F(StartCacheFiles, a_file_name_contains_secrets_only_as_sha256) {
  config_.command.env = {{"TOKEN", "one"}};
  save();
  config_.command.env = {{"TOKEN", "two"}};
  save();
  config_.http.headers = {"Authorization: three"};
  save();
  EXPECT_EQ(files_.texts.size(), 8U) << "each with files of its own";
  for (const auto& [name, text] : files_.texts) EXPECT_EQ(name.find('.'), 64U) << name;
}

TEST_F(StartCacheFiles, what_one_client_was_told_can_be_loaded_for_another_explicitly) {
  const StartCache other(files_, config_, std::nullopt, R"({"clientInfo":{"name":"b"}})", Era::legacy);
  EXPECT_FALSE(other.load().has_value());
  ASSERT_TRUE(other.load_anyones().has_value());
  EXPECT_EQ(other.load_anyones()->catalog.list(ListKind::tools), catalog_.list(ListKind::tools));
  const StartCache modern(files_, config_, std::nullopt, "{}", Era::modern);
  EXPECT_FALSE(modern.load_anyones().has_value()) << "what a server says in another era is something else";
}

// --- several clients

TEST_F(StartCacheFiles, with_many_clients_apply_only_to_those_with_the_same_initialize) {
  config_.for_many = true;
  const auto cache_of = [&](std::string_view words) {
    return StartCache(files_, config_, std::nullopt, words, Era::legacy);
  };
  EXPECT_FALSE(cache_of("{}").load().has_value()) << "what a single client left is not for them";
  cache_of(R"({"capabilities":{},"clientInfo":{"name":"a"}})").save(R"({"capabilities":{}})", catalog_);
  EXPECT_TRUE(cache_of(R"({"capabilities":{},"clientInfo":{"name":"a"}})").load().has_value());
  EXPECT_FALSE(cache_of(R"({"capabilities":{},"clientInfo":{"name":"b"}})").load().has_value());
  EXPECT_FALSE(cache_of(R"({"capabilities":{},"clientInfo":{"name":"b"}})").load_anyones().has_value());
  EXPECT_FALSE(cache_of(R"({"capabilities":{},"clientInfo":{"name":"a"},"x":1})").load().has_value());
}

// --- eras

class EraCacheFiles : public testing::Test {
 protected:
  EraCacheFiles() { config_.command.argv = {"/bin/server"}; }
  EraCache cache(const std::optional<FileFacts>& program = std::nullopt) {
    return {files_, config_, program};
  }

  KeptTexts files_;
  ServerConfig config_;
};

TEST_F(EraCacheFiles, loads_what_was_saved_and_leaves_the_rest_unknown) {
  EXPECT_EQ(cache().load(), Eras());
  for (const auto legacy : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
    for (const auto modern : {std::optional<bool>(), std::optional(false), std::optional(true)}) {
      for (const char* discovered : {"", R"({"supportedVersions":["2026-07-28"],"x":"a\"b"})"}) {
        const Eras eras{.legacy = legacy, .modern = modern, .discovered = discovered};
        cache().save(eras);
        EXPECT_EQ(cache().load(), eras);
      }
    }
  }
}

TEST_F(EraCacheFiles, a_different_command_environment_or_program_is_another_server) {
  const FileFacts before{.path = "/bin/server", .stamp = {.device = 1, .inode = 2, .size = 3, .modified = 4}};
  cache(before).save({.legacy = true, .modern = false});
  FileFacts after = before;
  after.stamp.modified = 5;
  EXPECT_EQ(cache(after).load(), Eras());
  EXPECT_EQ(cache().load(), Eras());
  EXPECT_EQ(cache(before).load().modern, false);
  config_.command.env = {{"KEY", "secret"}};
  EXPECT_EQ(cache(before).load(), Eras());
  for (const auto& [name, text] : files_.texts) EXPECT_EQ((name + text).find("secret"), std::string::npos);
}

TEST_F(EraCacheFiles, are_separate_from_what_the_server_offers) {
  cache().save({.legacy = true, .modern = true});
  const StartCache offers(files_, config_, std::nullopt, "{}", Era::modern);
  EXPECT_FALSE(offers.load().has_value());
  offers.save(R"({"capabilities":{}})", {});
  EXPECT_EQ(cache().load(), (Eras{.legacy = true, .modern = true}));
}

TEST_F(EraCacheFiles, with_many_clients_contain_nothing_said_to_one_of_them) {
  const Eras eras{.legacy = false, .modern = true, .discovered = R"({"instructions":"for you"})"};
  cache().save(eras);
  config_.for_many = true;
  EXPECT_EQ(cache().load(), (Eras{.legacy = false, .modern = true}));
  cache().save(eras);
  config_.for_many = false;
  EXPECT_EQ(cache().load(), (Eras{.legacy = false, .modern = true}));
}

TEST_F(EraCacheFiles, a_damaged_file_is_ignored) {
  cache().save({.legacy = true, .modern = true});
  for (const char* text : {"", "{", "[]\n", "{}", "{\"legacy\":1,\"modern\":\"true\"}\n",
                           "{\"legacy\":true}\n{}\n", "{\"legacy\":true,\"x\":\"\xff\"}\n"}) {
    files_.texts.begin()->second = text;
    EXPECT_EQ(cache().load(), Eras()) << text;
  }
}

}  // namespace
}  // namespace mcpivot
