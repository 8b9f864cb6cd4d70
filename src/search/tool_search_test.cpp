#include "search/tool_search.h"

#include <gmock/gmock.h>

#include <limits>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

ToolSearch catalog() {
  ToolSearch search;
  search.add({"files", "create_directory", "", "Create a new directory.", {{"path", ""}}});
  search.add({"files", "list_directory", "", "List what a directory has in it.", {{"path", ""}}});
  search.add({"files", "delete_directory", "", "Delete a directory with all it has.", {{"path", ""}}});
  search.add({"files", "read_file", "Read File (Deprecated)", "Read a file.", {{"path", ""}}});
  search.add({"files", "read_text_file", "Read Text File", "Read a file.", {{"path", ""}}});
  search.add({"browser", "takeScreenshot", "", "Capture the page as an image.", {{"format", "png or jpeg"}}});
  search.add({"browser", "navigate", "", "Go to a URL.", {{"url", ""}}});
  search.add({"tracker", "create-issue", "", "Create a new issue.", {{"title", ""}, {"labels", ""}}});
  search.add({"tracker", "list-issues", "", "List issues.", {{"state", "open or closed"}}});
  return search;
}

std::vector<std::string> names(const std::vector<ToolSearch::Hit>& hits) {
  std::vector<std::string> result;
  for (const auto& hit : hits) result.push_back(hit.server + "/" + hit.name);
  return result;
}

std::string first(std::string_view query) {
  const auto hits = catalog().search(query, 5);
  return hits.empty() ? "nothing" : hits[0].name;
}

TEST(ToolSearch, finds_a_tool_by_its_name_and_by_other_words) {
  EXPECT_EQ(first("create_directory"), "create_directory");
  EXPECT_EQ(first("make a new folder"), "create_directory");
  EXPECT_EQ(first("what is in this folder"), "list_directory");
  EXPECT_EQ(first("take a picture of the page"), "takeScreenshot");
  EXPECT_EQ(first("visit example.com"), "navigate");
  EXPECT_EQ(first("report a bug"), "create-issue");
}

TEST(ToolSearch, forgives_typos_and_accepts_prefixes) {
  EXPECT_EQ(first("screnshot"), "takeScreenshot");
  EXPECT_EQ(first("screen shot"), "takeScreenshot");
  EXPECT_EQ(first("navig"), "navigate");
}

TEST(ToolSearch, returns_nothing_rather_than_noise) {
  EXPECT_EQ(first("send an email"), "nothing");
  EXPECT_EQ(first("book a flight to Rome"), "nothing");
  EXPECT_EQ(first("make a cup of tea"), "nothing");
  EXPECT_EQ(first(""), "nothing");
  EXPECT_EQ(first("?"), "nothing");
  EXPECT_EQ(first("could you please do it"), "nothing");
  EXPECT_THAT(ToolSearch().search("read a file", 5), IsEmpty());
}

TEST(ToolSearch, a_catalog_of_one_tool_is_ranked_like_a_large_one) {
  ToolSearch search;
  search.add({"math", "add", "", "Adds two numbers.", {{"a", ""}, {"b", ""}}});
  EXPECT_THAT(search.search("the sum of two numbers", 5), SizeIs(1));
  EXPECT_THAT(search.search("book a flight", 5), IsEmpty());
}

TEST(ToolSearch, a_question_finds_a_tool_that_shows_something) {
  EXPECT_EQ(first("which issues are open"), "list-issues");
}

TEST(ToolSearch, a_deleting_tool_is_not_first_unless_asked_for) {
  EXPECT_NE(first("directory"), "delete_directory");
  EXPECT_EQ(catalog().search("directory", 3).at(2).name, "delete_directory");
  EXPECT_EQ(first("get rid of a folder"), "delete_directory");
}

// Words of a request that are only arguments would point at unrelated tools.
TEST(ToolSearch, a_file_name_says_what_to_read_not_which_tool_to_find) {
  ToolSearch search = catalog();
  search.add(
      {"npm", "package_info", "Package", "Shows a package, its json and its readme.", {{"package", ""}}});
  EXPECT_EQ(search.search("read package.json", 5).at(0).name, "read_text_file");
  EXPECT_EQ(search.search("show the package", 5).at(0).name, "package_info");
}

TEST(ToolSearch, the_content_to_be_remembered_does_not_influence_the_result) {
  ToolSearch search = catalog();
  search.add({"memory", "add_facts", "", "Add facts to the knowledge graph.", {{"facts", ""}}});
  search.add({"memory", "read_facts", "", "Read facts of the knowledge graph.", {{"names", ""}}});
  EXPECT_EQ(search.search("remember that the issue list of the tracker has a directory", 5).at(0).name,
            "add_facts");
  EXPECT_EQ(search.search("what do I know about Alice?", 5).at(0).name, "read_facts");
}

TEST(ToolSearch, among_tools_for_the_same_thing_the_matching_action_is_first) {
  ToolSearch search;
  for (const auto* verb : {"create", "delete", "get", "update"})
    search.add({"crm", std::string(verb) + "_contact", "", "A contact.", {}});
  EXPECT_EQ(search.search("append this contact", 5).at(0).name, "create_contact");
  EXPECT_EQ(search.search("forget the contact", 5).at(0).name, "delete_contact");
  EXPECT_EQ(search.search("browse the contact", 5).at(0).name, "get_contact");
  EXPECT_EQ(search.search("fix the contact", 5).at(0).name, "update_contact");
}

TEST(ToolSearch, a_web_page_is_opened_by_a_browser_not_by_a_wiki) {
  ToolSearch search = catalog();
  search.add({"wiki", "retrieve-page", "", "Retrieve a page of the wiki.", {{"page", ""}}});
  EXPECT_EQ(search.search("open a web page", 5).at(0).name, "navigate");
}

TEST(ToolSearch, a_deprecated_tool_ranks_below_its_successor) {
  EXPECT_EQ(first("read a text file"), "read_text_file");
  const auto found = names(catalog().search("open the file for reading", 5));
  EXPECT_EQ(found.at(0), "files/read_text_file");
}

TEST(ToolSearch, a_tool_is_found_by_its_exact_name_even_if_it_means_nothing) {
  ToolSearch search = catalog();
  search.add({"odd", "do_it", "", "", {}});
  EXPECT_THAT(names(search.search("do_it", 5)), ElementsAre("odd/do_it"));
}

TEST(ToolSearch, ties_are_settled_by_name) {
  ToolSearch search;
  for (const auto* server : {"b", "c", "a"}) {
    search.add({server, "merge_y", "", "Merge.", {}});
    search.add({server, "merge_x", "", "Merge.", {}});
  }
  EXPECT_THAT(names(search.search("merge", 4)),
              ElementsAre("a/merge_x", "a/merge_y", "b/merge_x", "b/merge_y"));
}

TEST(ToolSearch, respects_the_limit) {
  const ToolSearch search = catalog();
  EXPECT_THAT(search.search("directory", 0), IsEmpty());
  EXPECT_THAT(search.search("directory", 1), SizeIs(1));
  EXPECT_THAT(search.search("directory", std::numeric_limits<std::size_t>::max()), SizeIs(3));
}

TEST(ToolSearch, endless_and_broken_texts_are_harmless) {
  ToolSearch search = catalog();
  std::string words;
  for (int i = 0; i < 200'000; ++i) words += "word" + std::to_string(i) + " ";
  ToolDocument endless{"big", "endless", words, words, {}};
  for (int i = 0; i < 10'000; ++i)
    endless.parameters.push_back({"parameter" + std::to_string(i), words.substr(0, 500)});
  search.add(endless);
  search.add({"big", std::string(1'000'000, 'x'), std::string(100, '\0'), "\xff\xfe\xc3 \x80", {{"", ""}}});
  EXPECT_EQ(search.search(words, 5).at(0).name, "endless");
  EXPECT_THAT(search.search(std::string(1'000'000, '\''), 5), IsEmpty());
  search.search("\xff\xfe \xc3", 5);
  EXPECT_EQ(search.search("make a new folder", 5).at(0).name, "create_directory");
}

}  // namespace
}  // namespace mcpivot
