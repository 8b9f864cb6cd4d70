#include "gateway/routes.h"

#include <gmock/gmock.h>

#include <map>
#include <string>

#include "visitor.h"

namespace mcpivot {
namespace {

using simulation::Visitor;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;

// --- names

TEST(PrefixedName, has_only_characters_that_every_client_accepts) {
  EXPECT_EQ(prefixed_name("notes", "read-page_2"), "notes__read-page_2");
  EXPECT_EQ(prefixed_name("my.notes", "pages/read é"), "my_notes__pages_read___");
}

TEST(PrefixedName, is_no_longer_than_every_client_accepts) {
  const std::string fits = prefixed_name("server", std::string(40, 't'));
  EXPECT_EQ(fits, "server__" + std::string(40, 't'));
  const std::string cut = prefixed_name("server", std::string(41, 't'));
  EXPECT_THAT(cut, SizeIs(48));
  EXPECT_TRUE(cut.starts_with("server__" + std::string(33, 't') + "_")) << cut;
}

TEST(PrefixedName, that_was_shortened_is_stable_and_unique) {
  const std::string tool(60, 't');
  EXPECT_EQ(prefixed_name("server", tool), prefixed_name("server", tool));
  EXPECT_NE(prefixed_name("server", tool + "a"), prefixed_name("server", tool + "b"));
  EXPECT_NE(prefixed_name("server.of.mine", tool), prefixed_name("server_of_mine", tool));
}

TEST(Template, matches_by_its_literal_parts) {
  EXPECT_TRUE(fits_template("file:///a/b", "file:///{path}"));
  EXPECT_TRUE(fits_template("file:///", "file:///{path}"));
  EXPECT_TRUE(fits_template("db://t/7/rows/8", "db://t/{id}/rows/{row}"));
  EXPECT_TRUE(fits_template("db://t/7.json", "db://t/{id}.json"));
  EXPECT_TRUE(fits_template("db://t/a.json.json", "db://t/{id}.json"));
  EXPECT_TRUE(fits_template("plain://x", "plain://x"));
  EXPECT_TRUE(fits_template("anything", "{+uri}"));
}

TEST(Template, does_not_match_other_uris) {
  EXPECT_FALSE(fits_template("http://a", "file:///{path}"));
  EXPECT_FALSE(fits_template("xfile:///a", "file:///{path}"));
  EXPECT_FALSE(fits_template("db://t/7/columns/8", "db://t/{id}/rows/{row}"));
  EXPECT_FALSE(fits_template("db://t/7.json.bak", "db://t/{id}.json"));
  EXPECT_FALSE(fits_template("plain://x/y", "plain://x"));
  EXPECT_FALSE(fits_template("ab", "a{x}bb")) << "a part of it counts once";
  EXPECT_FALSE(fits_template("file:///a", "file:///{path"));
}

// --- servers

// Servers that are ready, and our own routes to them.
class RoutesTo {
 public:
  explicit RoutesTo(const char* fleet, const std::map<std::string, std::string>& lists_of = {})
      : visitor(fleet) {
    for (const auto& [server, other] : lists_of) visitor.world().scripts().of(server).lists_of = other;
    visitor.arrive();
    visitor.desk().fleet().routes();  // the desk decides how servers' tools are named
    build();
  }
  void build() {
    routes.build(members(), [](std::string_view name) { return name == "pivot_status"; });
  }

  Members& members() { return visitor.desk().fleet().members(); }
  Member& member(std::size_t which) { return *members().at(which); }
  // Where a tool is: "alpha work".
  std::string tool(std::string_view name) const { return text(routes.tool(name)); }
  std::string prompt(std::string_view name) const { return text(routes.prompt(name)); }
  std::string resource(std::string_view uri) const {
    const Member* const owner = routes.resource(uri);
    return owner == nullptr ? "none" : owner->name();
  }
  std::string list(ListKind kind) const { return std::string(routes.list(kind).raw); }
  void set_active(std::size_t which, bool active) {
    member(which).set_active(active);
    routes.list_active(members());
  }

  Visitor visitor;
  Routes routes;

 private:
  static std::string text(const Routes::Target* target) {
    return target == nullptr ? "none" : target->member->name() + " " + target->own;
  }
};

TEST(Routes, lead_to_the_tools_and_prompts_of_all_servers_by_their_prefixed_names) {
  const RoutesTo two("alpha=process,active beta=process,inactive");
  EXPECT_EQ(two.tool("alpha__work"), "alpha work");
  EXPECT_EQ(two.tool("beta__work"), "beta work");
  EXPECT_EQ(two.prompt("beta__greet"), "beta greet");
  for (const char* unknown : {"work", "gamma__work", "alpha__", "alpha__greet", ""})
    EXPECT_EQ(two.tool(unknown), "none") << unknown;
  EXPECT_EQ(two.prompt("alpha__work"), "none");
}

TEST(Routes, list_only_what_active_servers_have_under_these_names) {
  RoutesTo two("alpha=process,active beta=process,inactive");
  EXPECT_THAT(two.list(ListKind::tools), HasSubstr(R"("name":"alpha__work")"));
  EXPECT_THAT(two.list(ListKind::tools), Not(HasSubstr("beta__")));
  EXPECT_EQ(two.list(ListKind::prompts), R"({"name":"alpha__greet","description":"of alpha"})");
  EXPECT_EQ(two.list(ListKind::resources), R"({"uri":"sim://alpha/one","name":"one"})");
  EXPECT_EQ(two.list(ListKind::templates), R"({"uriTemplate":"sim://alpha/t/{id}","name":"t"})");
  two.set_active(1, true);
  EXPECT_EQ(
      two.list(ListKind::prompts),
      R"({"name":"alpha__greet","description":"of alpha"},{"name":"beta__greet","description":"of beta"})");
  two.set_active(0, false);
  two.set_active(1, false);
  for (const ListKind kind : all_lists) EXPECT_EQ(two.list(kind), "");
}

TEST(Routes, a_list_that_is_still_being_written_does_not_change) {
  RoutesTo two("alpha=process,active beta=process,active");
  const Message before = two.routes.list(ListKind::resources);
  const std::string text(before.raw);
  two.set_active(0, false);
  two.build();
  EXPECT_EQ(before.raw, text);
  EXPECT_NE(two.list(ListKind::resources), text);
}

TEST(Routes, get_a_new_edition_only_when_they_are_rebuilt) {
  RoutesTo one("alpha=process");
  const auto edition = one.routes.edition();
  one.set_active(0, false);
  EXPECT_EQ(one.routes.edition(), edition);
  one.build();
  EXPECT_NE(one.routes.edition(), edition);
}

TEST(Routes, know_the_size_of_every_servers_tools) {
  RoutesTo two("alpha=process,active beta=process,inactive,allow");
  EXPECT_EQ(two.routes.cost(two.member(0)).tools, 7U);
  EXPECT_EQ(two.routes.cost(two.member(0)).bytes, two.list(ListKind::tools).size() - 6) << "but for commas";
  EXPECT_EQ(two.routes.cost(two.member(1)).tools, 3U);
  EXPECT_THAT(two.routes.all_tools(), SizeIs(10));
}

TEST(Routes, lead_to_no_tool_that_the_user_denies) {
  const RoutesTo two("alpha=process,active,deny beta=process,active");
  EXPECT_EQ(two.tool("alpha__hidden"), "none");
  EXPECT_EQ(two.tool("beta__hidden"), "beta hidden");
  EXPECT_THAT(two.list(ListKind::tools), Not(HasSubstr("alpha__hidden")));
}

TEST(Routes, a_renamed_tool_has_only_its_new_name) {
  RoutesTo two("alpha=process,active,rename beta=process,active");
  EXPECT_EQ(two.tool("alpha__regard"), "alpha look");
  EXPECT_EQ(two.tool("alpha__look"), "none");
  EXPECT_EQ(two.routes.shown(two.member(0), ListKind::tools, "look"), "alpha__regard");
}

TEST(Routes, a_tool_can_have_the_users_own_description) {
  RoutesTo one("alpha=process,active");
  ServerEntry entry = one.member(0).entry();
  entry.tools.describe = {{"work", "says \"hello\""}};
  one.member(0).configure(entry);
  one.build();
  EXPECT_THAT(one.list(ListKind::tools), HasSubstr(R"("description":"says \"hello\"")"));
}

TEST(Routes, servers_with_similar_names_get_different_prefixes) {
  const RoutesTo two("a.b=process,active a_b=process,active");
  EXPECT_EQ(two.tool("a_b__work"), "a.b work");
  const Routes::Named& other = two.routes.all_tools().back();
  EXPECT_EQ(other.member->name(), "a_b");
  EXPECT_TRUE(other.name.starts_with("a_b__shaped_")) << other.name;
  EXPECT_EQ(two.tool(other.name), "a_b shaped");
  EXPECT_THAT(two.list(ListKind::tools), HasSubstr("\"" + other.name + "\""));
  EXPECT_THAT(two.routes.clashes(), testing::Contains(HasSubstr(R"(shaped of "a_b" is called )" + other.name +
                                                                " here: a_b__shaped is taken")));
  EXPECT_THAT(two.routes.clashes(), SizeIs(8)) << "seven tools and a prompt";
}

TEST(Routes, a_bare_name_that_two_servers_have_is_prefixed_for_both) {
  const RoutesTo two("alpha=process,active,rename beta=process,active bare");
  EXPECT_EQ(two.tool("work"), "none");
  EXPECT_EQ(two.tool("alpha__work"), "alpha work");
  EXPECT_EQ(two.tool("beta__work"), "beta work");
  EXPECT_EQ(two.tool("regard"), "alpha look") << "that one is its alone";
  EXPECT_EQ(two.tool("look"), "beta look");
  EXPECT_THAT(
      two.routes.clashes(),
      testing::Contains(R"(work of "alpha" is called alpha__work here: another one has that name too)"));
}

TEST(Routes, a_bare_name_that_equals_a_control_tools_is_prefixed) {
  const RoutesTo lone("delta=process");
  EXPECT_EQ(lone.tool("work"), "delta work");
  EXPECT_EQ(lone.tool("pivot_status"), "none");
  EXPECT_EQ(lone.tool("delta__pivot_status"), "delta pivot_status");
}

TEST(Routes, give_a_removed_tool_the_name_it_would_have) {
  RoutesTo two("alpha=process,active beta=process,active");
  EXPECT_EQ(two.routes.shown(two.member(0), ListKind::tools, "gone"), "alpha__gone");
  EXPECT_EQ(two.routes.shown(two.member(0), ListKind::resources, "sim://gone"), "sim://gone");
  two.member(0).set_naming(Naming::bare);
  EXPECT_EQ(two.routes.shown(two.member(0), ListKind::tools, "gone"), "gone");
}

// --- resources

TEST(Routes, lead_to_the_resources_and_templates_of_active_servers) {
  RoutesTo three("alpha=process,active beta=process,active gamma=process,inactive");
  EXPECT_EQ(three.resource("sim://beta/one"), "beta");
  EXPECT_EQ(three.resource("sim://beta/t/7"), "beta");
  EXPECT_EQ(three.resource("sim://beta/t/{id}"), "beta") << "the template itself";
  EXPECT_EQ(three.resource("sim://gamma/one"), "none");
  EXPECT_EQ(three.resource("else://where"), "none");
}

TEST(Routes, an_unknown_resource_goes_to_the_only_active_server_with_resources) {
  RoutesTo two("alpha=process,active beta=cli,active");
  EXPECT_EQ(two.resource("else://where"), "alpha");
  two.set_active(0, false);
  EXPECT_EQ(two.resource("else://where"), "none");
}

TEST(Routes, a_resource_of_two_servers_is_read_from_the_first_active_one) {
  RoutesTo two("alpha=process,active beta=process,active", {{"beta", "alpha"}});
  EXPECT_EQ(two.resource("sim://alpha/one"), "alpha");
  EXPECT_EQ(two.resource("sim://alpha/t/7"), "alpha");
  EXPECT_EQ(two.list(ListKind::resources), R"({"uri":"sim://alpha/one","name":"one"})")
      << "it is listed once";
  EXPECT_EQ(two.list(ListKind::templates), R"({"uriTemplate":"sim://alpha/t/{id}","name":"t"})");
  EXPECT_THAT(two.routes.clashes(),
              ElementsAre(R"(sim://alpha/one is read from "alpha", though "beta" has it too)",
                          R"(sim://alpha/t/{id} is read from "alpha", though "beta" has it too)"));
  two.set_active(0, false);
  EXPECT_EQ(two.resource("sim://alpha/one"), "beta");
  EXPECT_EQ(two.resource("sim://alpha/t/7"), "beta");
  EXPECT_THAT(two.routes.clashes(), IsEmpty());
}

}  // namespace
}  // namespace mcpivot
