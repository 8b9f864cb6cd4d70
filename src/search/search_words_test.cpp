#include "search/search_words.h"

#include <gmock/gmock.h>

namespace mcpivot {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<std::string> roots(std::string_view query) {
  std::vector<std::string> result;
  for (const auto& word : query_words(query, 100)) result.push_back(word.root);
  return result;
}

QueryWord::Kind kind_of(std::string_view query, std::string_view spelled) {
  for (const auto& word : query_words(query, 100))
    if (word.spelled == spelled) return word.kind;
  ADD_FAILURE() << "'" << spelled << "' isn't a word of '" << query << "'";
  return QueryWord::Kind::said;
}

TEST(SearchWords, names_are_split_into_their_parts) {
  const auto parts = ElementsAre("list", "pull", "request");
  EXPECT_THAT(words_of("list_pull_requests", 10), parts);
  EXPECT_THAT(words_of("list-pull-requests", 10), parts);
  EXPECT_THAT(words_of("listPullRequests", 10), parts);
  EXPECT_THAT(words_of("ListPULLRequests", 10), parts);
  EXPECT_THAT(words_of("parseHTTPHeader", 10), ElementsAre("pars", "http", "header"));
  EXPECT_THAT(words_of("the URLs of it", 10), ElementsAre("url"));
}

TEST(SearchWords, all_forms_of_a_word_have_one_root) {
  for (const auto* word : {"create", "creates", "created", "creating", "creation"})
    EXPECT_EQ(word_root(word), "creat") << word;
  for (const auto* word : {"run", "runs", "running"}) EXPECT_EQ(word_root(word), "run") << word;
  for (const auto* word : {"entity", "entities"}) EXPECT_EQ(word_root(word), "entity") << word;
  for (const auto* word : {"class", "classes"}) EXPECT_EQ(word_root(word), "class") << word;
  for (const auto* word : {"string", "status", "need", "tree"}) EXPECT_EQ(word_root(word), word);
}

TEST(SearchWords, words_without_meaning_are_dropped) {
  EXPECT_THAT(roots("please could you do it for me"), IsEmpty());
  EXPECT_THAT(roots("  ?!  "), IsEmpty());
  EXPECT_THAT(roots(""), IsEmpty());
}

TEST(SearchWords, several_words_with_one_meaning_count_as_one) {
  EXPECT_THAT(roots("look up a user"), ElementsAre("find", "user"));
  EXPECT_THAT(roots("merge the PR"), ElementsAre("merg", "pull", "request"));
  EXPECT_THAT(roots("the print"), ElementsAre("print"));  // has a pr in it
}

TEST(SearchWords, probable_arguments_are_marked) {
  using enum QueryWord::Kind;
  EXPECT_EQ(kind_of("choose Germany in the dropdown", "germany"), value);
  EXPECT_EQ(kind_of("choose Germany in the dropdown", "dropdown"), said);
  EXPECT_EQ(kind_of("Choose it", "choose"), said);
  EXPECT_EQ(kind_of("Create An Issue", "issue"), said);  // a title: capital letters mean nothing
  EXPECT_EQ(kind_of("close issue 17", "17"), value);
  EXPECT_EQ(kind_of("search for 'green apples' now", "apples"), value);
  EXPECT_EQ(kind_of("search for 'green apples' now", "now"), said);
}

TEST(SearchWords, file_and_host_names_add_words_for_what_they_are) {
  EXPECT_THAT(roots("edit main.c"), ElementsAre("edit", "fil", "main", "c"));
  EXPECT_THAT(roots("view logo.png"), ElementsAre("view", "fil", "imag", "logo", "png"));
  EXPECT_THAT(roots("visit example.com"), ElementsAre("visit", "url", "exampl", "com"));
}

TEST(SearchWords, file_names_and_quoted_content_say_nothing_about_the_tool) {
  using enum QueryWord::Kind;
  EXPECT_EQ(kind_of("read package.json", "package"), passage);
  EXPECT_EQ(kind_of("read package.json", "file"), said);
  EXPECT_EQ(kind_of("remember that tabs are better", "tabs"), passage);
  EXPECT_EQ(kind_of("remember that tabs are better", "remember"), said);
  EXPECT_EQ(kind_of("tell the team that we are done", "team"), said);
  EXPECT_EQ(kind_of("tell the team that we are done", "done"), passage);
  EXPECT_EQ(kind_of("tell them that Anna left", "left"), passage);
  EXPECT_EQ(kind_of("I need a tool that lists files", "files"), said);
  EXPECT_EQ(kind_of("find files that changed today", "changed"), said);
}

TEST(SearchWords, a_question_about_several_things_wants_a_list_and_one_about_a_person_a_search) {
  EXPECT_THAT(roots("which channels exist"), ElementsAre("channel", "exist", "list"));
  EXPECT_THAT(roots("what does Anna own"), ElementsAre("anna", "own", "find"));
  EXPECT_THAT(roots("what is this"), ElementsAre("get"));
}

TEST(SearchWords, a_weak_word_counts_if_nothing_else_is_said) {
  auto is_weak = [](std::string_view query) { return query_words(query, 100).at(0).weak; };
  EXPECT_TRUE(is_weak("show the issues"));
  EXPECT_FALSE(is_weak("show Anna"));
}

TEST(SearchWords, the_first_verb_is_the_action) {
  EXPECT_EQ(action_asked_for("remember that it rains"), Action::makes);
  EXPECT_EQ(action_asked_for("please could you list the files"), Action::shows);
  EXPECT_EQ(action_asked_for("what was deleted"), Action::shows);
  EXPECT_EQ(action_asked_for("get rid of the branch"), Action::deletes);
  EXPECT_EQ(action_asked_for("renaming files"), Action::changes);
  EXPECT_EQ(action_asked_for("files"), Action::unknown);
  EXPECT_EQ(action_asked_for(""), Action::unknown);
}

TEST(SearchWords, one_typo_is_forgiven) {
  EXPECT_TRUE(is_one_slip("screenshot", "screnshot"));
  EXPECT_TRUE(is_one_slip("screenshot", "screenshots"));
  EXPECT_TRUE(is_one_slip("screenshot", "screemshot"));
  EXPECT_TRUE(is_one_slip("screenshot", "screensoht"));  // two letters transposed
  EXPECT_FALSE(is_one_slip("screenshot", "screenshot"));
  EXPECT_FALSE(is_one_slip("screenshot", "scrnshot"));
  EXPECT_FALSE(is_one_slip("ab", "ba c"));
}

TEST(SearchWords, synonyms_are_symmetric) {
  auto knows = [](const std::string& word, const std::string& other) {
    return std::ranges::any_of(synonyms_of(word_root(word)),
                               [&](const Synonym& synonym) { return synonym.root == word_root(other); });
  };
  EXPECT_TRUE(knows("folder", "directory"));
  EXPECT_TRUE(knows("directory", "folder"));
  EXPECT_TRUE(knows("remove", "delete"));
  EXPECT_FALSE(knows("folder", "folder"));
  EXPECT_FALSE(knows("folder", "delete"));
}

}  // namespace
}  // namespace mcpivot
