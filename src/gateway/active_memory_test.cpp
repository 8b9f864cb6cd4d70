#include "gateway/active_memory.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "sim_world.h"

namespace mcpivot {
namespace {

using testing::Optional;
using Names = std::set<std::string>;

class Remembering : public testing::Test {
 protected:
  // As the next run sees it.
  std::optional<Names> remembered(const std::string& file) { return ActiveMemory(files, file).active(); }

  simulation::Scripts scripts;
  simulation::SimFiles files{scripts};
};

TEST_F(Remembering, a_config_file_that_was_never_used_has_no_memory) {
  EXPECT_EQ(remembered("/a/mcpivot.json"), std::nullopt);
}

TEST_F(Remembering, the_next_run_has_what_the_last_one_saved) {
  ActiveMemory memory(files, "/a/mcpivot.json");
  memory.save({"alpha"});
  memory.save({"beta", "with space"});
  EXPECT_THAT(memory.active(), Optional(Names{"beta", "with space"}));
  EXPECT_THAT(remembered("/a/mcpivot.json"), Optional(Names{"beta", "with space"}));
}

TEST_F(Remembering, no_active_servers_differs_from_no_memory) {
  ActiveMemory(files, "/a/mcpivot.json").save({});
  EXPECT_THAT(remembered("/a/mcpivot.json"), Optional(Names{}));
}

TEST_F(Remembering, each_config_file_has_its_own_memory) {
  ActiveMemory(files, "/a/mcpivot.json").save({"alpha"});
  EXPECT_EQ(remembered("/b/mcpivot.json"), std::nullopt);
}

TEST_F(Remembering, the_spelling_of_the_config_files_path_does_not_matter) {
  const std::string here = std::filesystem::current_path();
  ActiveMemory(files, here + "/mcpivot.json").save({"alpha"});
  EXPECT_THAT(remembered("mcpivot.json"), Optional(Names{"alpha"}));
  EXPECT_THAT(remembered("./below/../mcpivot.json"), Optional(Names{"alpha"}));
}

TEST_F(Remembering, what_another_run_saves_applies_to_the_next_run) {
  ActiveMemory mine(files, "/a/mcpivot.json");
  mine.save({"alpha"});
  ActiveMemory(files, "/a/mcpivot.json").save({"beta"});
  EXPECT_THAT(mine.active(), Optional(Names{"alpha"}));
}

TEST_F(Remembering, without_a_config_file_nothing_is_remembered) {
  ActiveMemory memory(files, "");
  memory.save({"alpha"});
  EXPECT_EQ(memory.active(), std::nullopt);
  EXPECT_EQ(remembered(""), std::nullopt);
}

TEST_F(Remembering, without_storage_the_current_run_still_remembers) {
  files.set_full(true);
  ActiveMemory memory(files, "/a/mcpivot.json");
  memory.save({"alpha"});
  EXPECT_THAT(memory.active(), Optional(Names{"alpha"}));
  EXPECT_EQ(remembered("/a/mcpivot.json"), std::nullopt);
}

TEST_F(Remembering, a_file_too_large_to_be_ours_is_ignored) {
  ActiveMemory(files, "/a/mcpivot.json").save({std::string(2'000'000, 'x')});
  EXPECT_EQ(remembered("/a/mcpivot.json"), std::nullopt);
}

}  // namespace
}  // namespace mcpivot
