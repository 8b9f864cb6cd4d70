// The official test suite of JSON Schema, its required tests of draft 2020-12; and of draft 7, whose
// spellings are still understood. `./dev test` fetches it into build/json-schema-suite.
#include <gtest/gtest.h>

#include <algorithm>
#include <boost/json.hpp>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "schema/schema.h"

namespace mcpivot::schema {
namespace {

namespace fs = std::filesystem;
namespace json = boost::json;

// A group of tests that can't pass, by its file and name; an empty name stands for the whole file.
struct LeftOut {
  std::string_view file, group, reason;
};

constexpr std::string_view metaschema = "refers to the metaschema, which is another document";
constexpr std::string_view dynamic = "\"$dynamicRef\" is not checked";
constexpr std::string_view remote = "refers to another document";

json::value read(const fs::path& file) {
  std::ifstream in(file);
  std::ostringstream text;
  text << in.rdbuf();
  return json::parse(text.str());
}

std::string_view text_of(const json::value& value, std::string_view key) {
  return value.at(key).as_string();
}

// How many tests of a group fail, and why they do.
std::size_t failures(const json::value& group, std::string_view dialect, std::string& why) {
  json::value text = group.at("schema");
  if (json::object* object = text.if_object())
    object->emplace("$schema", dialect);  // unless the group has its own
  const auto schema = Schema::compile(text);
  std::size_t count = 0;
  for (const json::value& test : group.at("tests").as_array()) {
    const bool valid = test.at("valid").as_bool();
    if (schema) {
      const Verdict verdict = schema->check(test.at("data"));
      if (verdict.fits() == valid && !verdict.given_up) continue;
      why += "\n  " + std::string(text_of(test, "description")) +
             (valid ? ": should fit: " : ": should not fit");
      if (!verdict.fits()) why += verdict.problems.front();
    }
    ++count;
  }
  if (!schema) why = "\n  can't be compiled: " + schema.error();
  return count;
}

void run_suite(std::string_view draft, std::string_view dialect, const std::vector<LeftOut>& left_out,
               std::size_t least) {
  const fs::path root = fs::path(PROJECT_DIRECTORY) / "build/json-schema-suite";
  const fs::path folder = root / "usr/share/perl5/auto/share/dist/Test-JSON-Schema-Acceptance/tests" / draft;
  ASSERT_TRUE(fs::is_directory(folder)) << "the suite isn't in " << root << "; ./dev test fetches it";
  std::size_t tests = 0;
  std::set<const LeftOut*> met;
  for (const auto& file : fs::directory_iterator(folder)) {
    if (file.path().extension() != ".json") continue;
    const std::string name = file.path().stem();
    const json::value groups = read(file.path());
    for (const json::value& group : groups.as_array()) {
      const std::string_view title = text_of(group, "description");
      std::string why;
      const std::size_t failed = failures(group, dialect, why);
      const auto reason = std::ranges::find_if(left_out, [&](const LeftOut& one) {
        return one.file == name && (one.group.empty() || one.group == title);
      });
      if (reason == left_out.end()) {
        tests += group.at("tests").as_array().size();
        EXPECT_EQ(failed, 0U) << name << ": " << title << why;
      } else {
        met.insert(&*reason);
        EXPECT_GT(failed, 0U) << name << ": " << title << " passes; take it from the list";
      }
    }
  }
  EXPECT_GE(tests, least) << "is the suite complete?";
  for (const LeftOut& one : left_out)
    EXPECT_TRUE(met.contains(&one)) << one.file << ": " << one.group
                                    << " doesn't exist; take it from the list";
}

TEST(SchemaSuite, every_required_test_of_draft_2020_12_passes_except_unsupported_features) {
  run_suite(
      "draft2020-12", "https://json-schema.org/draft/2020-12/schema",
      {{"defs", "validate definition against metaschema", metaschema},
       {"ref", "remote ref, containing refs itself", metaschema},
       {"ref", "URN base URI with f-component", metaschema},
       {"id", "Invalid use of fragments in location-independent $id", metaschema},
       {"id", "Valid use of empty fragments in location-independent $id", metaschema},
       {"id", "Unnormalized $ids are allowed but discouraged", metaschema},
       {"anchor", "invalid anchors", metaschema},
       {"refRemote", "", remote},
       {"dynamicRef",
        "A $dynamicRef to a $dynamicAnchor in the same schema resource behaves like a normal $ref to an "
        "$anchor",
        dynamic},
       {"dynamicRef",
        "A $dynamicRef to an $anchor in the same schema resource behaves like a normal $ref to an $anchor",
        dynamic},
       {"dynamicRef",
        "A $dynamicRef resolves to the first $dynamicAnchor still in scope that is encountered when the "
        "schema is evaluated",
        dynamic},
       {"dynamicRef", "A $dynamicRef without anchor in fragment behaves identical to $ref", dynamic},
       {"dynamicRef",
        "A $dynamicRef with intermediate scopes that don't include a matching $dynamicAnchor does not affect "
        "dynamic scope resolution",
        dynamic},
       {"dynamicRef",
        "A $dynamicRef that initially resolves to a schema with a matching $dynamicAnchor resolves to the "
        "first $dynamicAnchor in the dynamic scope",
        dynamic},
       {"dynamicRef", "multiple dynamic paths to the $dynamicRef keyword", dynamic},
       {"dynamicRef", "after leaving a dynamic scope, it is not used by a $dynamicRef", dynamic},
       {"dynamicRef", "strict-tree schema, guards against misspelled properties", remote},
       {"dynamicRef", "tests for implementation dynamic anchor and reference link", remote},
       {"dynamicRef", "$ref and $dynamicAnchor are independent of order - $defs first", remote},
       {"dynamicRef", "$ref and $dynamicAnchor are independent of order - $ref first", remote},
       {"vocabulary", "schema that uses custom metaschema with with no validation vocabulary",
        "custom metaschemas are not read"}},
      1050);
}

TEST(SchemaSuite, the_tests_of_draft_7_pass_as_well) {
  run_suite("draft7", "http://json-schema.org/draft-07/schema#",
            {{"definitions", "validate definition against metaschema", metaschema},
             {"ref", "remote ref, containing refs itself", metaschema},
             {"refRemote", "", remote}},
            830);
}

}  // namespace
}  // namespace mcpivot::schema
