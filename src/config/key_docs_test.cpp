#include "config/key_docs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>

#include "config/keys.h"
#include "host/written_docs.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;

TEST(KeyDocs, the_schema_in_the_repository_is_up_to_date) {
  host::expect_written("mcpivot.schema.json", config_schema());
}

TEST(KeyDocs, the_reference_in_the_repository_is_up_to_date) {
  host::expect_written_part("configuration.md", "keys", key_reference());
}

TEST(KeyDocs, every_key_has_a_description_in_the_schema) {
  const auto schema = boost::json::parse(config_schema());
  const auto& server = schema.at_pointer("/definitions/server/properties").as_object();
  for (const Key& key : server_keys()) {
    ASSERT_TRUE(server.contains(key.name)) << key.name;
    EXPECT_THAT(std::string(server.at(key.name).at("description").as_string()),
                HasSubstr(std::string(key.words)));
    for (const Key& inner : key.keys)
      EXPECT_TRUE(server.at(key.name).at("properties").as_object().contains(inner.name)) << inner.name;
    EXPECT_THAT(key_reference(), HasSubstr("| `" + std::string(key.name) + "` |"));
  }
  for (const Key& key : file_keys())
    EXPECT_TRUE(schema.at_pointer("/then/properties").as_object().contains(key.name)) << key.name;
}

}  // namespace
}  // namespace mcpivot
