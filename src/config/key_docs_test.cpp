#include "config/key_docs.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "config/keys.h"

namespace mcpivot {
namespace {

using testing::HasSubstr;

constexpr const char* begin_mark = "<!-- keys: written by the program, see key_docs_test.cpp -->\n";
constexpr const char* end_mark = "<!-- keys: end -->\n";
constexpr const char* how = "run: MCPIVOT_WRITE_DOCS=1 build/release/unit_tests --gtest_filter='KeyDocs*'";

std::string document(const std::string& name) {
  return PROJECT_DIRECTORY "/docs/" + name;
}

std::string read_file(const std::string& path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

// Whoever changes the table writes the documents anew with this.
bool writing() {
  return std::getenv("MCPIVOT_WRITE_DOCS") != nullptr;
}

TEST(KeyDocs, the_schema_in_the_repository_is_that_of_the_program) {
  if (writing()) std::ofstream(document("mcpivot.schema.json")) << config_schema();
  EXPECT_EQ(read_file(document("mcpivot.schema.json")), config_schema()) << how;
}

TEST(KeyDocs, the_reference_in_the_repository_is_that_of_the_program) {
  std::string text = read_file(document("configuration.md"));
  const auto begin = text.find(begin_mark);
  const auto end = text.find(end_mark);
  ASSERT_NE(begin, std::string::npos);
  ASSERT_NE(end, std::string::npos);
  const auto inside = begin + std::string(begin_mark).size();
  const std::string expected = "\n" + key_reference() + "\n";
  if (writing()) {
    text.replace(inside, end - inside, expected);
    std::ofstream(document("configuration.md")) << text;
    return;
  }
  EXPECT_EQ(text.substr(inside, end - inside), expected) << how;
}

TEST(KeyDocs, every_key_is_in_the_schema_with_words) {
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
